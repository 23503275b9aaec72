// A node: its parameters with units and ranges, and with the control token: set, swap, fault.

import { Choice } from './choice.js';

const KINDS = ['bias', 'scale', 'noise', 'ramp', 'spikes', 'stuck', 'dropout', 'delay', 'nan'];

export class Nodes {
  constructor(page, element) {
    this.page = page;
    this.element = element;
    element.innerHTML = '<h3>Node <select></select></h3><div class="actions"></div>'
      + '<input type="search" placeholder="find a parameter" aria-label="find a parameter"><p class="dim"></p>'
      + '<table class="params"><tbody></tbody></table>';
    this.choice = new Choice(element.querySelector('select'), 'node', () => {
      this.#buildActions();
      this.load();
    });
    this.actions = element.querySelector('.actions');
    this.search = element.querySelector('input[type=search]');
    this.note = element.querySelector('p');
    this.body = element.querySelector('tbody');
    this.search.oninput = () => this.#filter();
  }

  build() {
    const channels = this.page.world.channels.filter((channel) => !channel.events);
    const nodes = [...new Set(channels.map((channel) => channel.node))];
    this.choice.set(nodes.map((node) => [node.replace(`${this.page.world.name}/`, ''), node]), channels.find((channel) => !channel.truth)?.node);
    this.#buildActions();
    if (!this.element.hidden) this.load();
    else this.body.replaceChildren();
  }

  async load() {
    const node = this.choice.value;
    this.channel = this.page.world.channels.find((channel) => channel.node === node);
    const reply = await this.page.link.request('get', node);
    if (node !== this.choice.value) return;
    this.good = reply.ok;
    this.facts = reply.ok ? `${reply.params.length} parameters` : reply.text;
    this.update();
    this.body.replaceChildren(...(reply.params ?? []).map((param) => this.#row(node, param)));
    this.#filter();
  }

  // The topics whose plugins are shown: a node's first one.
  watched(into) {
    if (!this.element.hidden && this.channel) into.add(this.channel.topic);
  }

  // The plugin is known once the topic is watched.
  update() {
    this.note.textContent = `${this.good ? this.channel?.plugin ?? '' : ''} ${this.facts ?? ''}`.trim();
  }

  #row(node, param) {
    const row = document.createElement('tr'), name = row.insertCell(), value = row.insertCell();
    const text = document.createElement('small');
    text.textContent = [param.text, param.unit && `unit ${param.unit}`, param.range && `range ${param.range}`,
      !param.runtime && 'fixed while running'].filter(Boolean).join(' · ');
    name.append(param.key, text);
    row.dataset.text = `${param.key} ${param.text}`.toLowerCase();
    if (param.runtime && this.page.world.control) {
      const input = document.createElement('input');
      input.value = param.value;
      input.setAttribute('aria-label', param.key);
      input.onchange = async () => {
        const { value: wanted } = input; // the input may change before the reply
        const reply = await this.page.ask('set', node, param.key, wanted);
        if (reply.ok) param.value = wanted;
        else if (input.value === wanted) input.value = param.value;
      };
      value.append(input);
    } else {
      const bold = document.createElement('b');
      bold.textContent = param.value;
      value.append(bold);
    }
    return row;
  }

  #filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of this.body.rows) row.hidden = !words.every((word) => row.dataset.text.includes(word));
  }

  #form(html, submit) {
    const form = document.createElement('form');
    form.innerHTML = html;
    form.onsubmit = (event) => {
      event.preventDefault();
      submit(form.elements, event.submitter?.value);
    };
    return form;
  }

  #fields() {
    return this.page.world.byTopic.get(this.choice.value)?.columns.map((column) => column.name) ?? [];
  }

  #buildActions() {
    this.actions.hidden = !this.page.world.control || this.page.world.recording !== null;
    if (this.actions.hidden) return;
    const swap = this.#form('<label>plugin<input name="plugin" placeholder="sdf_imu"></label>'
      + '<label>or part<input name="part" placeholder="vendor/part"></label>'
      + '<button>Swap</button><button value="undo" title="go back to the plugin before the last swap">Undo</button>',
      async (fields, action) => {
        const values = action === 'undo' ? ['', ''] : [fields.plugin.value.trim(), fields.part.value.trim()];
        const reply = await this.page.ask('swap', this.choice.value, ...values);
        if (reply.ok) this.load();
      });
    const fault = this.#form(`<label>fault<select name="kind">${KINDS.map((kind) => `<option>${kind}</option>`).join('')}</select></label>`
      + '<label>value<input name="value" value="0.5"></label>'
      + '<label>field<select name="field"><option value="">all</option></select></label>'
      + '<label title="simulated seconds">for s<input name="seconds" value="5"></label>'
      + '<button>Fault</button><button value="clear" title="end all faults of this node">Clear</button>',
      (fields, action) => {
        if (action === 'clear') return this.page.ask('clear_faults', this.choice.value, '0');
        const kind = fields.kind.value;
        const plain = ['stuck', 'dropout', 'nan'].includes(kind);
        const parts = [`kind: ${kind}`, `for_s: ${Number(fields.seconds.value) || 5}`];
        if (!plain) parts.push(`value: ${Number(fields.value.value)}`);
        if (fields.field.value !== '') parts.push(`fields: ${JSON.stringify(fields.field.value)}`);
        return this.page.ask('fault', this.choice.value, `{${parts.join(', ')}}`);
      });
    fault.elements.field.append(...this.#fields().map((name) => new Option(name)));
    this.actions.replaceChildren(swap, fault);
  }
}

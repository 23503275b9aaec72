// The list of topics at the left: rate, size, losses, and the fields to plot.

import { bytes, number, shown } from './units.js';

export class Topics {
  // page: {world, toggleField(topic, column), isPlotted(topic, column)}
  constructor(page, element, search) {
    this.page = page;
    this.element = element;
    this.search = search;
    this.open = new Set();
    search.oninput = () => this.filter();
  }

  build() {
    const { world } = this.page;
    this.element.replaceChildren();
    this.rows = world.channels.filter((channel) => !channel.events).map((channel) => this.#addTopic(channel));
    this.filter();
  }

  #addTopic(channel) {
    const details = document.createElement('details');
    const summary = document.createElement('summary');
    const name = document.createElement('b'), rate = document.createElement('span'), facts = document.createElement('small'), lost = document.createElement('small');
    name.textContent = channel.topic.replace(`${this.page.world.name}/`, '');
    name.title = channel.topic;
    rate.className = 'rate';
    lost.className = 'rate';
    summary.append(name, rate, facts, lost);
    details.append(summary);
    details.dataset.topic = channel.topic;
    details.ontoggle = () => {
      if (details.open) this.#fill(details, channel);
      this.open[details.open ? 'add' : 'delete'](channel.topic);
    };
    details.open = this.open.has(channel.topic);
    this.element.append(details);
    return { channel, details, rate, facts, lost };
  }

  // The fields of a topic are made when it is opened: a world may have many thousands.
  #fill(details, channel) {
    if (details.querySelector('ul')) return;
    const list = document.createElement('ul');
    for (const column of channel.columns) {
      const item = document.createElement('li'), button = document.createElement('button');
      const label = document.createElement('span'), unit = document.createElement('i');
      label.textContent = column.name;
      unit.textContent = shown(column.unit, false)[0];
      button.title = column.text + (column.frame ? ` (${column.frame} axes)` : '');
      button.dataset.column = column.name;
      button.onclick = () => this.page.toggleField(channel.topic, column.name);
      button.append(label, unit);
      item.append(button);
      list.append(item);
    }
    details.append(list);
    this.mark();
    this.filter();
  }

  // Shows which fields are in the active chart.
  mark() {
    for (const button of this.element.querySelectorAll('li > button')) {
      const { topic } = button.closest('details').dataset;
      button.setAttribute('aria-pressed', String(this.page.isPlotted(topic, button.dataset.column)));
    }
  }

  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { channel, details } of this.rows ?? []) {
      const matches = (text) => words.every((word) => text.toLowerCase().includes(word));
      const found = channel.columns.filter((column) => matches(`${channel.topic} ${column.name}`));
      details.hidden = words.length > 0 && found.length === 0 && !matches(channel.topic);
      if (words.length > 0 && found.length > 0 && found.length < 40) details.open = true;
      for (const button of details.querySelectorAll('li > button')) {
        button.parentElement.hidden = words.length > 0 && !matches(`${channel.topic} ${button.dataset.column}`);
      }
    }
  }

  update() {
    for (const { channel, details, rate, facts, lost } of this.rows ?? []) {
      const count = this.page.world.lostOf(channel.topic);
      details.classList.toggle('off', channel.seq === 0);
      rate.textContent = channel.seq > 0 ? `${number(channel.measuredHz || channel.rate_hz, 4)} Hz` : 'off';
      facts.textContent = `${channel.type.name} · ${channel.plugin || '–'}`;
      facts.title = `${bytes(channel.bytes)} a record, ${channel.capacity} kept in shared memory, ${channel.seq} so far`;
      lost.textContent = count > 0 ? `−${count}` : bytes(channel.bytes);
      lost.classList.toggle('lost', count > 0);
      lost.title = count > 0 ? `${count} samples did not reach this page in time` : 'bytes of a record';
    }
  }
}

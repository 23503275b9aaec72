// The list of events: newest first, chosen kinds; a click moves the charts there.

import { isNotable } from './marks.js';

const SHOWN = 200;

export class Events {
  constructor(page, element, count) {
    this.page = page;
    this.element = element;
    this.count = count;
    this.serial = -1;
    element.innerHTML = '<h3>Events <select aria-label="kinds of events"><option value="notable">notable</option><option value="all">all, with clock and clients</option></select></h3><ul class="events"></ul>';
    this.choice = element.querySelector('select');
    this.list = element.querySelector('ul');
    this.choice.onchange = () => { this.serial = -1; this.update(); };
  }

  update() {
    const { world } = this.page;
    const severe = world.events.filter((event) => event.severity > 0 && isNotable(event)).length;
    this.count.textContent = severe > 0 ? String(severe) : '';
    if (this.element.hidden || this.serial === world.eventSerial) return;
    this.serial = world.eventSerial;
    const all = this.choice.value === 'all';
    const chosen = world.events.filter((event) => all || isNotable(event));
    this.list.replaceChildren(...chosen.slice(-SHOWN).reverse().map((event) => this.#item(event)));
    if (chosen.length === 0) this.list.innerHTML = '<li><span></span><p class="dim">none yet</p></li>';
  }

  #item(event) {
    const item = document.createElement('li'), time = document.createElement('button'), text = document.createElement('p');
    const kind = document.createElement('b'), source = document.createElement('small');
    item.className = `s${event.severity}`;
    time.textContent = event.t.toFixed(3);
    time.title = `tick ${event.tick}; show this time`;
    time.onclick = () => this.page.view.fix(event.t - this.page.view.span / 2, event.t + this.page.view.span / 2);
    kind.textContent = event.kind;
    source.textContent = ` ${event.source.replace(`${this.page.world.name}/`, '')}`;
    text.append(kind, source, document.createElement('br'), event.text);
    item.append(time, text);
    return item;
  }
}

// The list of topics at the left: rate, size, losses, and the fields to plot. Of a long list only the visible rows exist.

import { bytes, number, shown } from './units.js';

const DRAWN_WHOLE = 200; // topics; a shorter list is drawn whole
const MARGIN_PX = 300; // rows are drawn so far beyond the visible part
const OPENED_MAX = 50; // topics that a search opens

export class Topics {
  // page: {world, toggleField(topic, column), isPlotted(topic, column)}
  constructor(page, element, search) {
    this.page = page;
    this.element = element;
    this.search = search;
    this.above = document.createElement('div'); // has the height of the rows that are not drawn
    this.below = document.createElement('div');
    this.channels = [];
    this.listed = []; // channels that the search found
    this.rows = new Map(); // channel -> its drawn row
    this.open = new Set(); // topics
    this.extra = new Map(); // open topic -> height of its fields
    this.opened = []; // [index in `listed`, height of the fields] of these topics
    this.height = 45; // of a row that is not open
    search.oninput = () => this.filter();
    document.addEventListener('scroll', () => this.draw(), { capture: true, passive: true }); // of this list, or of the page on a phone
    new ResizeObserver(() => this.draw()).observe(element);
  }

  build() {
    const { world } = this.page;
    this.channels = world.channels.filter((channel) => !channel.events);
    for (const channel of this.channels) channel.lower = channel.topic.toLowerCase();
    this.rows.clear();
    this.extra.clear();
    this.element.replaceChildren(this.above, this.below);
    this.search.placeholder = this.channels.length > DRAWN_WHOLE ? `find in ${this.channels.length} topics` : 'find a field  ( / )';
    this.filter();
  }

  // ---- rows ----

  #makeRow(channel) {
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
    const row = { channel, details, summary, rate, facts, lost };
    details.open = this.open.has(channel.topic);
    if (details.open) this.#fill(row);
    details.ontoggle = () => {
      this.open[details.open ? 'add' : 'delete'](channel.topic);
      if (details.open) this.#fill(row);
      this.draw();
    };
    this.#updateRow(row);
    return row;
  }

  // The fields of a topic are made when it is opened: a world may have many thousands.
  #fill({ channel, details }) {
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
    this.#markRow(details);
    this.#filterRow({ channel, details });
  }

  // Shows which fields are in the active chart.
  mark() {
    for (const { details } of this.rows.values()) this.#markRow(details);
  }

  #markRow(details) {
    for (const button of details.querySelectorAll('li > button')) {
      button.setAttribute('aria-pressed', String(this.page.isPlotted(details.dataset.topic, button.dataset.column)));
    }
  }

  // ---- search ----

  // The words of the search that the topic does not contain: a column must contain them.
  #missing(channel) {
    return this.words.filter((word) => !channel.lower.includes(word));
  }

  #filterRow({ channel, details }) {
    const missing = this.#missing(channel);
    for (const button of details.querySelectorAll('li > button')) {
      button.parentElement.hidden = !missing.every((word) => button.dataset.column.toLowerCase().includes(word));
    }
  }

  filter() {
    this.words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const types = new Map(); // record type -> missing words -> its columns that contain them
    const found = (channel) => {
      const missing = this.#missing(channel), key = missing.join(' ');
      if (!types.has(channel.type)) types.set(channel.type, new Map());
      const counts = types.get(channel.type);
      if (!counts.has(key)) {
        counts.set(key, channel.columns.filter(({ name }) => missing.every((word) => name.toLowerCase().includes(word))).length);
      }
      return missing.length === 0 ? Math.max(1, counts.get(key)) : counts.get(key);
    };
    this.listed = this.words.length > 0 ? this.channels.filter((channel) => found(channel) > 0) : this.channels;
    if (this.words.length > 0 && this.listed.length <= OPENED_MAX) {
      for (const channel of this.listed) if (found(channel) < 40) this.open.add(channel.topic);
    }
    for (const row of this.rows.values()) {
      row.details.open = this.open.has(row.channel.topic);
      if (row.details.open) this.#fill(row);
      this.#filterRow(row);
    }
    this.extra.clear();
    this.opened = [];
    this.draw();
  }

  // ---- the visible part ----

  // Draws the rows that are visible, and removes the others.
  draw() {
    const [from, to] = this.#visible(), wanted = new Set(this.listed.slice(from, to));
    for (const [channel, { details }] of this.rows) {
      if (wanted.has(channel)) continue;
      details.remove();
      this.rows.delete(channel);
    }
    let next = this.below;
    for (const channel of [...wanted].reverse()) {
      let row = this.rows.get(channel);
      if (!row) this.rows.set(channel, row = this.#makeRow(channel));
      if (row.details.nextElementSibling !== next) next.before(row.details);
      next = row.details;
    }
    this.#measure();
    this.above.style.height = `${this.#offset(from)}px`;
    this.below.style.height = `${this.#offset(this.listed.length) - this.#offset(to)}px`;
  }

  #measure() {
    for (const { channel, details, summary } of this.rows.values()) {
      const { height } = details.getBoundingClientRect();
      if (height === 0) continue; // the page is not laid out yet
      if (details.open) {
        this.height = summary.getBoundingClientRect().height + 1;
        this.extra.set(channel.topic, height - this.height);
      } else {
        this.height = height;
        this.extra.delete(channel.topic);
      }
    }
    this.opened = this.extra.size === 0 ? [] : this.listed.flatMap(({ topic }, index) => (this.extra.has(topic) ? [[index, this.extra.get(topic)]] : []));
  }

  // The distance of a row from the first one.
  #offset(index) {
    let offset = index * this.height;
    for (const [at, extra] of this.opened) if (at < index) offset += extra;
    return offset;
  }

  // The rows from the first visible one to the one after the last.
  #visible() {
    const count = this.listed.length;
    if (count <= DRAWN_WHOLE) return [0, count];
    const box = this.element.getBoundingClientRect(), start = box.top - this.element.scrollTop;
    const top = Math.max(box.top, 0) - start - MARGIN_PX, bottom = Math.min(box.bottom, innerHeight) - start + MARGIN_PX;
    const from = this.#indexAt(top), to = Math.min(count, this.#indexAt(bottom) + 1);
    return [from, Math.max(from, to)];
  }

  #indexAt(y) {
    let before = 0; // height of the fields of open topics above
    for (const [at, extra] of this.opened) {
      if ((at + 1) * this.height + before + extra > y) return this.#clamp(Math.min(at, Math.floor((y - before) / this.height)));
      before += extra;
    }
    return this.#clamp(Math.floor((y - before) / this.height));
  }

  #clamp(index) {
    return Math.max(0, Math.min(this.listed.length - 1, index));
  }

  // ---- numbers ----

  // The topics whose numbers are shown.
  watched(into) {
    for (const { channel } of this.rows.values()) into.add(channel.topic);
  }

  update() {
    for (const row of this.rows.values()) this.#updateRow(row);
  }

  #updateRow({ channel, details, rate, facts, lost }) {
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

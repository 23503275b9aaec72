// One chart: uPlot draws axes, cursor and selection; the lines are drawn here from the rings, at most one bar for each
// pixel, so that the cost does not depend on the number of samples.

import uPlot from './uPlot.esm.js';
import { truthOf } from './layout.js';
import { statistics } from './analysis.js';
import { number, shown } from './units.js';
import { Bins } from './bins.js';
import { Raster } from './raster.js';
import { drawMarks } from './marks.js';
import { drawTerms, termsOf } from './terms.js';

const BINS_MAX = 4096;
const NEGLIGIBLE = 1e-12; // of the largest number of a chart; smaller ones are rounding errors

export class Chart {
  // page: {world, theme, view, layout, changed(), select(series), remove(chart)}
  constructor(page, model) {
    this.page = page;
    this.model = model; // {series: [{topic, column}], terms}
    this.raster = new Raster();
    this.range = [[0, 1], [0, 1]]; // value ranges of the left and the right axis
    this.hidden = new Set();
    this.cursor = NaN;
    this.#build();
    this.bind();
  }

  // ---- elements ----

  #build() {
    const template = document.getElementById('chart').content.cloneNode(true);
    this.element = template.querySelector('.chart');
    this.title = this.element.querySelector('h2');
    this.plotElement = this.element.querySelector('.plot');
    this.note = this.element.querySelector('.note');
    this.truthKey = this.element.querySelector('.truth-key');
    this.table = this.element.querySelector('tbody');
    this.valueHead = this.element.querySelector('.value-head');
    this.element.querySelector('.remove').onclick = () => this.page.remove(this);
    this.termsButton = this.element.querySelector('.terms');
    this.termsButton.onclick = () => this.page.toggleTerms(this);
    this.element.onfocus = () => this.page.activate(this);
    this.element.onpointerdown = () => this.page.activate(this);
    this.element.onkeydown = (event) => {
      if (event.key === 'Delete' && event.target === this.element) this.page.remove(this);
    };
    this.observer = new ResizeObserver(() => this.#resize());
    this.observer.observe(this.plotElement);
    this.visible = true; // false while it is scrolled out of sight
    this.sight = new IntersectionObserver((entries) => {
      this.visible = entries.at(-1).isIntersecting;
      this.page.view.dirty = true;
    });
    this.sight.observe(this.element);
  }

  destroy() {
    this.observer.disconnect();
    this.sight.disconnect();
    this.plot?.destroy();
    this.element.remove();
  }

  #resize() {
    const { width, height } = this.#size();
    if (this.plot && width > 60 && (width !== this.plot.width || height !== this.plot.height)) this.plot.setSize({ width, height });
  }

  #size() {
    return { width: Math.floor(this.plotElement.clientWidth), height: Math.max(90, Math.floor(this.plotElement.clientHeight)) };
  }

  // ---- fields ----

  // Finds the fields in the world; called when fields, world, units or theme change.
  bind() {
    const { world } = this.page, degrees = this.page.layout.degrees;
    const units = [];
    this.lines = this.model.series.map(({ topic, column }, index) => {
      const field = world.column(topic, column);
      const unit = field?.unit ?? '';
      if (!units.includes(unit)) units.push(unit);
      const [unitText, factor] = shown(unit, degrees);
      return { topic, column, unit, unitText, factor, axis: Math.min(units.indexOf(unit), 1), data: world.use(topic, column),
        truth: null, bins: new Bins(), truthBins: new Bins(), color: this.page.theme.color(index), key: `${topic}~${column}`, text: field?.text ?? 'the world has no such field' };
    });
    this.units = units.slice(0, 2).map((unit) => shown(unit, degrees)[0]);
    this.terms = this.model.terms && this.lines.length > 0 ? termsOf(world, this.lines[0]) : null;
    this.bindTruth();
    this.#makeTitle();
    this.#makeTable();
    this.#makePlot();
  }

  // Finds the truth of each line; called again later, because the taps of a node may appear while it runs.
  bindTruth() {
    for (const line of this.lines) {
      const truth = truthOf(this.page.world, line.topic, line.column);
      line.truth = truth ? this.page.world.use(truth.topic, truth.column) : null;
      line.truthName = truth ? `${truth.topic} ${truth.column}` : '';
    }
    this.truthKey.hidden = this.model.terms || !this.lines.some((line) => line.truth);
    const first = this.lines[0];
    this.termsButton.hidden = !first || !termsOf(this.page.world, first);
    this.termsButton.setAttribute('aria-pressed', String(this.model.terms));
    if (this.model.terms && first) this.terms ??= termsOf(this.page.world, first);
  }

  usedKeys(into) {
    for (const line of this.lines) {
      if (line.data) into.add(line.data.key);
      if (line.truth) into.add(line.truth.key);
    }
    for (const term of this.terms?.all ?? []) into.add(term.data.key);
  }

  #makeTitle() {
    const { world } = this.page;
    const bases = [...new Set(this.lines.map((line) => {
      const base = world.column(line.topic, line.column)?.base ?? line.column;
      return `${line.topic.replace(`${world.name}/`, '')} · ${base}`;
    }))];
    this.title.textContent = (this.model.terms ? 'error terms of ' : '') + bases.join('  |  ');
    this.element.setAttribute('aria-label', `chart: ${this.title.textContent}`);
  }

  #makeTable() {
    this.table.replaceChildren();
    const several = new Set(this.lines.map((line) => line.topic)).size > 1; // if so, the name of a line needs its node
    const node = (topic) => several ? `${topic.split('/').at(-1)} ` : '';
    const rows = this.model.terms && this.terms ? this.terms.rows(this.page.theme) : this.lines;
    this.rows = rows.map((line) => {
      const row = this.table.insertRow();
      const name = document.createElement('th');
      const button = document.createElement('button');
      const swatch = document.createElement('i');
      swatch.style.background = line.color;
      button.append(swatch, line.label ?? node(line.topic) + line.column.split('.').at(-1));
      button.title = `${line.topic} ${line.column}\n${line.text}\nclick: analyse; Shift+click: hide; Alt+click: remove`;
      button.onclick = (event) => this.#clickLine(line, event);
      name.append(button);
      row.append(name);
      const cells = Array.from({ length: 6 }, () => row.insertCell());
      return { line, row, cells };
    });
  }

  #clickLine(line, event) {
    if (event.altKey && !this.model.terms) {
      this.model.series = this.model.series.filter((each) => `${each.topic}~${each.column}` !== line.key);
      if (this.model.series.length === 0) this.page.remove(this);
      else this.bind();
      this.page.changed();
    } else if (event.shiftKey) {
      if (!this.hidden.delete(line.key)) this.hidden.add(line.key);
    } else {
      this.page.select(line);
    }
  }

  // ---- plot ----

  #makePlot() {
    const { theme, view } = this.page;
    this.plot?.destroy();
    const axis = (extra) => ({ stroke: theme.dim, font: '11px system-ui', labelFont: '11px system-ui', labelSize: 14, labelGap: 0,
      grid: { stroke: theme.grid, width: 1 }, ticks: { stroke: theme.grid, width: 1, size: 4 }, gap: 4, ...extra });
    const values = (plot, splits) => splits.map((value) => (value === null ? '' : String(+value.toPrecision(9)).replace('-', '−')));
    const axes = [axis({ size: 26, space: 90, values: (plot, splits) => splits.map((value) => `${+value.toFixed(6)} s`) }),
      axis({ scale: 'y', size: 58, space: (plot, axis, low, high, room) => Math.max(24, room / 8), label: this.units[0] || ' ', values })];
    const scales = { x: { time: false, auto: false }, y: { auto: false, range: () => this.range[0] } };
    const series = [{}, { scale: 'y', show: true, paths: () => null, points: { show: false } }];
    if (this.units.length > 1 && !this.model.terms) {
      axes.push(axis({ scale: 'y2', side: 1, size: 58, label: this.units[1], values, grid: { show: false } }));
      scales.y2 = { auto: false, range: () => this.range[1] };
      series.push({ scale: 'y2', paths: () => null, points: { show: false } });
    }
    const { width, height } = this.#size();
    this.plot = new uPlot({
      width: Math.max(120, width), height, series, axes, scales,
      legend: { show: false }, padding: [15, this.units.length > 1 ? 0 : 22, 0, 0],
      cursor: { sync: { key: 'otolith', scales: ['x', null] }, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      hooks: {
        draw: [() => this.#draw()],
        setCursor: [(plot) => { this.cursor = plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, 'x') : NaN; this.page.cursorMoved(); }],
        setSelect: [(plot) => this.#zoomTo(plot)],
      },
    }, [[view.t0, view.t1], ...series.slice(1).map(() => [null, null])], this.plotElement);
    this.plot.over.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
    this.plot.over.addEventListener('dblclick', () => view.follow());
    this.plot.over.addEventListener('pointerdown', (event) => this.#pan(event), true);
  }

  #zoomTo(plot) {
    const { left, width } = plot.select;
    if (width > 4) this.page.view.fix(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  #wheel(event) {
    event.preventDefault();
    const at = this.plot.posToVal(event.offsetX, 'x');
    this.page.view.zoom(Math.exp(Math.sign(event.deltaY) * 0.15), at);
  }

  // Shift and drag, or the middle button: pan.
  #pan(event) {
    if (!event.shiftKey && event.button !== 1) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const { over } = this.plot, view = this.page.view, perPixel = (view.t1 - view.t0) / over.clientWidth;
    const t0 = view.t0, t1 = view.t1, x = event.clientX;
    over.setPointerCapture(event.pointerId);
    over.onpointermove = (move) => view.fix(t0 - (move.clientX - x) * perPixel, t1 - (move.clientX - x) * perPixel);
    over.onpointerup = () => { over.onpointermove = over.onpointerup = null; };
  }

  // ---- drawing ----

  redraw() {
    const { view } = this.page;
    if (!this.plot || this.plotElement.clientWidth < 60) return;
    const least = [Infinity, Infinity], most = [-Infinity, -Infinity];
    const bins = this.#bins();
    for (const line of this.lines) {
      if (this.model.terms || this.hidden.has(line.key)) continue;
      for (const [data, ranges] of [[line.data, line.bins], [line.truth, line.truthBins]]) {
        if (!data) continue;
        const [low, high] = ranges.update(data, view.t0, view.t1, bins);
        least[line.axis] = Math.min(least[line.axis], low * line.factor);
        most[line.axis] = Math.max(most[line.axis], high * line.factor);
      }
    }
    if (this.model.terms && this.terms) [least[0], most[0]] = this.terms.prepare(view.t0, view.t1, Math.min(bins, 600), this.hidden);
    for (const axis of [0, 1]) this.range[axis] = this.#smooth(this.range[axis], least[axis], most[axis]);
    this.plot.batch(() => {
      this.plot.setScale('x', { min: view.t0, max: view.t1 });
      this.plot.setScale('y', { min: this.range[0][0], max: this.range[0][1] });
      if (this.plot.scales.y2) this.plot.setScale('y2', { min: this.range[1][0], max: this.range[1][1] });
    });
  }

  #bins() {
    return Math.max(16, Math.min(BINS_MAX, Math.floor(this.plot.bbox.width)));
  }

  // Grows at once and shrinks when the lines fill less than 60 %, so that the axis does not tremble.
  #smooth([low, high], least, most) {
    if (!(least <= most)) return [low, high];
    const size = Math.max(most - least, Math.abs(most) * 1e-6, 1e-12), margin = 0.08 * size;
    if (least < low || most > high || size < 0.6 * (high - low)) return [least - margin, most + margin];
    return [low, high];
  }

  #draw() {
    const { ctx, bbox } = this.plot, { view, theme } = this.page;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    if (this.model.terms && this.terms) {
      drawTerms(this.plot, this.terms, theme, this.hidden);
    } else {
      this.raster.begin(Math.round(bbox.width), Math.round(bbox.height));
      const shown = this.lines.filter((line) => !this.hidden.has(line.key));
      for (const line of shown) if (line.truth) this.#drawLine(line, line.truth, line.truthBins, true);
      for (const line of shown) if (line.data) this.#drawLine(line, line.data, line.bins, false);
      this.raster.draw(ctx, Math.round(bbox.left), Math.round(bbox.top));
    }
    ctx.restore();
    drawMarks(this.plot, this.page.world.events, theme, view);
  }

  #drawLine(line, data, ranges, isTruth) {
    const { ctx, bbox } = this.plot, { view } = this.page, ratio = devicePixelRatio;
    const [low, high] = this.range[line.axis], bins = this.#bins();
    const scale = line.factor * bbox.height / (high - low), offset = bbox.height + low * bbox.height / (high - low);
    const from = data.ring.find(view.t0), to = data.ring.find(view.t1), width = (isTruth ? 5 : 1.5) * ratio;
    if (to - from > 1.5 * bins) {
      this.raster.bars(ranges, view.t0, bbox.width / (view.t1 - view.t0), [offset, scale], line.color + (isTruth ? '60' : ''), width);
      return;
    }
    ctx.globalAlpha = isTruth ? 0.38 : 1;
    this.#drawPath(ctx, data, (value) => bbox.top + offset - value * scale, from, to, line.color, width);
    ctx.globalAlpha = 1;
  }

  #drawPath(ctx, data, y, from, to, color, width) {
    const { ring, column } = data, { t0, t1 } = this.page.view, { left, width: pixels } = this.plot.bbox;
    const start = Math.max(ring.first, from - 1), end = Math.min(ring.count, to + 1), mask = ring.mask, values = ring.values[column];
    const scale = pixels / (t1 - t0);
    let pen = false;
    ctx.beginPath();
    for (let i = start; i < end; i++) {
      const value = values[i & mask];
      if (!Number.isFinite(value)) {
        pen = false;
        continue;
      }
      const x = left + (ring.t[i & mask] - t0) * scale;
      if (pen && !ring.gap[i & mask]) ctx.lineTo(x, y(value));
      else ctx.moveTo(x, y(value));
      pen = true;
    }
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    ctx.lineJoin = 'round';
    ctx.stroke();
  }

  // ---- numbers beside the chart ----

  updateTable() {
    const at = this.page.cursorTime(), rows = this.rows.map(({ line }) => this.#numbers(line, at));
    this.valueHead.textContent = Number.isFinite(at) ? `${at.toFixed(3)} s` : 'value';
    const negligible = NEGLIGIBLE * rows.flat().reduce((most, value) => (Math.abs(value) > most ? Math.abs(value) : most), 0);
    this.rows.forEach(({ line, row, cells }, k) => {
      const texts = rows[k].map((value) => number(Math.abs(value) < negligible ? 0 : value, 3));
      texts.forEach((text, i) => { cells[i].textContent = text; });
      row.classList.toggle('hidden-line', this.hidden.has(line.key));
      row.hidden = this.model.terms && texts[4] === '0' && texts[5] === '0'; // a term that is off
    });
    this.note.textContent = this.#whyEmpty();
    this.note.hidden = this.note.textContent === '';
  }

  // Value at the cursor or the newest, mean, standard deviation, rms, least and most of the window; NaN where there are none.
  #numbers({ data, factor }, at) {
    const { view, world } = this.page, reach = (view.t1 - view.t0) / 100;
    if (!data) return Array(6).fill(NaN);
    const facts = statistics(data.ring, data.column, data.ring.find(view.t0), data.ring.find(view.t1));
    const right = Math.min(view.t1, world.time); // a window that is not full yet ends beyond the newest sample
    const value = data.ring.nearest(data.column, Number.isFinite(at) ? at : right, Math.max(reach, 1.5));
    return [value, facts?.mean, facts?.sigma, facts?.rms, facts?.least, facts?.most].map((each) => (each ?? NaN) * factor);
  }

  // A sentence where the chart has nothing to draw.
  #whyEmpty() {
    const { world, view } = this.page, lines = this.rows.map(({ line }) => line);
    if (this.lines.length === 0) return 'Choose fields in the list of topics; / searches it.';
    const unknown = this.lines.find((line) => !line.data);
    if (unknown) return `This world has no field ${unknown.column} of ${unknown.topic}.`;
    if (lines.some(({ data }) => data.ring.count > data.ring.find(view.t0) && data.ring.find(view.t1) > data.ring.first)) return '';
    const topic = lines[0].topic;
    return world.byTopic.get(topic)?.seq === 0 ? `${topic} has no samples yet.` : 'No samples in this window.';
  }
}

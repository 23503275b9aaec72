// Allan deviation and spectrum of the selected field, computed every second in a worker.

import uPlot from './uPlot.esm.js';
import { number } from './units.js';

const EVERY_MS = 1000;
const SAMPLES_MIN = 64;

export class Spectra {
  constructor(page, element) {
    this.page = page;
    this.element = element;
    element.classList.add('analysis');
    element.innerHTML = '<h3 class="field">select a line by its name beside a chart</h3><p class="facts-line"></p><h3>Allan deviation</h3><div class="plot"></div><h3>Amplitude spectral density</h3><div class="plot"></div>';
    this.title = element.querySelector('.field');
    this.facts = element.querySelector('.facts-line');
    this.places = element.querySelectorAll('.plot');
    this.worker = new Worker('analysis_worker.js', { type: 'module' });
    this.worker.onmessage = (message) => this.#take(message.data);
    this.busy = false;
    this.last_ms = 0;
  }

  select(line) {
    this.line = line;
    this.result = null;
    this.title.textContent = `${line.topic.replace(`${this.page.world.name}/`, '')} ${line.column}`;
    this.last_ms = 0;
    this.plots?.forEach((plot) => plot.destroy());
    this.plots = null;
  }

  usedKeys(into) {
    if (this.line?.data) into.add(this.line.data.key);
  }

  restyle() {
    this.plots?.forEach((plot) => plot.destroy());
    this.plots = null;
    if (this.result) this.#draw();
  }

  // Sends the newest samples without a gap to the worker.
  update(now_ms) {
    if (this.element.hidden || this.busy || !this.line?.data || now_ms - this.last_ms < EVERY_MS) return;
    const { ring, column } = this.line.data;
    let from = ring.count;
    while (from > ring.first && !(from < ring.count && ring.gap[from & ring.mask])) from--;
    const count = ring.count - from;
    if (count < SAMPLES_MIN) {
      this.facts.textContent = `${count} samples; at least ${SAMPLES_MIN} are needed`;
      return;
    }
    const span = ring.t[(ring.count - 1) & ring.mask] - ring.t[from & ring.mask];
    const values = ring.slice(ring.values[column], from, ring.count);
    if (this.line.factor !== 1) for (let i = 0; i < values.length; i++) values[i] *= this.line.factor;
    this.busy = true;
    this.last_ms = now_ms;
    this.worker.postMessage({ values, rateHz: (count - 1) / span }, [values.buffer]);
  }

  #take(result) {
    this.busy = false;
    this.result = result;
    const { taus, deviations } = result.allan, { unitText } = this.line;
    const one = taus.findIndex((tau) => tau >= 1);
    const least = deviations.reduce((best, value) => Math.min(best, value), Infinity);
    this.facts.textContent = `${result.count} samples · σ(1 s) ${one >= 0 ? number(deviations[one]) : '–'} · floor ${number(least)} ${unitText}`;
    this.#draw();
  }

  #draw() {
    const { allan, spectrum } = this.result, unit = this.line.unitText || '1';
    const data = [[allan.taus, allan.deviations], [spectrum.frequencies, spectrum.densities]];
    this.plots ??= [this.#makePlot(this.places[0], 'τ in s', unit), this.#makePlot(this.places[1], 'Hz', `${unit}/√Hz`)];
    this.plots.forEach((plot, i) => plot.setData(data[i].map((values) => values.map((value) => (value > 0 ? value : null)))));
  }

  #makePlot(place, x, y) {
    const { theme } = this.page;
    const axis = (label, size) => ({ stroke: theme.dim, grid: { stroke: theme.grid, width: 1 }, ticks: { show: false }, font: '10px system-ui',
      labelFont: '10px system-ui', label, labelSize: 14, labelGap: 0, size, gap: 3,
      values: (plot, splits) => splits.map((value) => (value === null || Math.abs(Math.log10(value) % 1) > 1e-6 ? '' : `1e${Math.round(Math.log10(value))}`.replace('-', '−'))) });
    return new uPlot({ width: place.clientWidth, height: 220, legend: { show: false }, cursor: { y: false },
      scales: { x: { time: false, distr: 3 }, y: { distr: 3 } }, axes: [axis(x, 32), axis(y, 48)],
      series: [{}, { stroke: this.line.color ?? theme.accent, width: 1.6, points: { show: false } }] }, [[], []], place);
  }
}

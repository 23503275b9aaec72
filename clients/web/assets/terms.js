// The error terms of one field as bands: the taps of its node, added up from the truth to the output.

import { shown } from './units.js';

const TRIADS = { linear_acceleration: 'accelerometer', angular_velocity: 'gyroscope', magnetic_field: 'magnetometer' };

// The terms of a line, or null where its node has no taps.
export function termsOf(world, line) {
  const channel = world.byTopic.get(line.topic), triad = TRIADS[line.column.split('.')[0]];
  const taps = channel && triad ? world.byTopic.get(`${channel.node}.taps`) : null;
  const axis = line.column.split('.').at(-1);
  const columns = taps ? taps.columns.filter((each) => each.name.startsWith(`${triad}.`) && each.name.endsWith(`.${axis}`)) : [];
  return columns.length > 1 ? new Terms(world, taps.topic, columns, line) : null;
}

class Terms {
  constructor(world, topic, columns, line) {
    this.topic = topic;
    this.line = line;
    const [unitText, factor] = shown(columns[0].unit, line.unitText.includes('°'));
    this.names = columns.filter((column) => !column.name.includes('.truth.'));
    this.world = world;
    this.factor = factor;
    this.unitText = unitText;
    this.loaded = null;
    this.shown = []; // terms that are not zero in the window
  }

  // The terms; their columns are subscribed to at first use.
  get all() {
    this.loaded ??= this.names.map((column, index) => ({
      topic: this.topic, column: column.name, text: column.text, label: column.name.split('.')[1].replaceAll('_', ' '),
      key: `${this.topic}~${column.name}`, factor: this.factor, unitText: this.unitText, index,
      data: this.world.use(this.topic, column.name), bins: new Float64Array(0),
    }));
    return this.loaded;
  }

  rows(theme) {
    return this.all.map((term) => Object.assign(term, { color: theme.color(term.index) }));
  }

  // Means of each term in equal parts of the window. Returns the range of the sum and of the stacked terms.
  prepare(t0, t1, bins, hidden) {
    let least = 0, most = 0;
    this.shown = [];
    this.bins = bins;
    this.total = new Float64Array(bins);
    this.counts = new Float64Array(bins);
    const { ring } = this.all[0].data;
    const from = ring.find(t0), to = ring.find(t1), scale = bins / (t1 - t0), mask = ring.mask;
    for (let i = from; i < to; i++) this.counts[Math.min(bins - 1, Math.floor((ring.t[i & mask] - t0) * scale))]++;
    const above = new Float64Array(bins), below = new Float64Array(bins);
    for (const term of this.all) {
      if (hidden.has(term.key)) continue;
      const values = term.data.ring.values[term.data.column], sums = new Float64Array(bins);
      let any = false;
      for (let i = from; i < to; i++) {
        const value = values[i & mask];
        if (value !== 0) any = true;
        sums[Math.min(bins - 1, Math.floor((ring.t[i & mask] - t0) * scale))] += value;
      }
      if (!any) continue;
      term.low = new Float64Array(bins);
      term.high = new Float64Array(bins);
      for (let k = 0; k < bins; k++) {
        const value = this.counts[k] > 0 ? this.factor * sums[k] / this.counts[k] : 0;
        const stack = value >= 0 ? above : below;
        term.low[k] = stack[k];
        stack[k] += value;
        term.high[k] = stack[k];
        this.total[k] += value;
        if (stack[k] < least) least = stack[k];
        if (stack[k] > most) most = stack[k];
      }
      this.shown.push(term);
    }
    return [least, most];
  }
}

// Positive terms are stacked above zero, negative ones below; the line is their sum, the whole error of the output.
export function drawTerms(plot, terms, theme) {
  const { ctx, bbox } = plot, bins = terms.bins ?? 0, width = bbox.width / bins;
  const x = (k) => bbox.left + (k + 0.5) * width, y = (value) => plot.valToPos(value, 'y', true);
  const present = [];
  for (let k = 0; k < bins; k++) if (terms.counts[k] > 0) present.push(k);
  if (present.length === 0) return;
  for (const term of terms.shown) {
    ctx.beginPath();
    present.forEach((k, i) => (i === 0 ? ctx.moveTo(x(k), y(term.high[k])) : ctx.lineTo(x(k), y(term.high[k]))));
    for (let i = present.length - 1; i >= 0; i--) ctx.lineTo(x(present[i]), y(term.low[present[i]]));
    ctx.fillStyle = theme.color(term.index);
    ctx.globalAlpha = 0.55;
    ctx.fill();
  }
  ctx.globalAlpha = 1;
  ctx.beginPath();
  present.forEach((k, i) => (i === 0 ? ctx.moveTo(x(k), y(terms.total[k])) : ctx.lineTo(x(k), y(terms.total[k]))));
  ctx.strokeStyle = theme.text;
  ctx.lineWidth = 1.3 * devicePixelRatio;
  ctx.stroke();
}

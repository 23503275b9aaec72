// Samples of one subscription in typed arrays: times, columns, and the minima and maxima of blocks of samples, so that a
// long window is drawn without reading every sample. The oldest samples are overwritten.

const BLOCK = 64; // samples; a power of two

export class Ring {
  constructor(columns, capacity) {
    this.columns = columns;
    this.capacity = capacity; // a power of two, at least BLOCK
    this.mask = capacity - 1;
    this.count = 0; // samples ever appended; sample i stands at i & mask
    this.lost = 0;
    this.block = BLOCK;
    this.blockMask = capacity / BLOCK - 1;
    this.t = new Float64Array(capacity);
    this.values = columns.map(() => new Float64Array(capacity));
    this.gap = new Uint8Array(capacity); // 1: samples were lost before this one
    this.low = columns.map(() => new Float64Array(capacity / BLOCK));
    this.high = columns.map(() => new Float64Array(capacity / BLOCK));
  }

  get first() { // index of the oldest sample; the block before it may be partly overwritten
    return Math.max(0, this.count - this.capacity + BLOCK);
  }

  get lastTime() {
    return this.count > 0 ? this.t[(this.count - 1) & this.mask] : -Infinity;
  }

  clear() {
    this.count = 0;
    this.lost = 0;
  }

  // Times must grow. Samples that are known already, after a reconnection, are skipped.
  append(times, columns, lost) {
    let start = 0;
    const last = this.lastTime;
    while (start < times.length && times[start] <= last) start++;
    if (start === times.length) return;
    const from = this.count;
    this.gap[from & this.mask] = lost > 0 && from > 0 ? 1 : 0;
    this.lost += from > 0 ? lost : 0;
    this.#copy(this.t, times, start);
    for (let c = 0; c < this.values.length; c++) this.#copy(this.values[c], columns[c], start);
    this.count += times.length - start;
    for (let i = from + 1; i < this.count; i++) this.gap[i & this.mask] = 0;
    this.#summarise(from);
  }

  #copy(to, from, start) {
    let at = this.count & this.mask;
    for (let i = start; i < from.length;) {
      const part = Math.min(from.length - i, this.capacity - at);
      to.set(from.subarray(i, i + part), at);
      i += part;
      at = 0;
    }
  }

  // Minima and maxima of the blocks that became complete.
  #summarise(from) {
    for (let block = Math.floor(from / BLOCK); (block + 1) * BLOCK <= this.count; block++) {
      const start = (block * BLOCK) & this.mask;
      for (let c = 0; c < this.values.length; c++) {
        const values = this.values[c];
        let low = Infinity, high = -Infinity;
        for (let i = start; i < start + BLOCK; i++) {
          const value = values[i];
          if (value < low) low = value;
          if (value > high) high = value;
        }
        this.low[c][block & this.blockMask] = low;
        this.high[c][block & this.blockMask] = high;
      }
    }
  }

  // Index of the first sample with a time of at least `time`.
  find(time) {
    let low = this.first, high = this.count;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.t[middle & this.mask] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Value of the sample nearest to a time; NaN where there is none within `reach`.
  nearest(column, time, reach) {
    const i = this.find(time);
    let best = NaN, distance = reach;
    for (const k of [i - 1, i]) {
      if (k >= this.first && k < this.count && Math.abs(this.t[k & this.mask] - time) <= distance) {
        distance = Math.abs(this.t[k & this.mask] - time);
        best = this.values[column][k & this.mask];
      }
    }
    return best;
  }

  // A copy of a column from index `from` to `to`, for analysis.
  slice(array, from, to) {
    const out = new Float64Array(Math.max(0, to - from));
    for (let i = from; i < to; i++) out[i - from] = array[i & this.mask];
    return out;
  }
}

// Capacity for a rate: ten minutes, at most 131072 samples.
export function capacityFor(rateHz) {
  let capacity = 2048;
  while (capacity < 131072 && capacity < (rateHz || 10) * 600) capacity *= 2;
  return capacity;
}

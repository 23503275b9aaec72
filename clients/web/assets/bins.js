// The range of a column in each bin of a fixed grid of time. While the grid stays, a frame reads only the new samples.

const BLOCK_BINS = 4; // blocks of a ring are used where a bin has more than this many of them

export class Bins {
  constructor() {
    this.width = 0; // s of a bin
    this.low = this.high = new Float64Array(0);
  }

  // Bins of the width (t1 - t0) / count that cover [t0, t1]. Returns the range of all values; least > most: no values.
  update(data, t0, t1, count) {
    const { ring, column } = data, width = (t1 - t0) / count, start = Math.floor(t0 / width);
    const same = this.ring === ring && this.column === column && Math.abs(this.width - width) < 1e-9 * width && start >= this.start &&
      this.next <= ring.count && this.next >= ring.first;
    if (!same) this.#begin(ring, column, width, start, count);
    this.#add(ring.count);
    let least = Infinity, most = -Infinity;
    this.first = start;
    this.last = Math.min(this.newest, Math.floor(t1 / this.width));
    for (let k = this.first; k <= this.last; k++) {
      if (this.low[k & this.mask] < least) least = this.low[k & this.mask];
      if (this.high[k & this.mask] > most) most = this.high[k & this.mask];
    }
    return [least, most];
  }

  #begin(ring, column, width, start, count) {
    let size = 64;
    while (size < 2 * count + 4) size *= 2;
    if (this.low.length !== size) {
      this.low = new Float64Array(size);
      this.high = new Float64Array(size);
      this.broken = new Uint8Array(size);
    }
    Object.assign(this, { ring, column, width, start, mask: size - 1, newest: start - 1, next: Math.max(ring.first, ring.find(start * width) - 1) });
  }

  #add(end) {
    const { ring, column, width, mask } = this, { block } = ring;
    const perBin = ring.count - this.next > 1 ? (ring.count - this.next) * width / (ring.lastTime - ring.t[this.next & ring.mask]) : 0;
    const coarse = perBin > BLOCK_BINS * block;
    const values = ring.values[column], times = ring.t;
    for (let i = this.next; i < end;) {
      const whole = coarse && i % block === 0 && i + block <= end;
      const at = i & ring.mask, slot = Math.floor(i / block) & ring.blockMask;
      const low = whole ? ring.low[column][slot] : values[at], high = whole ? ring.high[column][slot] : low;
      const k = Math.max(this.start, Math.floor(times[at] / width));
      while (this.newest < k) {
        if (k - this.newest > mask) this.newest = k - mask; // a pause longer than all bins
        this.newest++;
        this.low[this.newest & mask] = Infinity;
        this.high[this.newest & mask] = -Infinity;
        this.broken[this.newest & mask] = 0;
      }
      if (low < this.low[k & mask]) this.low[k & mask] = low;
      if (high > this.high[k & mask]) this.high[k & mask] = high;
      if (ring.gap[at]) this.broken[k & mask] = 1;
      i += whole ? block : 1;
    }
    this.next = end;
  }
}

// Statistics, overlapping Allan deviation and power spectral density. Pure.

// Mean, standard deviation, rms, minimum and maximum of a ring's column between two indices, in two passes.
export function statistics(ring, column, from, to) {
  const values = ring.values[column], mask = ring.mask;
  let count = 0, sum = 0, least = Infinity, most = -Infinity;
  for (let i = from; i < to; i++) {
    const value = values[i & mask];
    if (!Number.isFinite(value)) continue;
    count++;
    sum += value;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (count === 0) return null;
  const mean = sum / count;
  let square = 0;
  for (let i = from; i < to; i++) {
    const difference = values[i & mask] - mean;
    if (Number.isFinite(difference)) square += difference * difference;
  }
  const variance = count > 1 ? square / (count - 1) : 0;
  return { count, mean, sigma: Math.sqrt(variance), rms: Math.sqrt(mean * mean + square / count), least, most };
}

// Overlapping Allan deviation (IEEE 952-1997, C.1): taus in s and deviations, at `points` averaging times a decade.
export function allan(values, rateHz, points = 10) {
  const count = values.length, sums = new Float64Array(count + 1), taus = [], deviations = [];
  let mean = 0;
  for (let i = 0; i < count; i++) mean += values[i] / count;
  for (let i = 0; i < count; i++) sums[i + 1] = sums[i] + (values[i] - mean);
  const most = Math.floor(count / 9); // beyond it the confidence is poor
  for (let k = 0, last = 0; ; k++) {
    const m = Math.round(10 ** (k / points));
    if (m > most) break;
    if (m === last) continue;
    last = m;
    let total = 0;
    const terms = count - 2 * m + 1;
    for (let i = 0; i < terms; i++) {
      const difference = sums[i + 2 * m] - 2 * sums[i + m] + sums[i];
      total += difference * difference;
    }
    taus.push(m / rateHz);
    deviations.push(Math.sqrt(total / (2 * terms)) / m);
  }
  return { taus, deviations };
}

// In-place radix-2 transform of a power of two.
export function transform(re, im) {
  const n = re.length;
  for (let i = 1, j = 0; i < n; i++) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [re[i], re[j]] = [re[j], re[i]];
      [im[i], im[j]] = [im[j], im[i]];
    }
  }
  for (let size = 2; size <= n; size *= 2) {
    const angle = -2 * Math.PI / size, half = size / 2;
    for (let k = 0; k < half; k++) {
      const c = Math.cos(angle * k), s = Math.sin(angle * k);
      for (let i = k; i < n; i += size) {
        const j = i + half;
        const x = re[j] * c - im[j] * s, y = re[j] * s + im[j] * c;
        re[j] = re[i] - x;
        im[j] = im[i] - y;
        re[i] += x;
        im[i] += y;
      }
    }
  }
}

// Amplitude spectral density by Welch's method: Hann windows of half overlap, single-sided, in unit/sqrt(Hz).
export function spectrum(values, rateHz) {
  let size = 8192;
  while (size > 64 && size * 2 > values.length) size /= 2;
  if (values.length < size) return { frequencies: [], densities: [] };
  const window = new Float64Array(size), power = new Float64Array(size / 2 + 1);
  let energy = 0, segments = 0;
  for (let i = 0; i < size; i++) {
    window[i] = 0.5 - 0.5 * Math.cos(2 * Math.PI * i / size);
    energy += window[i] * window[i];
  }
  for (let start = 0; start + size <= values.length; start += size / 2, segments++) {
    const re = new Float64Array(size), im = new Float64Array(size);
    let mean = 0;
    for (let i = 0; i < size; i++) mean += values[start + i] / size;
    for (let i = 0; i < size; i++) re[i] = (values[start + i] - mean) * window[i];
    transform(re, im);
    for (let k = 0; k <= size / 2; k++) power[k] += re[k] * re[k] + im[k] * im[k];
  }
  const frequencies = [], densities = [];
  for (let k = 1; k < size / 2; k++) {
    frequencies.push(k * rateHz / size);
    densities.push(Math.sqrt(2 * power[k] / (segments * energy * rateHz)));
  }
  return { frequencies, densities };
}

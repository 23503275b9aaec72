// Bars of dense lines, painted into an image: with many thousand bars a frame this is many times faster than paths.

export class Raster {
  constructor() {
    this.canvas = document.createElement('canvas');
    this.ctx = this.canvas.getContext('2d');
  }

  begin(width, height) {
    if (this.canvas.width !== width || this.canvas.height !== height || !this.image) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = this.ctx.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    } else {
      this.pixels.fill(0);
    }
    this.used = false;
  }

  // `y` are the coefficients [offset, scale] of a value in pixels. Bars meet their neighbours, except where samples were lost.
  bars(bins, t0, perSecond, [offset, scale], color, thick) {
    const { width, height } = this.image, { pixels } = this, value = packed(color), step = bins.width * perSecond;
    let above = NaN, below = NaN;
    this.used = true;
    for (let k = bins.first; k <= bins.last; k++) {
      const low = bins.low[k & bins.mask], high = bins.high[k & bins.mask];
      if (!(low <= high)) continue;
      if (bins.broken[k & bins.mask]) above = below = NaN;
      let top = offset - high * scale - thick / 2, end = offset - low * scale + thick / 2;
      const ownTop = top, ownEnd = end;
      if (top > below) top = below;
      if (end < above) end = above;
      above = ownTop;
      below = ownEnd;
      const x0 = Math.max(0, Math.round((k * bins.width - t0) * perSecond)), x1 = Math.min(width, Math.max(x0 + 1, Math.round((k * bins.width - t0) * perSecond + step)));
      const y1 = Math.min(height, Math.ceil(end));
      for (let y = Math.max(0, Math.floor(top)); y < y1; y++) {
        for (let x = x0; x < x1; x++) pixels[y * width + x] = value;
      }
    }
  }

  draw(ctx, left, top) {
    if (!this.used) return;
    this.ctx.putImageData(this.image, 0, 0);
    ctx.drawImage(this.canvas, left, top);
  }
}

// "#rrggbb" or "#rrggbbaa" as a pixel in memory (little-endian).
function packed(color) {
  const number = parseInt(color.slice(1), 16);
  const [rgb, alpha] = color.length > 7 ? [number >>> 8, number & 255] : [number, 255];
  return ((alpha << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >>> 16)) >>> 0;
}

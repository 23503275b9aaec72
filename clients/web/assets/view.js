// The part of the simulated time that all charts show: it follows the newest sample, or stands still while data flow.

import { WINDOWS_S } from './layout.js';

const SPAN_MIN = 0.005;

export class View {
  constructor(span, changed) {
    this.span = span;
    this.changed = changed;
    this.following = true;
    this.t0 = 0;
    this.t1 = span;
    this.dirty = true;
  }

  // Called for each frame of the screen.
  advance(now) {
    if (!this.following) return;
    const t1 = Math.max(now, this.span);
    if (t1 !== this.t1 || t1 - this.span !== this.t0) this.dirty = true;
    this.t1 = t1;
    this.t0 = t1 - this.span;
  }

  follow() {
    this.following = true;
    this.dirty = true;
    this.changed();
  }

  hold() {
    this.following = false;
    this.changed();
  }

  toggle() {
    if (this.following) this.hold();
    else this.follow();
  }

  fix(t0, t1) {
    if (!(t1 - t0 >= SPAN_MIN)) return;
    this.following = false;
    this.t0 = t0;
    this.t1 = t1;
    this.dirty = true;
    this.changed();
  }

  zoom(factor, at) {
    this.fix(at - (at - this.t0) * factor, at + (this.t1 - at) * factor);
  }

  pan(part) {
    const shift = part * (this.t1 - this.t0);
    this.fix(this.t0 + shift, this.t1 + shift);
  }

  setSpan(span) {
    this.span = span;
    this.follow();
  }

  // The next shorter (-1) or longer (1) window.
  stepSpan(direction) {
    const near = WINDOWS_S.findIndex((span) => span >= this.span);
    const index = Math.max(0, Math.min(WINDOWS_S.length - 1, (near < 0 ? WINDOWS_S.length : near) + direction));
    this.setSpan(WINDOWS_S[index]);
  }
}

// Events as marks on the time axis of a chart.

// CLOCK: many on a busy machine, so short marks at the bottom. The other QUIET events are not marked.
const CLOCK = new Set(['late', 'slip', 'overrun', 'watchdog']);
const QUIET = new Set(['client', 'publisher', 'started', 'realtime', ...CLOCK]);

// True for events that a chart shows with their names.
export function isNotable(event) {
  return !QUIET.has(event.kind);
}

export function drawMarks(plot, events, theme, view) {
  const { ctx, bbox } = plot, ratio = devicePixelRatio, bottom = bbox.top + bbox.height;
  const scale = bbox.width / (view.t1 - view.t0);
  let free = -Infinity; // labels do not overlap
  ctx.save();
  ctx.font = `600 ${10 * ratio}px system-ui`;
  ctx.textBaseline = 'bottom';
  for (let i = firstAfter(events, view.t0); i < events.length; i++) {
    const event = events[i], notable = isNotable(event);
    if (event.t < view.t0 || event.t > view.t1 || (!notable && !CLOCK.has(event.kind))) continue;
    const x = Math.round(bbox.left + (event.t - view.t0) * scale);
    ctx.fillStyle = event.severity >= 2 ? theme.error : event.severity === 1 ? theme.warning : theme.accent;
    if (!notable) {
      ctx.globalAlpha = 0.55;
      ctx.fillRect(x, bottom - 5 * ratio, ratio, 5 * ratio);
      continue;
    }
    ctx.globalAlpha = 0.85;
    for (let y = bbox.top; y < bottom; y += 6 * ratio) ctx.fillRect(x, y, ratio, 3 * ratio);
    ctx.globalAlpha = 1;
    if (x >= free) {
      ctx.fillText(event.kind, x - 2 * ratio, bbox.top - ratio);
      free = x + ctx.measureText(event.kind).width + 8 * ratio;
    }
  }
  ctx.restore();
}

// Index from which to search events after t. They are nearly in the order of time: marks of the page may be late by one status.
function firstAfter(events, t) {
  let i = events.length;
  while (i > 0 && events[i - 1].t >= t - 2) i--;
  return i;
}

// Events as marks on the time axis of a chart.

const QUIET = new Set(['client', 'publisher', 'started', 'realtime', 'parameter']); // without a label; severity 0

export function isMark(event) {
  return event.severity > 0 || !QUIET.has(event.kind) || event.kind === 'parameter';
}

export function drawMarks(plot, events, theme, view) {
  const { ctx, bbox } = plot, ratio = devicePixelRatio;
  const scale = bbox.width / (view.t1 - view.t0);
  let free = -Infinity; // labels do not overlap
  ctx.font = `${10 * ratio}px system-ui`;
  ctx.textBaseline = 'top';
  for (let i = firstAfter(events, view.t0); i < events.length && events[i].t <= view.t1; i++) {
    const event = events[i];
    if (!isMark(event)) continue;
    const x = Math.round(bbox.left + (event.t - view.t0) * scale);
    const color = event.severity >= 2 ? theme.error : event.severity === 1 ? theme.warning : theme.accent;
    ctx.fillStyle = color;
    ctx.globalAlpha = event.kind === 'late' ? 0.35 : 0.8;
    if (event.kind === 'late') {
      ctx.fillRect(x, bbox.top + bbox.height - 7 * ratio, ratio, 7 * ratio);
      continue;
    }
    for (let y = bbox.top; y < bbox.top + bbox.height; y += 6 * ratio) ctx.fillRect(x, y, ratio, 3 * ratio);
    ctx.globalAlpha = 1;
    const width = ctx.measureText(event.kind).width + 6 * ratio;
    if (x >= free) {
      ctx.fillStyle = theme.panel;
      ctx.fillRect(x + ratio, bbox.top, width, 13 * ratio);
      ctx.fillStyle = color;
      ctx.fillText(event.kind, x + 4 * ratio, bbox.top + ratio);
      free = x + width + 4 * ratio;
    }
  }
  ctx.globalAlpha = 1;
}

// Events are nearly in the order of time; marks of the page itself may be late by a status.
function firstAfter(events, t) {
  let i = events.length;
  while (i > 0 && events[i - 1].t >= t - 1) i--;
  return i;
}

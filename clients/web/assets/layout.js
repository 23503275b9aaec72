// A layout is a URL: the charts with their fields, the window and the units. It holds no token.
//   ?w=10&deg=1&stats=1&theme=dark&c=TOPIC~COLUMN~COLUMN;TOPIC~COLUMN&c=!TOPIC~COLUMN   (! : error terms of one field)

import { vehicleOf } from './world.js';

const WINDOWS_S = [1, 2, 5, 10, 20, 60, 120, 300, 600];

export { WINDOWS_S };

function readChart(text) {
  const terms = text.startsWith('!');
  const series = [];
  for (const part of (terms ? text.slice(1) : text).split(';')) {
    const [topic, ...columns] = part.split('~');
    for (const column of columns) series.push({ topic, column });
  }
  return { series, terms };
}

function writeChart(chart) {
  const parts = [];
  for (const { topic, column } of chart.series) {
    const last = parts.at(-1);
    if (last && last[0] === topic) last.push(column);
    else parts.push([topic, column]);
  }
  return (chart.terms ? '!' : '') + parts.map((part) => part.join('~')).join(';');
}

export function readLayout(search = location.search) {
  const query = new URLSearchParams(search);
  const span = Number(query.get('w'));
  return {
    span: span >= 0.01 && span <= 3600 ? span : 10,
    degrees: query.get('deg') !== '0',
    numbers: query.get('stats') === '1',
    theme: ['dark', 'light'].includes(query.get('theme')) ? query.get('theme') : 'auto',
    panel: query.get('p') ?? 'view',
    charts: query.has('c') ? query.getAll('c').map(readChart).filter((chart) => chart.series.length > 0) : null,
  };
}

export function writeLayout(layout) {
  const query = [`w=${+layout.span.toPrecision(4)}`, `deg=${layout.degrees ? 1 : 0}`, `p=${layout.panel}`];
  if (layout.numbers) query.push('stats=1');
  if (layout.theme !== 'auto') query.push(`theme=${layout.theme}`);
  for (const chart of layout.charts) query.push(`c=${encodeURIComponent(writeChart(chart)).replaceAll('%2F', '/').replaceAll('%7E', '~')}`);
  history.replaceState(null, '', `?${query.join('&')}`);
}

// The charts that a world shows first: specific force, angular rate, speed and field of its first sensors.
export function defaultCharts(world) {
  const charts = [];
  const add = (typeName, base, limit) => {
    for (const channel of world.channels.filter((each) => each.type.name === typeName && each.seq > 0).slice(0, limit)) {
      const series = channel.columns.filter((column) => column.base === base).slice(0, 3)
        .map((column) => ({ topic: channel.topic, column: column.name }));
      if (series.length > 0) charts.push({ series, terms: false });
    }
  };
  add('imu', 'linear_acceleration', 1);
  add('imu', 'angular_velocity', 1);
  add('odometry', 'speed_m_s', 1);
  add('estimate', 'position_enu_m', 1);
  if (charts.length < 4) add('mag', 'magnetic_field', 1);
  if (charts.length === 0) add('truth', 'velocity_enu_m_s', 1);
  return charts;
}

// The truth of a measured column: {topic, column}, or null.
export function truthOf(world, topic, column) {
  const channel = world.byTopic.get(topic);
  if (!channel || channel.truth || topic.endsWith('.taps')) return null;
  const axis = column.split('.').at(-1);
  const triad = { linear_acceleration: 'accelerometer', angular_velocity: 'gyroscope', magnetic_field: 'magnetometer' }[column.split('.')[0]];
  const taps = world.byTopic.get(`${channel.node}.taps`);
  if (triad && taps && taps.seq > 0 && world.column(taps.topic, `${triad}.truth.${axis}`)) {
    return { topic: taps.topic, column: `${triad}.truth.${axis}` };
  }
  const truth = world.truths.get(vehicleOf(channel.node));
  if (!truth) return null;
  const name = triad === 'gyroscope' ? `angular_rate_body_rad_s.${axis}`
    : column === 'speed_m_s' ? 'longitudinal_speed_m_s' : channel.type.name === 'estimate' ? column : null;
  return name && world.column(truth.topic, name) ? { topic: truth.topic, column: name } : null;
}

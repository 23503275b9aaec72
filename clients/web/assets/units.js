// Units of display: radians may be shown as degrees, tesla as microtesla, nanoseconds as milliseconds.

const DEG = 180 / Math.PI;
const DEGREES = { 'rad': ['°', DEG], 'rad/s': ['°/s', DEG], 'rad/s^2': ['°/s²', DEG], 'rad^2': ['°²', DEG * DEG],
  'rad^2/s^2': ['°²/s²', DEG * DEG] };
const ALWAYS = { 'T': ['µT', 1e6], 'ns': ['ms', 1e-6], '1': ['', 1] };

// [text, factor] with which a unit is displayed.
export function shown(unit, degrees) {
  if (degrees && DEGREES[unit]) return DEGREES[unit];
  if (ALWAYS[unit]) return ALWAYS[unit];
  return [unit.replaceAll('^2', '²').replaceAll('^3', '³').replaceAll('^4', '⁴'), 1];
}

// A few significant digits, with an exponent where zeros would fill them.
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  const text = size === 0 ? '0'
    : size < 1e-3 || size >= 1e6 ? value.toExponential(size < 1e-9 ? 0 : 1).replace('e+', 'e')
      : value.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(size))));
  return text.replaceAll('-', '−');
}

// A time in microseconds, from ten milliseconds on in milliseconds.
export function duration(us) {
  return us < 1e4 ? `${number(us, 3)} µs` : `${number(us * 1e-3, 3)} ms`;
}

export function bytes(value) {
  return value < 1024 ? `${value} B` : value < 1048576 ? `${number(value / 1024, 3)} KiB` : `${number(value / 1048576, 3)} MiB`;
}

export function clock(seconds) {
  const whole = Math.floor(seconds), h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60;
  const s = (seconds - 3600 * h - 60 * m).toFixed(3).padStart(6, '0');
  return `${h > 0 ? `${h}:` : ''}${String(m).padStart(2, '0')}:${s}`;
}

// What a chart shows: the range of its axes, and how many points lie outside. Pure.

/**
 * The smallest and largest finite value of a window.
 *
 * @param {{x: ArrayLike<number>, y: ArrayLike<number>, length: number}[]} series
 * @param {{x0: number, x1: number}} window inclusive.
 * @param {boolean} positive only values above 0 (a log axis).
 * @returns {[number, number] | null} null where there is none.
 */
export function extent(series, { x0, x1 }, positive) {
  let low = Infinity;
  let high = -Infinity;
  for (const { x, y, length } of series) {
    for (let i = 0; i < length; i++) {
      const value = y[i];
      if (!(x[i] >= x0 && x[i] <= x1) || !Number.isFinite(value) || (positive && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low > high ? null : [low, high];
}

/**
 * The range without outliers: what lies within three times the middle half's spread around it.
 *
 * @returns {{range: [number, number] | null, outside: number}}
 */
export function robust(series, { x0, x1 }, positive) {
  const values = [];
  for (const { x, y, length } of series) {
    for (let i = 0; i < length; i++) {
      if (x[i] >= x0 && x[i] <= x1 && Number.isFinite(y[i]) && !(positive && y[i] <= 0)) values.push(positive ? Math.log10(y[i]) : y[i]);
    }
  }
  if (values.length === 0) return { range: null, outside: 0 };
  const sorted = Float64Array.from(values).sort();
  const at = (q) => sorted[Math.round(q * (sorted.length - 1))];
  const [first, third] = [at(0.25), at(0.75)];
  const fence = 3 * (third - first);
  let low = Infinity;
  let high = -Infinity;
  let outside = 0;
  for (const value of sorted) {
    if (value < first - fence || value > third + fence) outside++;
    else {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return { range: positive ? [10 ** low, 10 ** high] : [low, high], outside };
}

/**
 * Room around a range, so that lines do not touch the frame; a single value gets room too.
 * @param {"linear" | "log" | "symlog"} scale
 */
export function padded([low, high], scale, share = 0.06) {
  if (scale === "log") {
    const span = Math.log10(high) - Math.log10(low);
    const room = span === 0 ? 0.5 : Math.max(span * share, 0.02);
    return [10 ** Math.max(-307, Math.log10(low) - room), 10 ** Math.min(308, Math.log10(high) + room)];
  }
  if (scale === "symlog" && low < high) {
    const room = (Math.asinh(high) - Math.asinh(low)) * share;
    return [Math.sinh(Math.asinh(low) - room), Math.sinh(Math.asinh(high) + room)];
  }
  const span = high - low;
  if (!Number.isFinite(span)) return [low, high];
  const room = span === 0 ? Math.abs(low) * 0.1 || 1 : span * share;
  return [low - room, high + room];
}

/** Index of the x nearest to a value, in a rising array; -1 where it is empty. */
export function nearest(x, length, value) {
  if (length === 0) return -1;
  let low = 0;
  let high = length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low > 0 && value - x[low - 1] <= x[low] - value ? low - 1 : low;
}

/**
 * Ticks of a log axis: powers of ten, with 2 and 5 between where few fit.
 * @param {number} most at most so many, about.
 */
export function logTicks(low, high, most) {
  const first = Math.floor(Math.log10(low) + 1e-9);
  const last = Math.ceil(Math.log10(high) - 1e-9);
  const decades = last - first + 1;
  const stride = Math.max(1, Math.ceil(decades / Math.max(2, most)));
  const factors = Math.log10(high / low) * 3 <= most ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.ceil(first / stride) * stride; power <= last; power += stride) {
    for (const factor of factors) {
      const tick = Number(`${factor}e${power}`);
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  if (ticks.length >= 2) return ticks;
  return linearTicks(low, high, Math.max(2, most)).filter((tick) => tick > 0);
}

/** Round ticks of a linear axis. */
export function linearTicks(low, high, most) {
  const step = niceStep(Math.max((high - low) / Math.max(1, most), finest(low, high)));
  const first = Math.ceil(low / step - 1e-9);
  const ticks = [];
  // Counted apart from the index: beyond 2^53 adding 1 to a number leaves it as it is.
  for (let n = 0; n <= most * 3 && (first + n) * step <= high + step * 1e-9; n++) {
    const tick = (first + n) * step;
    const round = Number(tick.toPrecision(15));
    ticks.push(Math.abs(round - tick) < step / 2 ? round : tick);
  }
  return [...new Set(ticks)];
}

/** Distance of neighbouring doubles at the larger end of a range: no step can be smaller. */
const finest = (low, high) => Math.max(Math.abs(low), Math.abs(high)) * Number.EPSILON;

/** The smallest of 1, 2, 5 times a power of ten that is at least `size`. */
export function niceStep(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= size * (1 - 1e-9)) return Number((factor * power).toPrecision(12));
  return power * 10;
}

const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** Ticks of a duration axis in seconds: round on a clock. */
export function clockTicks(low, high, most) {
  const size = (high - low) / Math.max(1, most);
  if (size < 1) return linearTicks(low, high, most);
  const step = CLOCK.find((item) => item >= size) ?? niceStep(size / 86400) * 86400;
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(i * step);
  return ticks;
}

/** Ticks of an axis of moments, in seconds since the epoch: round on the reader's clock. */
export function timeTicks(low, high, most) {
  const offset = new Date(low * 1000).getTimezoneOffset() * 60;
  return clockTicks(low - offset, high - offset, most).map((tick) => tick + offset);
}

/** Ticks of a symmetric log axis: powers of ten on both sides of zero, none nearer to the last than they can be read. */
export function symlogTicks(low, high, most) {
  const gap = (Math.asinh(high) - Math.asinh(low)) / Math.max(2, most);
  const side = [];
  let last = 0;
  for (let power = 0; power <= 308 && 10 ** power <= Math.max(Math.abs(low), Math.abs(high)); power++) {
    if (Math.asinh(10 ** power) - last < gap) continue;
    last = Math.asinh(10 ** power);
    side.push(10 ** power);
  }
  const ticks = [...side.map((tick) => -tick).reverse(), 0, ...side].filter((tick) => tick >= low && tick <= high);
  return ticks.length >= 2 ? ticks : linearTicks(low, high, most);
}

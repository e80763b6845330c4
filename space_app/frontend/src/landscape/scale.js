// From losses to shares of the colour scale and back: linear or logarithmic, with ticks and levels. Pure.

import { tickLabels } from "../format.js";
import { linearTicks, logTicks, niceStep } from "../ranges.js";

/** How far above 0 a shift puts the least loss, as a share of the range. */
const FLOOR_SHARE = 1e-2;
/** Where the largest loss is so many times the least, an automatic scale is logarithmic. */
const LOG_FROM = 30;

/**
 * The scale of some landscapes.
 *
 * Losses above 0 have a plain logarithm. Where one is 0 or below, there is none: then the scale shows the logarithm of
 * `loss + shift`. The shift puts the least loss where the least positive one lies, or, where losses are negative, a
 * hundredth of the range above 0. The title says so.
 * @param {object} about
 * @param {"auto" | "linear" | "log"} about.kind
 * @param {number | null} about.min least finite loss; null where there is none.
 * @param {number | null} about.max
 * @param {number | null} about.from what the reader wants the scale to begin with; null for the least loss.
 * @param {number | null} about.to
 */
export function makeScale({ kind, min, max, minPositive = null, from = null, to = null }) {
  if (min === null || max === null) [min, max] = [0, 1];
  if (kind === "auto") kind = min > 0 && max / min >= LOG_FROM ? "log" : "linear";
  let [low, high] = [from ?? min, to ?? max];
  if (!(low < high)) [low, high] = [Math.min(low, high), Math.max(low, high)];
  const isLog = kind === "log";
  const shift = isLog ? shiftOf(Math.min(low, min), Math.max(high, max), minPositive) : 0;
  if (low === high) [low, high] = around(low, isLog && !shift);
  const forward = isLog ? (value) => Math.log10(value + shift) : (value) => value;
  const backward = isLog ? (value) => 10 ** value - shift : (value) => value;
  const [start, span] = [forward(low), forward(high) - forward(low)];
  const scale = {
    kind, isLog, shift, low, high,
    /** Whether losses lie beyond the scale, so that their colours are those of its ends. */
    isCutLow: min < low, isCutHigh: max > high,
    share: (value) => (forward(value) - start) / span,
    value: (share) => (share <= 0 ? low : share >= 1 ? high : backward(start + share * span)),
    title: isLog ? (shift ? "loss (shifted log)" : "loss (log)") : "loss",
    note: shift ? `A loss of 0 or below has no logarithm: colours show log(loss ${shift < 0 ? "−" : "+"} ${Number(Math.abs(shift).toPrecision(3))}).` : "",
  };
  scale.ticks = (most) => scaleTicks(scale, most);
  scale.levels = (most) => scaleTicks(scale, most, true).filter((level) => level > low && level < high);
  return scale;
}

/** What is added before the logarithm is taken; 0 where all is above 0. */
function shiftOf(low, high, minPositive) {
  if (low > 0) return 0;
  const most = FLOOR_SHARE * (high - low || 1);
  const floor = low === 0 && minPositive !== null ? Math.min(most, Math.max(minPositive, 1e-6 * high)) : most;
  return floor - low;
}

const around = (value, isPositive) => {
  if (isPositive) return [value / 1.5, value * 1.5];
  const room = Math.abs(value) * 0.05 || 0.5;
  return [value - room, value + room];
};

function scaleTicks(scale, most, isEven = false) {
  const { isLog, shift, low, high } = scale;
  if (!isLog) return linearTicks(low, high, most);
  if (!shift) {
    const ticks = logTicks(low, high, most);
    // Powers of ten alone are too few contours of a scale of one or two decades.
    if (ticks.length >= (isEven ? most * 0.6 : 3)) return ticks;
  }
  return evenTicks(scale, most);
}

/** Round values that stand about evenly on a logarithmic scale. */
function evenTicks(scale, most) {
  const values = Array.from({ length: most + 1 }, (_, i) => scale.value(i / most));
  const ticks = [];
  for (let i = 0; i <= most; i++) {
    const gap = Math.min(...[values[i] - values[i - 1], values[i + 1] - values[i]].filter((size) => size > 0));
    const step = niceStep(gap / 5);
    const tick = Number((Math.round(values[i] / step) * step).toPrecision(12));
    if (tick >= scale.low && tick <= scale.high && tick !== ticks.at(-1)) ticks.push(tick === 0 ? 0 : tick);
  }
  return ticks;
}

/** Labels of values of a scale: alike where they stand evenly, else each with the digits that it needs. */
export function scaleLabels(scale, ticks) {
  if (!scale.isLog) return tickLabels(ticks, ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(ticks[0]) || 1);
  return ticks.map((tick) => {
    const size = Math.abs(tick);
    if (size !== 0 && (size < 1e-3 || size >= 1e5)) return tick.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
    return String(Number(tick.toPrecision(4)));
  });
}

/**
 * One range for several: of frames that the list of landscapes describes, without reading their files.
 * @param {({min: number | null, max: number | null, min_positive: number | null} | null)[]} ranges payloads.
 */
export function union(ranges) {
  let [min, max, minPositive] = [null, null, null];
  for (const range of ranges) {
    if (!range || range.min === null || range.max === null) continue;
    min = min === null ? range.min : Math.min(min, range.min);
    max = max === null ? range.max : Math.max(max, range.max);
    if (range.min_positive > 0) minPositive = Math.min(minPositive ?? Infinity, range.min_positive);
  }
  return { min, max, minPositive };
}

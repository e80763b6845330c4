// Series as curves: the rules of trackio_like/query/series.py and lanes.py, which a frozen page applies by itself.

import { orderByX, upperBound } from "./decimate.js";

/**
 * @typedef {object} Points the points of one writer, in the order of its calls.
 * @property {Float64Array} seq
 * @property {Float64Array} step
 * @property {Float64Array} time microseconds since the epoch.
 * @property {Float64Array} value
 */

/**
 * Which writers' points make up which curve.
 *
 * Writers of one attempt are drawn apart, by rank and then by who came first; a later attempt goes on with the curves,
 * and replaces what earlier ones drew from the step on where it begins.
 * @param {Map<string, Points>} points by writer; none is empty.
 * @param {Record<string, [number, number]>} writers attempt and rank.
 * @param {boolean} hasSteps whether the kind has steps; without, nothing is replaced.
 * @returns {{writer: string, cut: number | null}[][]} the parts of each curve, in the order they are drawn.
 */
export function layOut(points, writers, hasSteps) {
  const attempts = new Map();
  for (const writer of points.keys()) {
    const [attempt] = writers[writer];
    if (!attempts.has(attempt)) attempts.set(attempt, []);
    attempts.get(attempt).push(writer);
  }
  const lanes = [];
  let cut = null;
  for (const attempt of [...attempts.keys()].sort((a, b) => b - a)) {
    const began = (writer) => points.get(writer).time[0];
    const members = attempts.get(attempt).sort((a, b) => writers[a][1] - writers[b][1] || began(a) - began(b) || (a < b ? -1 : 1));
    members.forEach((writer, lane) => {
      if (lane === lanes.length) lanes.push([]);
      lanes[lane].unshift({ writer, cut });
    });
    if (hasSteps) for (const writer of members) cut = Math.min(cut ?? Infinity, points.get(writer).step[0]);
  }
  return lanes;
}

/**
 * The curves of a series.
 * @param {Map<string, Points>} points by writer.
 * @param {object} about
 * @param {string} about.axis "step", "relative", "time" or "metric:<key>".
 * @param {number} about.origin time of the run's first row, microseconds.
 * @param {Map<string, Points>} about.xPoints the points of the axis's key, where the axis is a metric.
 * @param {Record<string, [number, number]>} about.writers attempt and rank.
 * @param {boolean} about.hasSteps
 * @returns {{x: Float64Array, y: Float64Array}[]} x rises.
 */
export function draw(points, { axis, origin, xPoints, writers, hasSteps }) {
  const xOf = axisOf(axis, { origin, xPoints, hasSteps });
  return layOut(points, writers, hasSteps).map((parts) => {
    const xs = [];
    const ys = [];
    let before = NaN;
    for (const { writer, cut } of parts) {
      const own = points.get(writer);
      let [x, y] = [xOf(writer, own, before), own.value];
      if (cut !== null) [x, y] = [x, y].map((items) => items.filter((_, i) => own.step[i] < cut));
      if (x.length) before = x[x.length - 1];
      xs.push(x);
      ys.push(y);
    }
    const [x, y] = [joined(xs), joined(ys)];
    const order = orderByX(x);
    return order ? { x: Float64Array.from(order, (i) => x[i]), y: Float64Array.from(order, (i) => y[i]) } : { x, y };
  });
}

function axisOf(axis, { origin, xPoints, hasSteps }) {
  if (axis === "step" && hasSteps) return (_, own) => own.step;
  if (axis === "time") return (_, own) => own.time.map((time) => time / 1e6);
  if (axis === "step" || axis === "relative") return (_, own) => own.time.map((time) => (time - origin) / 1e6);
  return (writer, own, before) => metricX(xPoints, writer, own, before);
}

/** The metric's value of the same row, else the last earlier one. */
function metricX(xPoints, writer, own, before) {
  const its = xPoints.get(writer);
  const others = its ? null : merged(xPoints);
  const early = its && own.seq.length && own.seq[0] < its.seq[0] ? merged(xPoints) : others;
  return own.seq.map((seq, i) => {
    const found = its ? upperBound(its.seq, seq) - 1 : -1;
    return found >= 0 ? its.value[found] : otherX(early, own.time[i], before);
  });
}

/** What the run's other writers had last logged by a time. */
function otherX({ time, value }, at, before) {
  const found = upperBound(time, at) - 1;
  return found >= 0 ? value[found] : before;
}

/** The points of all writers by time, equal ones in the order of the writers. */
function merged(xPoints) {
  const all = [...xPoints.values()];
  const [time, value] = [joined(all.map((own) => own.time)), joined(all.map((own) => own.value))];
  const order = Uint32Array.from(time, (_, i) => i).sort((a, b) => time[a] - time[b] || a - b);
  return { time: Float64Array.from(order, (i) => time[i]), value: Float64Array.from(order, (i) => value[i]) };
}

/** Arrays one after another; a single one as it is. */
export function joined(arrays) {
  if (arrays.length === 1) return arrays[0];
  const whole = new Float64Array(arrays.reduce((sum, items) => sum + items.length, 0));
  let at = 0;
  for (const items of arrays) {
    whole.set(items, at);
    at += items.length;
  }
  return whole;
}

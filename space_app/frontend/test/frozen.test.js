import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketEdges, decimate, orderByX, window } from "../src/frozen/decimate.js";
import { draw, layOut } from "../src/frozen/lanes.js";
import { printed } from "../src/frozen/source.js";

/** Points of one writer: a step, a time in microseconds and a value for each call. */
const points = (rows, first = 1) => ({
  seq: Float64Array.from(rows, (_, i) => first + i),
  step: Float64Array.from(rows, ([step]) => step),
  time: Float64Array.from(rows, ([, time]) => time),
  value: Float64Array.from(rows, ([, , value]) => value),
});
const lists = (curves) => curves.map(({ x, y }) => [...x].map((item, i) => [item, y[i]]));
const ABOUT = { axis: "step", origin: 0, xPoints: new Map(), writers: { a: [1, 0], b: [2, 0] }, hasSteps: true };

test("edges stand on multiples of a width with few significant bits", () => {
  assert.deepEqual(bucketEdges(0, 99, 5), [28, 56, 84]);
  const edges = bucketEdges(3, 1003, 11);
  const width = edges[1] - edges[0];
  assert.ok(edges.every((edge) => edge % width === 0));
  assert.ok(edges.length < 11);
  assert.deepEqual(bucketEdges(1, 1, 10), []);
});

test("each bucket keeps its extremes, its first odd value, and the ends stay", () => {
  const y = Float64Array.from({ length: 100 }, (_, i) => (i === 57 ? 9 : i === 33 ? -9 : i === 71 ? NaN : 0));
  const kept = decimate(Float64Array.from(y, (_, i) => i), y, 4);
  for (const i of [0, 33, 57, 71, 99]) assert.ok(kept.includes(i), `${i} is missing`);
  assert.ok(kept.length <= 14);
});

test("a selection of the points gives what all of them give", () => {
  const x = Float64Array.from({ length: 1000 }, (_, i) => i);
  const y = x.map((i) => Math.sin(i * i));
  const union = [...new Set([...decimate(x, y, 20), ...decimate(x, y, 7)])].sort((a, b) => a - b);
  const again = decimate(x.filter((i) => union.includes(i)), y.filter((_, i) => union.includes(i)), 7, 1000);
  assert.deepEqual(again.map((i) => union[i]), decimate(x, y, 7));
});

test("a window takes both of its sides", () => {
  assert.deepEqual(window([0, 1, 1, 2, 5], 1, 2), [1, 4]);
  assert.deepEqual(window([0, 1], 7, null), [2, 2]);
  assert.deepEqual(window([0, 1], null, null), [0, 2]);
});

test("points without an x are left out, equal ones stay in their order", () => {
  assert.equal(orderByX([1, 1, 2]), null);
  assert.deepEqual([...orderByX([3, NaN, 1, 1, Infinity])], [2, 3, 0]);
});

test("a later attempt replaces from where it begins, and ranks are drawn apart", () => {
  const own = new Map([["a", points([[0, 0, 1], [1, 1, 2], [2, 2, 3]])], ["b", points([[1, 5, 9]])]]);
  assert.deepEqual(lists(draw(own, ABOUT)), [[[0, 1], [1, 9]]]);
  const ranks = { a: [1, 1], b: [1, 0] };
  assert.deepEqual(layOut(own, ranks, true).map((parts) => parts[0].writer), ["b", "a"]);
});

test("a metric as x takes the same call, else the last one before, else what others had logged", () => {
  const own = new Map([["a", points([[0, 10, 1], [1, 20, 2], [2, 30, 3]])]]);
  const its = points([[1, 20, 5]], 2);
  assert.deepEqual(lists(draw(own, { ...ABOUT, axis: "metric:epoch", xPoints: new Map([["a", its]]) })), [[[5, 2], [5, 3]]]);
  assert.deepEqual(lists(draw(own, { ...ABOUT, axis: "metric:epoch", xPoints: new Map([["b", its]]) })), [[[5, 2], [5, 3]]]);
  assert.deepEqual(lists(draw(own, { ...ABOUT, axis: "metric:epoch" })), [[]]);
});

test("numbers are printed as Python prints them", () => {
  const pairs = [[1, "1.0"], [0.1, "0.1"], [1e-5, "1e-05"], [0.0001, "0.0001"], [1e16, "1e+16"], [123456789012345680, "1.2345678901234568e+17"], [-0, "-0.0"], [0, "0.0"], [NaN, "nan"], [-Infinity, "-inf"], [5e-324, "5e-324"], [3n, "3"]];
  for (const [item, text] of pairs) assert.equal(printed(item), text);
});

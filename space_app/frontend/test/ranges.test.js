import assert from "node:assert/strict";
import test from "node:test";
import { timeLabels } from "../src/format.js";
import { clockTicks, extent, linearTicks, logTicks, nearest, padded, robust, symlogTicks, timeTicks } from "../src/ranges.js";

const series = (y) => ({ x: y.map((_, i) => i), y, length: y.length });
const ALL = { x0: -Infinity, x1: Infinity };

test("the range is of finite values in the window; a log axis has positive ones only", () => {
  assert.deepEqual(extent([series([1, NaN, -4, Infinity, 7])], ALL, false), [-4, 7]);
  assert.deepEqual(extent([series([1, NaN, -4, Infinity, 7])], { x0: 0, x1: 2 }, true), [1, 1]);
  assert.equal(extent([series([NaN, 0])], ALL, true), null);
});

test("one wild point is left out and counted", () => {
  assert.deepEqual(robust([series([1.0, 0.9, 1e20, 0.8, 0.7])], ALL, false), { range: [0.7, 1], outside: 1 });
  assert.deepEqual(robust([series([1, 2, 3, 4, 5])], ALL, false), { range: [1, 5], outside: 0 });
});

test("a single value gets room on both sides", () => {
  assert.deepEqual(padded([0, 0], "linear"), [-1, 1]);
  const [low, high] = padded([1e-4, 1e-4], "linear");
  assert.ok(low < 1e-4 && high > 1e-4 && high < 2e-4);
  const log = padded([10, 10], "log");
  assert.ok(log[0] < 10 && log[1] > 10);
});

test("the nearest stored point is found, first and last included", () => {
  const x = Array.from({ length: 300 }, (_, i) => 10_000_000 + 7 * i);
  assert.equal(nearest(x, 300, 0), 0);
  assert.equal(nearest(x, 300, 1e9), 299);
  assert.equal(x[nearest(x, 300, 10_001_403)], 10_001_400);
  assert.equal(nearest([], 0, 1), -1);
});

test("linear ticks are round values within the range", () => {
  assert.deepEqual(linearTicks(10_000_000, 10_002_093, 5), [10_000_000, 10_000_500, 10_001_000, 10_001_500, 10_002_000]);
  assert.deepEqual(linearTicks(2 ** 53, 2 ** 53 + 4, 8), [2 ** 53, 2 ** 53 + 2, 2 ** 53 + 4], "where neighbouring numbers lie further apart than ticks would");
  assert.deepEqual(linearTicks(-0.25, 0.31, 6), [-0.2, -0.1, 0, 0.1, 0.2, 0.3]);
});

test("log ticks are the values themselves, not their exponents", () => {
  assert.deepEqual(logTicks(0.5, 2000, 6), [1, 10, 100, 1000]);
  assert.deepEqual(logTicks(1e-9, 10, 6), [1e-8, 1e-6, 1e-4, 1e-2, 1]);
  assert.deepEqual(logTicks(0.9, 120, 12), [1, 2, 5, 10, 20, 50, 100]);
  const narrow = logTicks(3.1, 3.4, 5);
  assert.ok(narrow.length >= 2 && narrow.every((tick) => tick >= 3.1 && tick <= 3.4));
});

test("durations tick on a clock, symmetric log on both sides of zero", () => {
  assert.deepEqual(clockTicks(0, 300, 6), [0, 60, 120, 180, 240, 300]);
  assert.deepEqual(clockTicks(0, 7300, 5), [0, 1800, 3600, 5400, 7200]);
  assert.deepEqual(symlogTicks(-150, 2000, 20), [-100, -10, -1, 0, 1, 10, 100, 1000]);
});

test("moments tick on the reader's clock, with the day where one begins", () => {
  const noon = new Date(2026, 2, 1, 12).getTime() / 1000;
  const ticks = timeTicks(noon, noon + 86_400, 5);
  assert.deepEqual(timeLabels(ticks), ["12:00", "18:00", "03-02", "06:00", "12:00"]);
  assert.deepEqual(timeLabels(timeTicks(noon + 1, noon + 4, 4)), ["12:00:01", "12:00:02", "12:00:03", "12:00:04"]);
  assert.deepEqual(timeLabels(timeTicks(noon, noon + 0.4, 3)), ["00:00.0", "00:00.2", "00:00.4"]);
});

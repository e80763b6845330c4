import assert from "node:assert/strict";
import test from "node:test";
import { smooth } from "../src/smooth.js";

test("a constant stays that constant to the last bit", () => {
  for (const value of [1e-4, 0.1, 1 / 3, 1e300, -7.7]) {
    for (const weight of [0.01, 0.6, 0.99]) assert.ok(smooth(new Array(1000).fill(value), weight).every((item) => item === value));
  }
});

test("it is the debiased average: weights fall by the factor and sum to one", () => {
  const values = [3, -1, 4, 1, -5, 9];
  const w = 0.7;
  const expected = values.map((_, n) => {
    let [top, bottom] = [0, 0];
    for (let i = 0; i <= n; i++) {
      top += w ** (n - i) * values[i];
      bottom += w ** (n - i);
    }
    return top / bottom;
  });
  smooth(values, w).forEach((item, i) => assert.ok(Math.abs(item - expected[i]) < 1e-12));
});

test("NaN and infinities leave a gap, and neither spread nor reset", () => {
  const withGaps = smooth([1, NaN, 2, Infinity, 3], 0.5);
  const without = smooth([1, 2, 3], 0.5);
  assert.deepEqual([withGaps[0], withGaps[2], withGaps[4]], [...without]);
  assert.ok(Number.isNaN(withGaps[1]) && Number.isNaN(withGaps[3]));
});

test("weight 0 changes nothing, and no weight goes beyond 0.99", () => {
  assert.deepEqual([...smooth([1, 5, 2], 0)], [1, 5, 2]);
  assert.deepEqual([...smooth([1, 5, 2], 7)], [...smooth([1, 5, 2], 0.99)]);
});

test("a window goes on from what lies before it", () => {
  const values = [5, 4, 3, 2, 1, 0];
  const whole = smooth(values, 0.8);
  assert.deepEqual([...smooth(values.slice(3), 0.8, values.slice(0, 3))], [...whole.slice(3)]);
});

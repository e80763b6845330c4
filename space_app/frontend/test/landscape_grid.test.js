import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf, jsonOf } from "../src/landscape/numbers.js";
import { cellAt, cellText, edges, gridOf, KIND, lossAt, quantile } from "../src/landscape/grid.js";

const list = (array) => [...array];
const odd = () => gridOf({ x: [0, 1, 0, 1, 0, 1], y: [0, 0, 1, 1, 2, 2], loss: [1, null, NaN, Infinity, -Infinity, 0.1], is_measured: [1, 0, 1, 1, 1, 0] }, 3, 2);

test("a grid keeps what each cell is", () => {
  const grid = odd();
  assert.deepEqual(list(grid.kind), [KIND.value, KIND.unknown, KIND.nan, KIND.up, KIND.down, KIND.value]);
  assert.deepEqual([list(grid.x), list(grid.y)], [[0, 1], [0, 1, 2]]);
  assert.deepEqual(list(grid.z.map((value) => (Number.isNaN(value) ? -1 : value))), [1, -1, -1, -1, -1, 0.1]);
  assert.throws(() => gridOf({ x: [], y: [], loss: [1], is_measured: [1] }, 2, 2), /1 cells; 2 rows of 2/);
});

test("a cell says its loss with every digit and where it comes from", () => {
  const grid = odd();
  assert.deepEqual(cellText(grid, 0), { value: "1", origin: "measured", isValue: true });
  assert.deepEqual(cellText(grid, 5), { value: "0.1", origin: "interpolated", isValue: true });
  assert.deepEqual([1, 2, 3, 4].map((i) => cellText(grid, i).value), ["not evaluated", "not finite: nan", "not finite: inf", "not finite: -inf"]);
});

test("cells are bounded halfway between their coordinates, also where these are uneven", () => {
  assert.deepEqual(list(edges([0, 1, 3])), [-0.5, 0.5, 2, 4]);
  assert.deepEqual(list(edges([7])), [6.5, 7.5]);
  const borders = edges([0, 1, 3]);
  assert.deepEqual([-0.6, -0.5, 0.49, 0.5, 1.99, 2, 4, 4.1].map((value) => cellAt(borders, value)), [-1, 0, 0, 1, 1, 2, 2, -1]);
});

test("between cells the loss is bilinear, and unknown beside a cell without a number", () => {
  const grid = gridOf({ x: [0, 2, 0, 2], y: [0, 0, 1, 1], loss: [0, 2, 10, 12], is_measured: [1, 1, 1, 1] }, 2, 2);
  assert.equal(lossAt(grid, 0.5, 0.25), 3);
  assert.equal(lossAt(grid, 2, 1), 12);
  assert.ok(Number.isNaN(lossAt(grid, 3, 0)));
  assert.ok(Number.isNaN(lossAt(odd(), 0.5, 0.5)));
});

test("a quantile is of finite cells", () => {
  const many = gridOf({ x: Array.from({ length: 101 }, (_, i) => i), y: new Array(101).fill(0), loss: Array.from({ length: 101 }, (_, i) => 100 - i), is_measured: new Array(101).fill(1) }, 1, 101);
  assert.equal(quantile(many, 0.98), 98);
  assert.equal(quantile(odd(), 1), 1);
});

test("numbers leave as CSV with the words of other programs, and as JSON that every reader takes", () => {
  assert.equal(csvOf(odd()), "x,y,loss,is_measured\n0,0,1,True\n1,0,,False\n0,1,nan,True\n1,1,inf,True\n0,2,-inf,True\n1,2,0.1,False\n");
  const payload = { x_label: "δ", y_label: "η", meta: { mode: "serial" }, marks: [{ label: "θ", x: 0, y: 0 }], path: null };
  const found = JSON.parse(jsonOf(odd(), { run: "r1", name: "n", step: 3, payload }, "run"));
  assert.deepEqual(found.z, [[1, null], [null, null], [null, 0.1]]);
  assert.deepEqual(found.not_finite, [{ row: 1, col: 0, value: "nan" }, { row: 1, col: 1, value: "inf" }, { row: 2, col: 0, value: "-inf" }]);
  assert.deepEqual([found.x, found.y, found.step, found.meta, found.is_measured[0]], [[0, 1], [0, 1, 2], 3, { mode: "serial" }, [true, false]]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { contours, gapped, placeLabels } from "../src/landscape/contours.js";
import { gridOf } from "../src/landscape/grid.js";

/** A grid of a function over evenly spaced coordinates. */
function gridFrom(f, n = 41, m = n, [low, high] = [-1, 1]) {
  const at = (i, num) => low + ((high - low) * i) / (num - 1);
  const cells = Array.from({ length: n * m }, (_, i) => [at(i % m, m), at(Math.floor(i / m), n)]);
  return gridOf({ x: cells.map(([x]) => x), y: cells.map(([, y]) => y), loss: cells.map(([x, y]) => f(x, y)), is_measured: cells.map(() => true) }, n, m);
}
const corners = (a, b, d, e) => gridOf({ x: [0, 1, 0, 1], y: [0, 0, 1, 1], loss: [a, b, d, e], is_measured: [1, 1, 1, 1] }, 2, 2);
const ends = ({ points }) => [[points[0], points[1]], [points.at(-2), points.at(-1)]];

test("a contour of x² + y² is a closed circle of the right radius", () => {
  const lines = contours(gridFrom((x, y) => x * x + y * y, 81), [0.25]);
  assert.equal(lines.length, 1);
  assert.ok(lines[0].isClosed);
  const { points } = lines[0];
  for (let i = 0; i < points.length; i += 2) assert.ok(Math.abs(Math.hypot(points[i], points[i + 1]) - 0.5) < 4e-4);
  assert.deepEqual([...points.slice(0, 2)], [...points.slice(-2)]);
});

test("a plane has straight contours exactly where it has the level", () => {
  const [line] = contours(gridFrom((x) => 3 * x + 1, 7, 7), [1.75]);
  for (let i = 0; i < line.points.length; i += 2) assert.ok(Math.abs(line.points[i] - 0.25) < 1e-12);
  assert.deepEqual([Math.min(line.points[1], line.points.at(-1)), Math.max(line.points[1], line.points.at(-1))], [-1, 1]);
});

test("a line that meets the border ends there and is not closed along it", () => {
  const lines = contours(gridFrom((x, y) => x * x + y * y, 81), [1.5]);
  assert.equal(lines.length, 4);
  for (const line of lines) {
    assert.equal(line.isClosed, false);
    for (const [x, y] of ends(line)) assert.ok(Math.max(Math.abs(x), Math.abs(y)) === 1, "it ends on the border");
    const inner = line.points.slice(2, -2);
    for (let i = 0; i < inner.length; i += 2) assert.ok(Math.max(Math.abs(inner[i]), Math.abs(inner[i + 1])) < 1);
  }
});

test("corners that face each other are joined as the saddle between them says", () => {
  // Above at bottom left and top right. The bilinear saddle of [1, 0, 0, 1] lies at 0.5.
  const sides = (level) => contours(corners(1, 0, 0, 1), [level]).map((line) => ends(line).map(([x, y]) => (y === 0 ? "bottom" : y === 1 ? "top" : x === 0 ? "left" : "right")).sort().join());
  assert.deepEqual(sides(0.4).sort(), ["bottom,right", "left,top"]);
  assert.deepEqual(sides(0.6).sort(), ["bottom,left", "right,top"]);
  // [2, 0, 0, 1]: the mean of the corners is 0.75, the saddle 2/3.
  const at = (level) => contours(corners(2, 0, 0, 1), [level]).map((line) => ends(line).flat().filter((value) => value === 0).length).sort();
  assert.deepEqual(at(0.7), [0, 2], "between them, the saddle decides, not the mean");
});

test("no contour goes through a cell with a corner that is no number", () => {
  const grid = gridFrom((x, y) => (Math.abs(x) < 0.08 && y > 0 ? (y > 0.5 ? Infinity : NaN) : x * x + y * y), 41);
  for (const line of contours(grid, [0.25])) {
    assert.equal(line.isClosed, false);
    for (let i = 0; i < line.points.length; i += 2) assert.ok(!(Math.abs(line.points[i]) < 0.1 - 1e-9 && line.points[i + 1] > 0));
  }
});

test("all levels are traced, and a level at a corner's own value breaks no line", () => {
  const grid = gridFrom((x, y) => x * x + y * y, 21);
  const levels = [0.1, 0.5, 1];
  assert.deepEqual([...new Set(contours(grid, levels).map(({ level }) => level))], levels);
  const exact = contours(gridFrom((x, y) => Math.max(Math.abs(x), Math.abs(y)), 21), [0.5]);
  assert.equal(exact.length, 1);
  assert.ok(exact[0].isClosed);
});

test("coordinates need not be even", () => {
  const grid = gridOf({ x: [0, 1, 10, 0, 1, 10], y: [0, 0, 0, 5, 5, 5], loss: [0, 1, 10, 0, 1, 10], is_measured: [1, 1, 1, 1, 1, 1] }, 2, 3);
  const [line] = contours(grid, [4]);
  assert.deepEqual([...line.points].filter((_, i) => i % 2 === 0), [4, 4]);
});

test("a line has no contours, and neither has a level that no cell reaches", () => {
  assert.deepEqual(contours(gridOf({ x: [0, 1], y: [0, 0], loss: [0, 1], is_measured: [1, 1] }, 1, 2), [0.5]), []);
  assert.deepEqual(contours(gridFrom(() => 1, 5), [0.5, 2]), []);
});

test("a label stands on its line, upright, and away from the frame and from other labels", () => {
  const area = { left: 0, top: 0, width: 400, height: 400 };
  const ring = (r) => Float64Array.from({ length: 202 }, (_, i) => 200 + r * (i % 2 ? Math.sin : Math.cos)((Math.PI * 2 * (i >> 1)) / 100));
  const places = placeLabels([{ points: ring(150), width: 30 }, { points: ring(120), width: 30 }], area);
  for (const [i, r] of [150, 120].entries()) {
    assert.ok(Math.abs(Math.hypot(places[i].x - 200, places[i].y - 200) - r) < 2);
    assert.ok(Math.abs(places[i].angle) <= Math.PI / 2);
  }
  assert.ok(Math.hypot(places[0].x - places[1].x, places[0].y - places[1].y) >= 46);
  assert.deepEqual(placeLabels([{ points: ring(5), width: 30 }], area), [null], "a line shorter than its label has none");
});

test("a line has a gap around its label, with ends exactly at its edge", () => {
  assert.deepEqual(gapped([0, 0, 10, 0], { x: 5, y: 0 }, 2), [0, 0, 3, 0, NaN, NaN, 7, 0, 10, 0]);
  assert.deepEqual(gapped([4.5, 0, 5, 0, 10, 0], { x: 5, y: 0 }, 2).filter((value) => !Number.isNaN(value)), [7, 0, 10, 0]);
  assert.deepEqual(gapped([0, 0, 4, 0, 6, 0, 10, 0], { x: 5, y: 0 }, 2).filter((value) => !Number.isNaN(value)), [0, 0, 3, 0, 7, 0, 10, 0]);
  for (const far of [[0, 5, 4, 5, 10, 5], [10, 0, 20, 0, 30, 0], [-9, 0, -5, 0]]) assert.deepEqual(gapped(far, { x: 5, y: 0 }, 2), far);
  const ring = Float64Array.from({ length: 202 }, (_, i) => 50 * (i % 2 ? Math.sin : Math.cos)((Math.PI * 2 * (i >> 1)) / 100));
  const cut = gapped(ring, { x: 50, y: 0 }, 12);
  for (let i = 0; i < cut.length; i += 2) assert.ok(Number.isNaN(cut[i]) || Math.hypot(cut[i] - 50, cut[i + 1]) >= 12 - 1e-9);
});

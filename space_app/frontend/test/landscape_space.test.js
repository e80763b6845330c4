import assert from "node:assert/strict";
import { test } from "node:test";
import { lens, pack, panned, START, turned, unpack, VIEWPOINTS, zoomed } from "../src/landscape/camera.js";
import { table } from "../src/landscape/colourmaps.js";
import { gridOf } from "../src/landscape/grid.js";
import { axisTicks, isSameKind, placeMap, projection } from "../src/landscape/plane.js";
import { boxOf, fillCorners, fillPoints, heightAt, hit, isSeen } from "../src/landscape/relief.js";
import { makeScale } from "../src/landscape/scale.js";
import { SvgPen } from "../src/landscape/svg.js";

const AREA = { left: 0, top: 0, width: 800, height: 600 };
const near = (a, b, room = 1e-6) => assert.ok(Math.abs(a - b) <= room, `${a} is not ${b}`);
const margin = { left: 50, right: 70, top: 20, bottom: 40 };

function gridFrom(f, n = 21) {
  const at = (i) => -1 + (2 * i) / (n - 1);
  const cells = Array.from({ length: n * n }, (_, i) => [at(i % n), at(Math.floor(i / n))]);
  return gridOf({ x: cells.map(([x]) => x), y: cells.map(([, y]) => y), loss: cells.map(([x, y]) => f(x, y)), is_measured: cells.map(() => 1) }, n, n);
}

test("axes of one kind have one unit of length, whatever the shape of the page", () => {
  for (const [width, height] of [[900, 400], [300, 800], [500, 500]]) {
    const plot = placeMap({ width, height, xDomain: [-1, 1], yDomain: [-0.5, 0.5], isEqual: true, isFilling: false, margin });
    near((plot.px(1) - plot.px(0)) / (plot.py(0) - plot.py(1)), 1, 0.02);
    assert.ok(plot.area.left >= margin.left && plot.area.left + plot.area.width <= width - margin.right);
  }
  const filled = placeMap({ width: 900, height: 400, xDomain: [-1, 1], yDomain: [-1, 1], isEqual: true, isFilling: true, margin });
  assert.deepEqual([filled.area.width, filled.area.height], [780, 340]);
});

test("axes are of one kind where their labels say so", () => {
  assert.ok(isSameKind("δ (random, filter-normalized)", "η (random, filter-normalized)"));
  assert.ok(isSameKind("x", "y"));
  assert.ok(isSameKind("principal component 1 (61.2 % of the way)", "principal component 2 (20 % of the way)"));
  assert.ok(!isSameKind("from θ_a to θ_b", "η (random, filter-normalized)"));
});

test("pixels and coordinates lead to each other, and y rises upwards", () => {
  const plot = projection(AREA, [-2, 2], [0, 10]);
  for (const [x, y] of [[-2, 0], [1.3, 7]]) {
    near(plot.x(plot.px(x)), x);
    near(plot.y(plot.py(y)), y);
  }
  assert.ok(plot.py(10) < plot.py(0));
  assert.deepEqual(axisTicks([-1, 1], 300, 64).map(({ label }) => label), ["−1.0", "−0.5", "0.0", "0.5", "1.0"]);
  assert.ok(axisTicks([-0.7, 0.85], 150, 44).length >= 2, "one tick alone says nothing of the unit");
});

test("front, side and top look along the axes", () => {
  const from = (viewpoint) => lens({ ...START, ...viewpoint }, AREA);
  const front = from(VIEWPOINTS.front);
  assert.ok(front.project([1, 0, 0]).px > front.project([-1, 0, 0]).px);
  near(front.project([0, 0, 0]).px, front.project([0, 1, 0]).px);
  assert.ok(front.project([0, -1, 0]).depth < front.project([0, 1, 0]).depth);
  const side = from(VIEWPOINTS.side);
  assert.ok(side.project([0, 1, 0]).px > side.project([0, -1, 0]).px);
  const top = from(VIEWPOINTS.top);
  assert.ok(top.project([1, 0, 0]).px > top.project([0, 0, 0]).px, "x to the right");
  assert.ok(top.project([0, 1, 0]).py < top.project([0, 0, 0]).py, "y upwards, as on the map");
});

test("the ray behind a pixel goes through the point that is seen there", () => {
  const view = lens({ azimuth: 20, elevation: 35, zoom: 1.7, panX: 0.1, panY: -0.2 }, AREA);
  const point = [0.3, -0.5, 0.2];
  const { px, py } = view.project(point);
  const { from, way } = view.ray(px, py);
  const t = (point[0] - from[0]) / way[0];
  point.forEach((value, k) => near(from[k] + way[k] * t, value));
});

test("the camera stays within its limits, and fits into a link", () => {
  assert.equal(turned(START, 0, 500).elevation, 90);
  near(turned({ ...START, azimuth: 170 }, 20, 0).azimuth, -170);
  assert.equal(zoomed(START, 1e9).zoom, 12);
  assert.equal(panned(START, 99, 0).panX, 2);
  assert.deepEqual(unpack(pack({ azimuth: 12.5, elevation: -3, zoom: 2, panX: 0.25, panY: 0 })), { azimuth: 12.5, elevation: -3, zoom: 2, panX: 0.25, panY: 0 });
  assert.deepEqual(unpack(null), { ...START });
});

test("a ray meets a surface where it lies, and passes through holes", () => {
  const grid = gridFrom((x, y) => (x > 0.45 && y > 0.45 ? NaN : x * x + y * y));
  const box = boxOf(grid, makeScale({ kind: "linear", min: 0, max: 2 }), true);
  const down = (x, y) => hit(grid, box, { from: [x, y, 5], way: [0, 0, -1] });
  for (const [x, y] of [[0, 0], [0.33, -0.71], [-1, -1]]) near(down(x, y)[2], heightAt(grid, box, x, y), 1e-3);
  near(down(0, 0)[2], -0.62, 1e-3);
  assert.equal(down(0.8, 0.8), null);
  assert.equal(down(1.5, 0), null);
});

test("a point behind a ridge is not seen", () => {
  const grid = gridFrom((x) => (Math.abs(x) < 0.15 ? 1 : 0));
  const box = boxOf(grid, makeScale({ kind: "linear", min: 0, max: 1 }), true);
  const eye = [5, 0, 0.5];
  assert.equal(isSeen(grid, box, eye, [0.5, 0, -0.62]), true);
  assert.equal(isSeen(grid, box, eye, [-0.5, 0, -0.62]), false);
});

test("a surface has two triangles a cell, none at a cell without a number, and the colours of the scale", () => {
  const grid = gridFrom((x, y) => (x === -1 && y === -1 ? Infinity : x), 5);
  const buffers = { positions: new Float32Array(75), colours: new Uint8Array(75), faces: new Uint32Array(150), lines: new Uint32Array(100), dots: new Uint32Array(25) };
  assert.deepEqual(fillCorners(buffers, grid), { numFaces: 15 * 6, numLines: 2 * 38, numDots: 24 });
  assert.ok(!buffers.faces.subarray(0, 90).includes(0));
  const scale = makeScale({ kind: "linear", min: -1, max: 1 });
  const box = boxOf(grid, scale, true);
  fillPoints(buffers, grid, box, scale, table("viridis"));
  assert.deepEqual([...buffers.positions.slice(3 * 24)].map((value) => Math.round(100 * value)), [100, 100, 62]);
  const [r, g, b] = buffers.colours.slice(3 * 24);
  assert.ok(Math.abs(r / g - 253 / 231) < 0.03 && b < 60, "shading dims a colour and does not change its hue");
});

test("an uneven grid has its points where its coordinates are", () => {
  const grid = gridOf({ x: [0, 1, 4, 0, 1, 4], y: [0, 0, 0, 2, 2, 2], loss: [0, 0, 0, 0, 0, 1], is_measured: [1, 1, 1, 1, 1, 1] }, 2, 3);
  const box = boxOf(grid, makeScale({ kind: "linear", min: 0, max: 1 }), true);
  assert.deepEqual([0, 1, 4].map(box.toX), [-1, -0.5, 1]);
  assert.deepEqual([0, 2].map(box.toY), [-0.5, 0.5]);
});

test("texts in a drawing stay texts", () => {
  const pen = new SvgPen(100, 50, "sans", () => 10);
  pen.text('<script>alert("x")</script>&\u0001', 1, 2, { fill: "#000" });
  pen.line([0, 0, 5, NaN, 7, 7, 8, 8], { stroke: "red" });
  const text = pen.toString('a "title" <b>');
  assert.ok(!text.includes("<script") && !text.includes("<b>") && !text.includes("\u0001"));
  assert.ok(text.includes("M0 0M7 7L8 8"));
});

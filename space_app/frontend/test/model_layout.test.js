import assert from "node:assert/strict";
import { test } from "node:test";
import ELK from "elkjs";
import { begin, between, fit, flyTo, isWhole, nudge, pack, seenAt, unpack, zoomAt } from "../src/model/camera.js";
import { lift } from "../src/model/lift.js";
import { Opening } from "../src/model/opening.js";
import { pathOf, strokeOf } from "../src/model/scene.js";
import { Sizes } from "../src/model/sizes.js";
import { following } from "../src/model/walking.js";
import { drawn, graphOf, measure, residual } from "./model_documents.js";

const inside = (a, b) => a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width + 0.01 && a.y + a.height <= b.y + b.height + 0.01;
const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** A model with ways around, a skip, things that nothing joins, and modules in modules. */
const mixed = () => graphOf(
  [{ path: "" }, { path: "a" }, { path: "a.p" }, { path: "a.q" }, { path: "b" }, { path: "b.r" }, { path: "b.s" }, { path: "idle", calls: 0 }, { path: "c" }],
  [["x", "", "input"], ["mm", "a.p"], ["mm", "a.q"], ["mm", "b.r"], ["cat", "b", "cat"], ["mm", "b.s"], ["add", "", "add"], ["mm", "c"], ["y", "", "output"]],
  [[0, 1], [1, 2], [2, 3], [3, 4], [1, 4, "skip"], [4, 5], [5, 6], [0, 6, "residual"], [6, 7], [7, 8]],
);

test("nothing overlaps, what is in a module is drawn in it, and no line crosses a box", async () => {
  for (const graph of [mixed(), residual()]) {
    const opening = new Opening(graph);
    opening.openBelow(0);
    const { scene } = await drawn(graph, opening);
    const flat = scene.items.filter(({ what }) => what !== "frame");
    flat.forEach((a, i) => flat.slice(i + 1).forEach((b) => assert.ok(!overlap(a, b), `${a.id} lies on ${b.id}`)));
    for (const item of scene.items) if (item.container >= 0) assert.ok(inside(item, scene.byId.get(`m${item.container}`)), `${item.id} is out of its module`);
    for (const { points } of scene.lines) {
      for (let i = 0; i + 3 < points.length; i += 2) {
        const [ax, ay, bx, by] = points.slice(i, i + 4);
        assert.ok(Math.abs(ax - bx) < 0.6 || Math.abs(ay - by) < 0.6, "lines are upright or level");
        const line = { x: Math.min(ax, bx), y: Math.min(ay, by) + 1, width: Math.abs(ax - bx) + 0.01, height: Math.max(0.01, Math.abs(ay - by) - 2) };
        for (const box of flat) assert.ok(!overlap(line, { x: box.x + 1, y: box.y + 1, width: box.width - 2, height: box.height - 2 }), `a line crosses ${box.id}`);
      }
    }
  }
});

test("everything flows down", async () => {
  const graph = mixed();
  const opening = new Opening(graph);
  opening.openBelow(0);
  const { scene, links } = await drawn(graph, opening);
  for (const { from, to } of links) assert.ok(scene.byId.get(from).y + scene.byId.get(from).height <= scene.byId.get(to).y);
});

test("lines meet at the doors of a module, outside and inside", async () => {
  const graph = residual();
  const opening = new Opening(graph).restore(["layers.0"]);
  const { scene } = await drawn(graph, opening);
  const block = scene.byId.get("m3");
  const ends = scene.lines.filter(({ container }) => container === 2).map(({ points }) => points.slice(-2)).filter(([, y]) => Math.abs(y - block.y) < 1);
  const starts = scene.lines.filter(({ container }) => container === 3).map(({ points }) => points.slice(0, 2)).filter(([, y]) => y > block.y && y < block.y + 40);
  assert.ok(ends.length > 0 && starts.length > 0);
  for (const [x] of starts) assert.ok(ends.some(([other]) => Math.abs(other - x) < 1));
});

test("opening a module asks for its own layout and those around it; closing and opening again asks for nothing", async () => {
  const asked = [];
  const elk = new ELK();
  const graph = mixed();
  const opening = new Opening(graph);
  opening.reveal(0);
  const count = { layout: (question) => { asked.push(question.children.length); return elk.layout(question); } };
  const { layout } = await drawn(graph, opening, "main", count);
  const again = () => layout.all(lift(graph, opening).frames, new Sizes(graph, measure), (index) => graph.modules[index].depth);
  const first = asked.length;
  opening.reveal(graph.byPath.get("a"));
  await again();
  assert.ok(asked.length > first);
  const before = asked.length;
  opening.close(graph.byPath.get("a"));
  await again();
  opening.reveal(graph.byPath.get("a"));
  await again();
  assert.equal(asked.length, before);
});

test("a chain needs no layout, and is a straight column", async () => {
  const graph = graphOf([{ path: "" }, { path: "a" }, { path: "b" }], [["x", "", "input"], ["mm", "a"], ["mm", "b"], ["y", "", "output"]], [[0, 1], [1, 2], [2, 3]]);
  const opening = new Opening(graph);
  opening.reveal(0);
  const { scene } = await drawn(graph, opening, "main", { layout: () => assert.fail("asked") });
  const middles = scene.items.map(({ x, width }) => Math.round(x + width / 2));
  assert.equal(new Set(middles).size, 1);
});

test("without edges, modules stand in their order, and no edge is made up", async () => {
  const graph = graphOf([{ path: "" }, ...Array.from({ length: 11 }, (_, i) => ({ path: `l${i}` }))]);
  const opening = new Opening(graph);
  opening.reveal(0);
  const { scene, links } = await drawn(graph, opening);
  assert.deepEqual(links, []);
  const order = scene.items.filter(({ what }) => what === "box").sort((a, b) => a.y - b.y || a.x - b.x).map(({ id }) => id);
  assert.deepEqual(order, Array.from({ length: 11 }, (_, i) => `m${i + 1}`));
});

test("arrow keys follow edges, and go beside", async () => {
  const graph = residual();
  const { scene, links } = await drawn(graph, new Opening(graph).restore(["layers.0"]));
  assert.equal(following(scene, links, "m4", "ArrowDown"), "m5");
  assert.equal(following(scene, links, "m5", "ArrowUp"), "m4");
  assert.equal(following(scene, links, "m0", "ArrowDown"), "m1");
  assert.equal(following(scene, links, "m1", "ArrowRight"), "m2");
  assert.equal(following(scene, links, "gone", "ArrowDown"), scene.items[0].id);
});

test("a camera zooms at the pointer, fits, and flies", () => {
  const view = { width: 800, height: 600 };
  const camera = { x: 10, y: 20, k: 1 };
  const zoomed = zoomAt(camera, 400, 300, 2);
  assert.deepEqual(seenAt(zoomed, 410, 320), [400, 300]);
  assert.equal(zoomAt(camera, 0, 0, 1e9).k, 4);
  const whole = fit({ width: 4000, height: 300 }, view);
  assert.ok(isWhole(whole, { width: 4000, height: 300 }, view));
  assert.ok(!isWhole(camera, { width: 4000, height: 300 }, view));
  assert.ok(begin({ width: 300, height: 9000 }, view).k >= 0.6, "a tall picture begins where it can be read");
  const flown = flyTo(camera, { x: 1000, y: 1000, width: 100, height: 50 }, view);
  assert.deepEqual(seenAt(flown, 1050, 1025).map(Math.round), [400, 300]);
  assert.deepEqual(between(camera, flown, 0, view), camera);
  const near = nudge(camera, { x: 790, y: 100, width: 50, height: 50 }, view);
  assert.deepEqual([near.x, near.y], [64, 20]);
  assert.deepEqual(pack(camera, view), [410, 320, 1]);
  assert.deepEqual(unpack([410, 320, 2], { width: 400, height: 300 }), { x: 310, y: 245, k: 2 });
});

test("lines have round corners, and grow with what they carry", () => {
  assert.equal(pathOf([0, 0, 0, 20, 30, 20]), "M0 0L0 13Q0 20 7 20L30 20");
  assert.ok(strokeOf(0) < strokeOf(1e6) && strokeOf(1e6) < strokeOf(1e9));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { homesOf, strong } from "../src/model/homes.js";
import { lift, MOST_JOINTS } from "../src/model/lift.js";
import { Opening } from "../src/model/opening.js";
import { drawn, graphOf, residual } from "./model_documents.js";

const said = (graph, links) => links.map(({ from, to, kind }) => `${nameOf(graph, from)} > ${nameOf(graph, to)} ${kind}`);
const nameOf = (graph, id) => (id[0] === "m" ? graph.modules[Number.parseInt(id.slice(1), 10)].path + (id.includes("~") ? id.slice(id.indexOf("~")) : "") : id[0] === "o" ? graph.ops[Number(id.slice(1))].name : id);

test("edges lead to what is closed, and into what is open, at every zoom", () => {
  const graph = residual();
  const opening = new Opening(graph).begin();
  assert.deepEqual(said(graph, lift(graph, opening).links), ["x > inp tensor", "inp > layers.0 tensor", "layers.0 > out tensor", "out > y tensor"]);
  opening.reveal(graph.byPath.get("layers.0"));
  assert.deepEqual(said(graph, lift(graph, opening).links), [
    "x > inp tensor", "inp > layers.0.norm tensor", "layers.0.norm > layers.0.fc tensor", "layers.0.fc > add tensor", "inp > add residual", "add > out tensor", "out > y tensor",
  ]);
  opening.close(0);
  assert.deepEqual(said(graph, lift(graph, opening).links), ["x >  tensor", " > y tensor"]);
});

test("what feeds the next of a repeat is a badge of the repeat, open or closed, and no edge", () => {
  const graph = residual();
  const opening = new Opening(graph).begin();
  assert.deepEqual([...lift(graph, opening).loops], [["m3", 1]]);
  opening.reveal(3);
  const { loops, links } = lift(graph, opening);
  assert.deepEqual([...loops], [["m3", 1]]);
  assert.ok(links.every(({ kind }) => kind !== "loop"));
});

test("no edge is doubled or leads to itself, and the largest tensor of several decides its width", () => {
  const graph = graphOf([{ path: "" }, { path: "a" }, { path: "a.p" }, { path: "a.q" }, { path: "b" }],
    [["x", "", "input"], ["mm", "a.p"], ["mm", "a.q"], ["mm", "b"], ["y", "", "output"]],
    [[0, 1], [1, 2], [1, 3, "tensor", { bytes: 10 }], [2, 3, "skip", { bytes: 99 }], [3, 4]]);
  const opening = new Opening(graph);
  opening.reveal(0);
  const { links } = lift(graph, opening);
  assert.deepEqual(said(graph, links), ["x > a tensor", "a > b skip", "b > y tensor"]);
  assert.deepEqual([links[1].num, links[1].bytes], [2, 99]);
});

test("hidden operations let edges through, with what they said", () => {
  const graph = graphOf([{ path: "" }, { path: "a" }, { path: "b" }],
    [["x", "", "input"], ["mm", "a"], ["view", "", "other"], ["mul", "", "mul"], ["mm", "b"], ["y", "", "output"]],
    [[0, 1], [1, 2], [2, 3], [3, 4], [1, 3, "residual"], [4, 5]]);
  const opening = new Opening(graph);
  opening.reveal(0);
  assert.deepEqual(said(graph, lift(graph, opening, "main").links), ["x > a tensor", "a > mul tensor", "mul > b tensor", "b > y tensor"]);
  assert.deepEqual(said(graph, lift(graph, opening, "none").links), ["x > a tensor", "a > b tensor", "b > y tensor"]);
  assert.deepEqual(said(graph, lift(graph, opening, "all").links), ["x > a tensor", "a > view tensor", "view > mul tensor", "mul > b tensor", "a > mul residual", "b > y tensor"]);
});

test("more operations in one module than can be drawn are not drawn, and it is said which", () => {
  const num = MOST_JOINTS + 5;
  const graph = graphOf([{ path: "" }, { path: "a" }],
    [["x", "", "input"], ["mm", "a"], ...Array.from({ length: num }, () => ["add", "", "add"]), ["y", "", "output"]],
    [[0, 1], ...Array.from({ length: num + 1 }, (_, i) => [i + 1, i + 2])]);
  const opening = new Opening(graph);
  opening.reveal(0);
  const { links, crowded } = lift(graph, opening);
  assert.deepEqual(said(graph, links), ["x > a tensor", "a > y tensor"]);
  assert.deepEqual([...crowded], [0]);
});

test("a layer that is called twice is drawn twice, so that nothing leads back", () => {
  const graph = graphOf([{ path: "" }, { path: "a" }, { path: "relu", calls: 2 }, { path: "b" }],
    [["x", "", "input"], ["mm", "a"], ["relu", "relu", "act"], ["mm", "b"], ["relu", "relu", "act"], ["y", "", "output"]], [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]);
  const opening = new Opening(graph);
  opening.reveal(0);
  assert.deepEqual(said(graph, lift(graph, opening).links), ["x > a tensor", "a > relu tensor", "relu > b tensor", "b > relu~1 tensor", "relu~1 > y tensor"]);
});

/** `for block in blocks: x = x + block(x)` */
const loop = () => graphOf(
  [{ path: "" }, { path: "blocks", calls: 0 }, { path: "blocks.0" }, { path: "blocks.1" }, { path: "blocks.2" }],
  [["x", "", "input"], ["mm", "blocks.0"], ["add", "", "add"], ["mm", "blocks.1"], ["add", "", "add"], ["mm", "blocks.2"], ["add", "", "add"], ["y", "", "output"]],
  [[0, 1], [1, 2], [0, 2, "residual"], [2, 3], [3, 4], [2, 4, "residual"], [4, 5], [5, 6], [4, 6, "residual"], [6, 7]],
);

test("what runs between the modules of a list is drawn in the list, and nothing leads back into it", async () => {
  const graph = loop();
  assert.deepEqual(homesOf(graph), [0, 2, 1, 3, 1, 4, 1, 0]);
  const opening = new Opening(graph);
  opening.reveal(0);
  assert.deepEqual(said(graph, lift(graph, opening).links), ["x > blocks tensor", "blocks > y tensor"]);
  opening.reveal(1);
  const { links, scene } = await drawn(graph, opening);
  for (const { from, to } of links) assert.ok(scene.byId.get(from).y < scene.byId.get(to).y, `${from} > ${to} leads up`);
});

test("lists whose modules take turns are not drawn, and nothing leads back", async () => {
  const graph = graphOf(
    [{ path: "" }, { path: "ups", calls: 0 }, { path: "ups.0" }, { path: "ups.1" }, { path: "decs", calls: 0 }, { path: "decs.0" }, { path: "decs.1" }],
    [["x", "", "input"], ["up", "ups.0"], ["cat", "", "cat"], ["dec", "decs.0"], ["up", "ups.1"], ["cat", "", "cat"], ["dec", "decs.1"], ["y", "", "output"]],
    [[0, 1], [1, 2], [0, 2, "skip"], [2, 3], [3, 4], [4, 5], [0, 5, "skip"], [5, 6], [6, 7]],
  );
  assert.deepEqual([...graph.spread].map((i) => graph.modules[i].path), ["ups", "decs"]);
  const opening = new Opening(graph).begin();
  assert.deepEqual(opening.visible().map((i) => graph.modules[i].path), ["", "ups.0", "ups.1", "decs.0", "decs.1"]);
  assert.deepEqual(new Opening(graph).restore(opening.paths()).visible(), opening.visible());
  assert.equal(graph.nameOf(2), "ups.0");
  const { links, scene } = await drawn(graph, opening);
  assert.deepEqual(scene.items.filter(({ what }) => what === "frame").map(({ id }) => id), ["m0"]);
  for (const { from, to } of links) assert.ok(scene.byId.get(from).y < scene.byId.get(to).y, `${from} > ${to} leads up`);
});

test("circles are found, however long the chain", () => {
  assert.deepEqual(strong(new Map([[1, new Set([2])], [2, new Set([3, 4])], [3, new Set([1])], [4, new Set()]])).map((part) => part.sort()), [[1, 2, 3]]);
  const chain = new Map(Array.from({ length: 50_000 }, (_, i) => [i, new Set([i + 1])]));
  assert.deepEqual(strong(chain), []);
});

test("every link ends at something that is drawn, whatever is open", async () => {
  const graph = residual();
  for (const open of [[], [""], ["layers"], ["layers.0"]]) {
    const { links, scene } = await drawn(graph, new Opening(graph).restore(open));
    for (const { from, to } of links) assert.ok(scene.byId.has(from) && scene.byId.has(to) && from !== to);
  }
});

test("children that are not shown are one end for all their edges", () => {
  const many = 130;
  const graph = graphOf([{ path: "" }, ...Array.from({ length: many }, (_, i) => ({ path: `l${i}` }))],
    [["x", "", "input"], ...Array.from({ length: many }, (_, i) => ["mm", `l${i}`]), ["y", "", "output"]], Array.from({ length: many + 1 }, (_, i) => [i, i + 1]));
  const opening = new Opening(graph);
  opening.reveal(0);
  const { links } = lift(graph, opening);
  assert.equal(links.length, 122);
  assert.deepEqual(links.slice(-2).map(({ from, to }) => [from, to]), [["m120", "r0:1"], ["r0:1", "o131"]]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Graph } from "../src/model/document.js";
import { search } from "../src/model/search.js";
import { partsOf, squarify } from "../src/model/treemap.js";
import { graphOf, residual } from "./model_documents.js";

test("a document that cannot be read says why", () => {
  assert.throws(() => new Graph({}), /no model graph/);
  assert.throws(() => new Graph({ meta: { format_version: 3 } }), /a newer dashboard shows it/);
  assert.throws(() => new Graph({ meta: { format_version: 2 } }), /empty/);
  assert.throws(() => new Graph({ meta: { format_version: 2 }, modules: [{ parent: -1 }, { parent: 5 }] }), /no parent before it/);
  assert.throws(() => graphOf([{ path: "" }], [["x", "", "input"]], [[0, 9]]), /leads nowhere/);
});

test("a path of any of a repeat leads to the one that stands for it", () => {
  const graph = residual();
  assert.equal(graph.resolve("layers.7.fc"), graph.byPath.get("layers.0.fc"));
  assert.equal(graph.resolve("layers.12.fc"), -1);
  const group = graphOf([{ path: "" }, { path: "l", parent: 0 }, { path: "l.[0:2]", is_group: true, parent: 1, repeat: { count: 4, names: "0..7", period: 2 } }, { path: "l.0", parent: 2 }, { path: "l.1", parent: 2 }]);
  assert.deepEqual(["l.4", "l.5", "l.8"].map((path) => group.resolve(path)), [3, 4, -1]);
  assert.equal(residual().modules[5].times, 12);
});

test("the search ranks names before parts of paths, and finds one of a repeat", () => {
  const graph = residual();
  const names = (text) => search(graph, text).map(({ index }) => graph.modules[index].path);
  assert.deepEqual(names("fc"), ["layers.0.fc"]);
  assert.deepEqual(names("linear"), ["inp", "out", "layers.0.fc"]);
  assert.equal(names("layer")[0], "layers");
  assert.deepEqual(search(graph, "layers.7.norm")[0], { index: graph.byPath.get("layers.0.norm"), note: "stands for layers.7.norm" });
  assert.deepEqual(search(graph, "7.n"), [{ index: graph.byPath.get("layers.0.norm"), note: "stands for layers.7.norm" }]);
  assert.deepEqual(search(graph, "layers.12.norm"), []);
  assert.deepEqual(names("nothing"), []);
  assert.deepEqual(names("  "), []);
  assert.ok(search(graphOf([{ path: "" }, ...Array.from({ length: 30 }, (_, i) => ({ path: `l${i}` }))]), "l").length === 8);
});

test("areas of a map are shares, and fill it without a gap", () => {
  const boxes = squarify([6, 6, 4, 3, 2, 2, 1, 0], 600, 400);
  boxes.slice(0, 7).forEach(({ width, height }, i) => assert.ok(Math.abs(width * height - ([6, 6, 4, 3, 2, 2, 1][i] / 24) * 240_000) < 1e-6));
  assert.deepEqual([boxes[7].width, boxes[7].height], [0, 0]);
  assert.ok(boxes.every(({ x, y, width, height }) => x >= 0 && y >= 0 && x + width <= 600.001 && y + height <= 400.001));
  assert.ok(boxes.slice(0, 7).every(({ width, height }) => Math.max(width / height, height / width) < 3));
  assert.deepEqual(squarify([], 10, 10), []);
  assert.deepEqual(squarify([0], 10, 10), [{ x: 0, y: 0, width: 0, height: 0 }]);
});

test("a map counts all of a repeat, and takes apart what is nearly all", () => {
  const graph = residual();
  assert.deepEqual(partsOf(graph, 0).map(({ label, amount }) => [label, amount]), [["layers", 1200], ["inp", 100], ["out", 50]]);
  assert.deepEqual(partsOf(graph, 2).map(({ label, amount }) => [label, amount]), [["fc ×12", 960], ["norm ×12", 240]]);
  assert.deepEqual(partsOf(graph, 1).map(({ index, amount }) => [index, amount]), [[-1, 100]]);
});

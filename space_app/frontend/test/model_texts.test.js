import assert from "node:assert/strict";
import { test } from "node:test";
import { colouring, mix, shadeOf } from "../src/model/colouring.js";
import { Graph } from "../src/model/document.js";
import { flops, shapeText, short } from "../src/model/facts.js";
import { Opening } from "../src/model/opening.js";
import { changed, settingsOf } from "../src/model/settings.js";
import { svgOf } from "../src/model/svgtext.js";
import { dotOf, mermaidOf, tableOf } from "../src/model/texts.js";
import { drawn, graphOf, measure, residual } from "./model_documents.js";

test("numbers and shapes are said in few characters", () => {
  assert.deepEqual([6_738_415_616, 124_400_000, 12_300, 999_999, 640, 0].map(short), ["6.74 B", "124 M", "12.3 k", "1 M", "640", "0"]);
  assert.deepEqual([flops(8.48e11), flops(1.6e15), flops(12)], ["848 GFLOP", "1.6 PFLOP", "12 FLOP"]);
  assert.equal(shapeText({ shape: [2, 128, 4096], dims: ["B", "T", "hidden_size"] }), "B × T × 4096");
  assert.equal(shapeText({ shape: [] }), "number");
});

const NASTY = 'a"b\\<img src=x>&`\n]';

test("texts of other tools hold names as they are, and nothing of a name is read as more than a name", async () => {
  const graph = graphOf([{ path: "" }, { path: "a", name: NASTY }, { path: "b" }], [["x", "", "input"], ["mm", "a"], ["mm", "b"], ["y", "", "output"]], [[0, 1], [1, 2, "routing", { label: "top-2/8" }], [2, 3]]);
  const opening = new Opening(graph);
  opening.reveal(0);
  const { scene, links } = await drawn(graph, opening);
  const dot = dotOf(graph, scene, links);
  assert.match(dot, /subgraph "cluster_m0" \{/);
  assert.match(dot, /"m1" -> "m2" \[label="top-2\/8", style=dashed\];/);
  assert.ok(dot.includes('label="a\\"b\\\\<img src=x>&`\\n]\\nBlock"'));
  const mermaid = mermaidOf(graph, scene, links);
  assert.match(mermaid, /m1 -\.->\|"top-2\/8"\| m2/);
  assert.ok(!mermaid.includes("<img") && mermaid.includes("#60;img"));
  const look = { text: "#000000", muted: "#777777", card: "#ffffff", line: "#dddddd", accent: "#0000ff", bad: "#ff0000", good: "#00ff00", frame: "#fafafa", ramp: "#0000ff", isDark: false, measure };
  const picture = { graph, links, loops: new Map([["m1", 1]]), rests: new Map(), marks: new Map([[2, "added"]]), colouring: colouring(graph, "kind", opening.visible(), look) };
  const { text, width } = svgOf(scene, picture, look, { title: NASTY, family: "sans-serif" });
  assert.ok(!text.includes("<img") && width > scene.width);
  for (const written of [">x<", ">y<", ">top-2/8<", ">↻<", ">+<", ">routing<"]) assert.ok(text.includes(written), written);
});

test("the table has every module in a row, and what the model costs", () => {
  const { document } = residual();
  const table = tableOf(new Graph({ ...document, meta: { ...document.meta, totals: { unique: 1350, flops: 2e9 } } }));
  const lines = table.trimEnd().split("\n");
  assert.match(lines[0], /^module +class +times +output +parameters/);
  assert.equal(lines.filter((line) => line.includes("LayerNorm")).length, 1);
  assert.match(table, /0\.\.11 +Block +×12/);
  assert.match(table, /Parameters: 1,350\nFLOPs: 2 GFLOP\n$/);
});

test("colours of sizes grow with their logarithm, and words have colours of their own", () => {
  assert.equal(mix("#000000", "#ffffff", 0.5), "#808080");
  assert.equal(shadeOf(0, 100), 0);
  assert.ok(shadeOf(1, 1e9) > 0 && shadeOf(10, 1000) < shadeOf(100, 1000) && shadeOf(1000, 1000) === 1);
  const graph = residual();
  const look = { isDark: false, card: "#ffffff", ramp: "#0000ff" };
  const visible = [0, 1, 2, 6];
  const byKind = colouring(graph, "kind", visible, look);
  assert.deepEqual(byKind.legend.entries.map(({ word }) => word), ["linear", "head", "block", "container"]);
  const byParams = colouring(graph, "params", visible, look);
  assert.equal(byParams.legend.to, "1.2 k");
  assert.notEqual(byParams.of(graph.modules[1]).fill, byParams.of(graph.modules[2]).fill);
  assert.deepEqual(colouring(graph, "dtype", visible, look).legend.entries.map(({ word }) => word), ["none"]);
});

test("a link holds what differs from the usual, and what is no setting is the usual", () => {
  assert.deepEqual(changed({}, { name: "net", by: "flops", joints: "main", open: ["a"] }), { name: "net", by: "flops", open: ["a"] });
  assert.deepEqual(changed({ open: ["a"], at: "" }, { open: null }), { at: "" });
  const usual = settingsOf({ by: 7, open: "a", at: 3, compare: "yes", camera: [1, "a", 2] });
  assert.deepEqual([usual.by, usual.open, usual.at, usual.compare, usual.camera], ["kind", null, null, false, null]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { MOST_CHILDREN, MOST_VISIBLE, Opening } from "../src/model/opening.js";
import { graphOf, residual } from "./model_documents.js";

/** `many` containers of `each` children. */
function wide(many, each) {
  const modules = [{ path: "" }];
  for (let i = 0; i < many; i++) {
    modules.push({ path: `s${i}` });
    for (let j = 0; j < each; j++) modules.push({ path: `s${i}.l${j}` });
  }
  return graphOf(modules);
}

const paths = (graph, list) => list.map((i) => graph.modules[i].path);

test("at first the model is open, and what only lies around one thing; what repeats is closed", () => {
  const graph = residual();
  assert.deepEqual(paths(graph, new Opening(graph).begin().visible()), ["", "inp", "layers", "layers.0", "out"]);
});

test("a large model opens collapsed", () => {
  const graph = wide(40, 30);
  assert.equal(new Opening(graph).begin().numVisible, 41);
});

test("opening a module opens everything around it", () => {
  const graph = residual();
  const opening = new Opening(graph);
  opening.reveal(graph.byPath.get("layers.0"));
  assert.deepEqual(paths(graph, opening.visible()), ["", "inp", "layers", "layers.0", "layers.0.norm", "layers.0.fc", "out"]);
  assert.equal(opening.isVisible(graph.byPath.get("layers.0.fc")), true);
});

test("one by one, never more than 300 are to be seen: what was opened longest ago closes and is named", () => {
  const graph = wide(20, 50);
  const opening = new Opening(graph).begin();
  const closed = [];
  for (let i = 0; i < 20; i++) {
    closed.push(...opening.reveal(graph.byPath.get(`s${i}`)).closed);
    assert.ok(opening.numVisible <= MOST_VISIBLE, `${opening.numVisible} after s${i}`);
  }
  assert.deepEqual(paths(graph, closed), Array.from({ length: 15 }, (_, i) => `s${i}`));
  assert.equal(opening.isVisible(graph.byPath.get("s19.l0")), true);
});

test("all at once, what fits opens, and the rest is counted", () => {
  const graph = wide(20, 50);
  const opening = new Opening(graph).begin();
  const { opened, left } = opening.openBelow(0);
  assert.equal(opened.length, 5);
  assert.equal(left, 15);
  assert.equal(opening.numVisible, 1 + 20 + 250);
});

test("one level more opens what is to be seen, and no deeper", () => {
  const graph = graphOf([{ path: "" }, { path: "a" }, { path: "a.b" }, { path: "a.b.c" }, { path: "d" }, { path: "d.e" }]);
  const opening = new Opening(graph);
  opening.reveal(0);
  assert.deepEqual(paths(graph, opening.openLevel(0).opened), ["a", "d"]);
  assert.deepEqual(paths(graph, opening.openLevel(0).opened), ["a.b"]);
  assert.equal(opening.openLevel(0).opened.length, 0);
});

test("a module with more children than can be drawn shows a part of them, around the one that is asked for", () => {
  const graph = wide(1, 700);
  const opening = new Opening(graph);
  opening.reveal(1);
  assert.deepEqual(opening.shown(1), { list: graph.modules[1].children.slice(0, MOST_CHILDREN), before: 0, after: 580 });
  const last = graph.byPath.get("s0.l699");
  opening.reveal(last);
  assert.ok(opening.isVisible(last));
  assert.equal(opening.shown(1).after, 0);
  assert.ok(opening.numVisible <= MOST_VISIBLE);
  opening.turn(1, false);
  assert.ok(opening.shown(1).before < 580);
});

test("also where many large modules lie in each other, the wanted one is to be seen and the others step back", () => {
  const modules = [{ path: "" }];
  for (let at = "", depth = 0; depth < 5; depth++) {
    for (let i = 0; i < 100; i++) modules.push({ path: `${at}${at && "."}m${i}` });
    at = `${at}${at && "."}m50`;
  }
  const graph = graphOf(modules);
  const opening = new Opening(graph).begin();
  const wanted = graph.byPath.get("m50.m50.m50.m50.m99");
  opening.reveal(wanted, false);
  assert.ok(opening.isVisible(wanted));
  assert.ok(opening.numVisible <= MOST_VISIBLE, String(opening.numVisible));
});

test("a link opens what it names, passes over what is gone, and keeps the order of opening", () => {
  const graph = wide(20, 50);
  const opening = new Opening(graph).restore(["s3", "gone", "s1"]);
  assert.deepEqual(paths(graph, [...opening.open.keys()]), ["s3", "", "s1"]);
  assert.deepEqual(opening.paths(), ["s3", "s1"]);
  for (let i = 4; i < 8; i++) opening.reveal(graph.byPath.get(`s${i}`));
  assert.deepEqual(opening.paths(), ["s1", "s4", "s5", "s6", "s7"]);
});

test("closing a module keeps what is open in it for the next time; closing all does not", () => {
  const graph = residual();
  const opening = new Opening(graph).restore(["layers.0"]);
  opening.close(graph.byPath.get("layers"));
  assert.deepEqual(paths(graph, opening.visible()), ["", "inp", "layers", "out"]);
  opening.reveal(graph.byPath.get("layers"));
  assert.ok(opening.isVisible(graph.byPath.get("layers.0.fc")));
  opening.closeBelow(0);
  assert.deepEqual(paths(graph, [...opening.open.keys()]), [""]);
});

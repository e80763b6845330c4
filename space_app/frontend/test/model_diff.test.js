import assert from "node:assert/strict";
import { test } from "node:test";
import { diffOf, summaryOf } from "../src/model/diff.js";
import { Graph } from "../src/model/document.js";
import { graphOf, residual } from "./model_documents.js";

/** The graph of `residual` with changes by path. */
function varied(changes, drop = []) {
  const { document } = residual();
  const copy = structuredClone(document);
  for (const module of copy.modules) Object.assign(module, changes[module.path] ?? {});
  const kept = copy.modules.map((module, i) => [module, i]).filter(([module]) => !drop.includes(module.path));
  const place = new Map(kept.map(([, i], now) => [i, now]));
  copy.modules = kept.map(([module]) => ({ ...module, parent: module.parent < 0 ? -1 : place.get(module.parent) }));
  return new Graph({ ...copy, ops: {}, edges: {}, inputs: [], outputs: [] });
}

test("a graph does not differ from itself", () => {
  const diff = diffOf(residual(), residual());
  assert.deepEqual(diff.entries, []);
  assert.equal(summaryOf(diff), "no difference");
});

test("what changed is told field by field, and what is around it is marked", () => {
  const tensor = (size) => [{ name: "weight", shape: [size, 8], dtype: "float32", trainable: true }];
  const first = varied({ out: { tensors: tensor(4) } });
  const second = varied({ "": { fingerprint: "z" }, out: { fingerprint: "other", params: { unique: 99, own: 99 }, tensors: tensor(6), attrs: { out_features: "6" } }, "layers.0": { repeat: { count: 6, names: "0..5" } } });
  const diff = diffOf(first, second);
  assert.deepEqual(diff.entries.map(({ status, path }) => [status, path]), [["changed", "out"]]);
  assert.deepEqual(diff.entries[0].fields, [{ name: "parameters", before: "50", after: "99" }, { name: "weight", before: "4×8 float32", after: "6×8 float32" }, { name: "out_features", before: "", after: "6" }]);
  assert.equal(diff.after.get(0), "inside");
});

test("the number of repeats is a change", () => {
  const second = varied({ "": { fingerprint: "z" }, layers: { fingerprint: "z" }, "layers.0": { repeat: { count: 6, names: "0..5" } } });
  assert.deepEqual(diffOf(residual(), second).entries.map(({ path, fields }) => [path, fields]), [["layers.0", [{ name: "repeats", before: "12", after: "6" }]]]);
});

test("what is new or gone is told with all that is in it", () => {
  const second = varied({ "": { fingerprint: "z" } }, ["out"]);
  const diff = diffOf(residual(), second);
  assert.deepEqual(diff.entries.map(({ status, path }) => [status, path]), [["removed", "out"]]);
  assert.equal(diff.before.get(6), "removed");
  const back = diffOf(second, residual());
  assert.equal(summaryOf(back), "1 added");
  assert.equal(back.after.get(6), "added");
});

test("a renamed module is the same module, and a part of a split repeat is compared with the whole", () => {
  const renamed = new Graph({ ...residual().document, modules: residual().document.modules.map((module) => (module.path === "out" ? { ...module, path: "head", name: "head" } : module.path === "" ? { ...module, fingerprint: "z" } : module)) });
  assert.deepEqual(diffOf(residual(), renamed).entries, []);
  const block = (path, more) => ({ path, parent: 1, ...more });
  const list = (...blocks) => graphOf([{ path: "", fingerprint: `m${blocks.length}` }, { path: "l", fingerprint: `l${blocks.length}` }, ...blocks]);
  const whole = list(block("l.0", { fingerprint: "a", name: "0..7", repeat: { count: 8, names: "0..7" } }));
  const split = list(block("l.0", { fingerprint: "a", name: "0..3", repeat: { count: 4, names: "0..3" } }), block("l.4", { fingerprint: "b", cls: "Other" }), block("l.5", { fingerprint: "a", name: "5..7", repeat: { count: 3, names: "5..7" } }));
  assert.deepEqual(diffOf(whole, split).entries.map(({ status, path }) => [status, path]), [["changed", "l.0"], ["changed", "l.4"], ["changed", "l.5"]]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTags, retagged, sharedTags } from "../src/tags.js";

test("tags are split by commas, trimmed, and none is there twice", () => {
  assert.deepEqual(parseTags(" a, b c ,,a, "), ["a", "b c"]);
  assert.deepEqual(parseTags("  "), []);
});

test("shared tags are those that every run has", () => {
  assert.deepEqual(sharedTags([{ tags: ["x", "y", "z"] }, { tags: ["z", "x"] }]), ["x", "z"]);
  assert.deepEqual(sharedTags([{ tags: ["x"] }, {}]), []);
  assert.deepEqual(sharedTags([]), []);
});

test("one run gets exactly the tags that were typed, in their order", () => {
  assert.deepEqual(retagged([{ id: "1", tags: ["a", "b"] }], ["c", "a"]), [{ tags: ["c", "a"], runs: ["1"] }]);
  assert.deepEqual(retagged([{ id: "1", tags: ["a"] }], []), [{ tags: [], runs: ["1"] }]);
});

test("tags that only some of several runs have stay where they are", () => {
  const runs = [{ id: "1", tags: ["old", "mine"] }, { id: "2", tags: ["old"] }, { id: "3", tags: ["old"] }];
  assert.deepEqual(retagged(runs, ["new"]), [{ tags: ["new", "mine"], runs: ["1"] }, { tags: ["new"], runs: ["2", "3"] }]);
});

test("runs that stay as they are are not sent", () => {
  assert.deepEqual(retagged([{ id: "1", tags: ["a"] }, { id: "2", tags: ["a"] }], ["a"]), []);
  assert.deepEqual(retagged([{ id: "1", tags: ["a", "b"] }, { id: "2" }], ["b"]), [{ tags: ["b", "a"], runs: ["1"] }, { tags: ["b"], runs: ["2"] }]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { isCopying, mirrorText, percentDone } from "../src/copying.js";
import { bytes } from "../src/format.js";

const mirror = (patch) => ({ what: "the bucket me/rows", state: "following", num_files: 0, num_done: 0, num_bytes: 0, num_bytes_done: 0, message: "", ...patch });

test("a copy that is on its way says how far it is, and one that follows says nothing", () => {
  assert.equal(mirrorText(null), "");
  assert.equal(mirrorText(mirror()), "");
  assert.equal(mirrorText(mirror({ state: "starting" })), "Copying from the bucket me/rows …");
  const copying = mirror({ state: "copying", num_files: 10_000, num_done: 1234, num_bytes: 5_000_000, num_bytes_done: 620_000 });
  assert.equal(mirrorText(copying), "Copying from the bucket me/rows: 1,234 of 10,000 files (620 kB of 5.0 MB)");
  assert.equal(mirrorText({ ...copying, message: "The view lags." }), "Copying from the bucket me/rows: 1,234 of 10,000 files (620 kB of 5.0 MB). The view lags.");
});

test("what is wrong with a copy, and that it lags, is said", () => {
  assert.equal(mirrorText(mirror({ state: "waiting", message: "No answer." })), "No answer.");
  assert.equal(mirrorText(mirror({ state: "probing", message: "The view lags." })), "The view lags.");
});

test("only a copy that is on its way is asked for more often", () => {
  assert.deepEqual(["starting", "copying", "following", "waiting"].map((state) => isCopying(mirror({ state }))), [true, true, false, false]);
  assert.equal(isCopying(null), false);
});

test("how much of a copy is here is told by its bytes, by its files where they have none, and is unknown before it is listed", () => {
  assert.equal(percentDone(mirror({ num_files: 10, num_done: 9, num_bytes: 1000, num_bytes_done: 129 })), 12);
  assert.equal(percentDone(mirror({ num_files: 10, num_done: 9 })), 90);
  assert.equal(percentDone(mirror({})), null);
});

test("bytes are short and never of four digits", () => {
  assert.deepEqual([0, 999, 1000, 9960, 999_499, 999_500, 1_234_567, 5e12].map(bytes), ["0 B", "999 B", "1.0 kB", "10 kB", "999 kB", "1.0 MB", "1.2 MB", "5.0 TB"]);
});

import assert from "node:assert/strict";
import test from "node:test";
import { defaultAxis, matcher } from "../src/match.js";
import { between, place, sections } from "../src/sections.js";

test("keys are grouped up to their last slash; the ones without come first", () => {
  assert.deepEqual(sections(["train/loss", "lr", "a/b/c", "train/acc", "a/b/d"]), [
    { name: "", keys: ["lr"] }, { name: "train", keys: ["train/acc", "train/loss"] }, { name: "a/b", keys: ["a/b/c", "a/b/d"] },
  ]);
});

test("training, validation and tests come before the rest", () => {
  const names = sections(["grad/w", "test/a", "b/x", "val/a", "train/a", "plain"]).map((section) => section.name);
  assert.deepEqual(names, ["", "train", "val", "test", "b", "grad"]);
});

test("digits are ordered by size", () => {
  assert.deepEqual(sections(["l/10", "l/9", "l/1"])[0].keys, ["l/1", "l/9", "l/10"]);
});

test("one key per layer becomes one section, not thousands", () => {
  const keys = Array.from({ length: 5000 }, (_, i) => `grad/layer${i}/w`);
  const found = sections([...keys, "train/loss"]);
  assert.deepEqual(found.map((section) => [section.name, section.keys.length]), [["train", 1], ["grad", 5000]]);
  assert.equal(found[1].keys[10], "grad/layer10/w");
});

const SIZE = { cardWidth: 300, mostWidth: 700, cardHeight: 200, headHeight: 30, gap: 10 };

test("only what touches the screen is found among 5,000 cards", () => {
  const list = [{ id: "s", name: "s", keys: Array.from({ length: 5000 }, (_, i) => `s/${i}`) }];
  const layout = place(list, new Set(), 940, SIZE);
  assert.equal(layout.columns, 3);
  assert.equal(layout.height, 30 + Math.ceil(5000 / 3) * 210);
  const found = between(layout.items, 100_000, 100_800);
  assert.ok(found.length >= 9 && found.length <= 15);
  assert.ok(found.every((item) => item.top < 100_800 && item.top + item.height > 100_000));
});

test("cards never overlap, and a closed section keeps its head", () => {
  const list = [{ id: "a", name: "a", keys: ["a/1", "a/2", "a/3"] }, { id: "b", name: "b", keys: ["b/1"] }];
  const open = place(list, new Set(), 620, SIZE).items.filter((item) => item.type === "card");
  for (const one of open) for (const two of open) if (one !== two) assert.ok(one.left + one.width <= two.left || two.left + two.width <= one.left || one.top + one.height <= two.top || two.top + two.height <= one.top);
  assert.deepEqual(place(list, new Set(["a"]), 620, SIZE).items.map((item) => item.type), ["head", "head", "card"]);
  assert.equal(place(list, new Set(), 200, SIZE).columns, 1);
});

test("few cards grow to fill the row, up to a limit; four are two rows of two", () => {
  const of = (num, width) => place([{ id: "a", name: "a", keys: Array.from({ length: num }, (_, i) => `a/${i}`) }], new Set(), width, SIZE).items.slice(1).map(({ left, width: wide }) => [left, wide]);
  assert.deepEqual(of(1, 1100), [[0, 700]]);
  assert.deepEqual(of(2, 1110), [[0, 550], [560, 550]]);
  assert.deepEqual(of(3, 950), [[0, 310], [320, 310], [640, 310]]);
  assert.deepEqual(of(4, 950), [[0, 470], [480, 470], [0, 470], [480, 470]]);
});

test("what other metrics are drawn over comes last in its section", () => {
  assert.deepEqual(sections(["epoch", "loss", "x"], new Set(["epoch"]))[0].keys, ["loss", "x", "epoch"]);
});

test("a filter is a regular expression, and plain text where it cannot be one", () => {
  assert.ok(matcher("^train/.*loss$").test("train/x/Loss"));
  assert.ok(matcher("[train] Batch").test("[train] Batch Loss"));
  assert.ok(matcher("acc (%)").test("acc (%)"));
  assert.deepEqual([matcher("acc\\ \\(%\\)").test("acc (%)"), matcher("acc\\ x").error], [true, null]);
  const broken = matcher("a(b");
  assert.ok(broken.error && broken.test("xA(B") && !broken.test("ab"));
  assert.ok(matcher("").test("anything"));
});

test("a metric's own axis: the exact name wins, then the longest pattern", () => {
  const definitions = [{ name: "*", step_metric: "n" }, { name: "val/*", step_metric: "epoch" }, { name: "val/slow", step_metric: "hour" }, { name: "x", step_metric: null }];
  assert.equal(defaultAxis("val/acc", definitions), "metric:epoch");
  assert.equal(defaultAxis("val/slow", definitions), "metric:hour");
  assert.equal(defaultAxis("train/loss", definitions), "metric:n");
  assert.equal(defaultAxis("n", [{ name: "*", step_metric: "n" }]), "step");
  assert.equal(defaultAxis("my.loss", [{ name: "my.loss", step_metric: "epoch" }]), "metric:epoch");
});

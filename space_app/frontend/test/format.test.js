import assert from "node:assert/strict";
import test from "node:test";
import { columns, ordered } from "../src/columns.js";
import { ago, compare, csvCell, duration, number, tickLabels, value, xValue } from "../src/format.js";

test("integers are whole, other numbers have six digits at most", () => {
  assert.equal(number(1234567), "1,234,567");
  assert.equal(number(0.1 + 0.2), "0.3");
  assert.equal(number(1e-9), "1e-9");
  assert.equal(number(123456.789), "123457");
  assert.equal(number(NaN), "NaN");
  assert.equal(number(-Infinity), "-Infinity");
});

test("values of Python: None, True and integers of 64 bits", () => {
  assert.equal(value(null), "None");
  assert.equal(value(true), "True");
  assert.equal(value({ $int: "9223372036854775807" }), "9223372036854775807");
  assert.equal(value({ $float: "NaN" }), "NaN");
  assert.equal(value([1, "a"]), '[1,"a"]');
  assert.equal(value(undefined), "");
});

test("durations and ages read as people say them", () => {
  assert.deepEqual([0.42, 12.34, 245, 7380, 277_200].map(duration), ["420 ms", "12.3 s", "4m 05s", "2h 03m", "3d 05h"]);
  assert.equal(duration(null), "");
  assert.deepEqual([ago(100, 102), ago(100, 130), ago(100, 1000)], ["now", "30 s ago", "15 min ago"]);
  assert.equal(xValue("relative", 61), "1m 01s");
});

test("tick labels have the decimals that tell them apart", () => {
  assert.deepEqual(tickLabels([0, 0.05, 0.1], 0.05), ["0.00", "0.05", "0.10"]);
  assert.deepEqual(tickLabels([10_000_000, 10_000_500], 500), ["10,000,000", "10,000,500"]);
  assert.deepEqual(tickLabels([0, 1e-5, 2e-5], 1e-5), ["0", "1e-5", "2e-5"]);
  assert.deepEqual(tickLabels([1e20, 2e20], 1e20), ["1e20", "2e20"]);
});

test("cells are ordered by size, digits in text too; None after values", () => {
  assert.deepEqual([10, "run 10", null, 9, "run 9", NaN].sort(compare), [9, 10, NaN, "run 9", "run 10", null]);
});

const rows = [
  { id: "a", name: "a", config: { lr: 0.1, seed: { $int: "9223372036854775807" } }, last: { loss: 3 } },
  { id: "b", name: "b", config: { lr: null }, last: {} },
  { id: "c", name: "c", config: {}, last: { loss: 20 } },
];

test("None and a key that was never there are different cells", () => {
  const { all } = columns([{ key: "lr", varies: true }], [], []);
  const lr = all.find((column) => column.id === "config.lr");
  assert.deepEqual(rows.map((run) => lr.text(run)), ["0.1", "None", ""]);
  assert.deepEqual(rows.map((run) => lr.get(run)), [0.1, null, undefined]);
});

test("runs without a value come last, whichever way the table is sorted", () => {
  const { all } = columns([], ["loss"], []);
  assert.deepEqual(ordered(rows, all, "last.loss").map((run) => run.id), ["a", "c", "b"]);
  assert.deepEqual(ordered(rows, all, "-last.loss").map((run) => run.id), ["c", "a", "b"]);
  assert.equal(ordered(rows, all, ""), rows);
});

test("only config that differs is shown at first; what is chosen is shown instead", () => {
  const keys = [{ key: "lr", varies: true }, { key: "device", varies: false }];
  const usual = columns(keys, ["loss"], []).shown.map((column) => column.id);
  assert.ok(usual.includes("config.lr") && !usual.includes("config.device") && usual.includes("last.loss"));
  assert.deepEqual(columns(keys, ["loss"], ["config.device"]).shown.map((column) => column.id), ["name", "config.device"]);
});

test("a cell of a CSV file keeps commas, quotes and line ends", () => {
  assert.equal(csvCell('a,"b"\nc'), '"a,""b""\nc"');
  assert.equal(csvCell("plain"), "plain");
});

import assert from "node:assert/strict";
import test from "node:test";
import { columns, ordered, widths } from "../src/columns.js";
import { ago, compare, csvCell, distinct, duration, logged, middle, number, shortMoment, tickLabels, value, xValue } from "../src/format.js";

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
  assert.deepEqual([0.9996, 59.96, 3599.6, 86_399.7].map(duration), ["1 s", "1m 00s", "1h 00m", "1d 00h"]);
  assert.equal(duration(null), "");
  assert.deepEqual([ago(100, 102), ago(100, 130), ago(100, 1000)], ["now", "30 s ago", "15 min ago"]);
  assert.equal(xValue("relative", 61), "1m 01s");
});

test("tick labels have the decimals that tell them apart", () => {
  assert.deepEqual(tickLabels([0, 0.05, 0.1], 0.05), ["0.00", "0.05", "0.10"]);
  assert.deepEqual(tickLabels([10_000_000, 10_000_500], 500), ["10,000,000", "10,000,500"]);
  assert.deepEqual(tickLabels([0, 1e-5, 2e-5], 1e-5), ["0", "1e-5", "2e-5"]);
  assert.deepEqual(tickLabels([1e20, 2e20], 1e20), ["1e20", "2e20"]);
  assert.deepEqual(tickLabels([2 ** 53, 2 ** 53 + 2], 2), ["9,007,199,254,740,992", "9,007,199,254,740,994"]);
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
  const { all } = columns(rows, [{ key: "lr", varies: true, isNumber: true }], [], []);
  const lr = all.find((column) => column.id === "config.lr");
  assert.deepEqual(rows.map((run) => lr.text(run)), ["0.1", "None", ""]);
  assert.deepEqual(rows.map((run) => lr.get(run)), [0.1, null, undefined]);
});

test("runs without a value come last, whichever way the table is sorted", () => {
  const { all } = columns(rows, [], ["loss"], []);
  assert.deepEqual(ordered(rows, all, "last.loss").map((run) => run.id), ["a", "c", "b"]);
  assert.deepEqual(ordered(rows, all, "-last.loss").map((run) => run.id), ["c", "a", "b"]);
  assert.equal(ordered(rows, all, ""), rows);
});

test("settings that differ and last values stand right after name and state; what is chosen is shown instead", () => {
  const keys = [{ key: "lr", varies: true, isNumber: true }, { key: "device", varies: false, isNumber: false }];
  const ids = (runs, chosen) => columns(runs, keys, ["loss"], chosen).shown.map((column) => column.id);
  assert.deepEqual(ids(rows, []), ["name", "state", "config.lr", "last.loss", "created", "duration", "step", "rows"]);
  assert.deepEqual(ids([{ ...rows[0], group: "g", tags: [] }, rows[1]], []).slice(3, 5), ["last.loss", "group"]);
  assert.deepEqual(ids(rows, ["config.device"]), ["name", "config.device"]);
  assert.deepEqual(ids([rows[0]], []).slice(2, 4), ["config.lr", "config.device"], "a lone run shows all it was set to");
});

test("columns are as wide as what they say, within limits, and never get narrower", () => {
  const runs = [{ name: "a", state: "running", last: { loss: 0.5 } }, { name: "x".repeat(200), state: "running", last: { loss: 123456 } }];
  const { shown } = columns(runs, [], ["loss"], ["state", "last.loss"]);
  const measure = (text) => text.length * 7;
  const known = widths(shown, runs, measure, new Map(), 1000);
  assert.deepEqual([...known], [["name", 300], ["state", 87], ["last.loss", 70]]);
  widths(shown, [runs[0]], measure, known, 200);
  assert.deepEqual([known.get("name"), known.get("last.loss")], [200, 70]);
});

test("a moment is the time today, the day this year, and the date before", () => {
  const at = (...parts) => new Date(...parts).getTime() / 1000;
  const now = at(2026, 5, 10, 12, 0);
  const moments = [at(2026, 5, 10, 9, 5), at(2026, 1, 3, 9, 5), at(2025, 11, 31, 23, 0)];
  assert.deepEqual(moments.map((moment) => shortMoment(moment, now)), ["09:05", "Feb 3", "2025-12-31"]);
});

test("long names lose the beginning that all share, short ones stay whole", () => {
  assert.deepEqual(distinct(["adam", "sgd"]), ["adam", "sgd"]);
  assert.deepEqual(distinct(["model-size-large-lr-0.1-seed-1", "model-size-large-lr-0.1-seed-12"]), ["…seed-1", "…seed-12"]);
  assert.deepEqual(distinct(["one-name-that-is-very-long", "another-name-that-is-long"]), ["one-name-that-is-very-long", "another-name-that-is-long"]);
});

test("a long text keeps its beginning and its end", () => {
  assert.equal(middle("s3://bucket/somewhere/far/away/part-0001", 20), "s3://bucket/…rt-0001");
  assert.equal(middle("short", 20), "short");
});

test("what was logged has separators and every digit of 64 bits, a setting is as it was written", () => {
  assert.deepEqual([logged({ $int: "9007199254740993" }), logged(2 ** 60), logged(123456), logged(1.2e30)], ["9,007,199,254,740,993", "1,152,921,504,606,846,976", "123,456", "1.2e30"]);
  assert.equal(number(2 ** 60), "1.1529e18", "the digits of a double are not those of what was logged");
  assert.deepEqual([value(65536), value(0.1)], ["65536", "0.1"]);
});

test("a cell of a CSV file keeps commas, quotes and line ends", () => {
  assert.equal(csvCell('a,"b"\nc'), '"a,""b""\nc"');
  assert.equal(csvCell("plain"), "plain");
});

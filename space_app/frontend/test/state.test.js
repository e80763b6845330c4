import assert from "node:assert/strict";
import test from "node:test";
import { AUTO, DEFAULT_RUNS, formatSelection, parseSelection, selected, toggled } from "../src/selection.js";
import { formatState, parseState } from "../src/state.js";

const runs = (number) => Array.from({ length: number }, (_, i) => ({ id: `r${number - i}` }));

test("the usual view has an empty address", () => {
  assert.equal(formatState(parseState("")), "");
});

test("every field comes back from the address that it was written to", () => {
  const state = {
    ...parseState(""), project: "a/b ☂&=?#", tab: "runs", run: "x y", runs: { mode: "only", ids: new Set(["a", "b,c", "-d"]) }, filter: "^x", regex: "\\[train\\] a+b%20",
    smoothing: 0.35, x: "metric:epoch", logx: true, y: "log", outliers: "ignore", zero: true, link: false, group: "config.lr", theme: "dark", sidebar: "hidden", size: "l",
    sort: "-last.loss", pin: ["a?b#c&d", "acc (%)"], closed: [""], col: ["state", "config.lr"], zoom: { "*step": [10, 20] }, charts: { "l/x": { y: "log", min: -1 } },
  };
  assert.deepEqual(parseState(formatState(state)), state);
});

test("strange values fall back instead of breaking the page", () => {
  const state = parseState("smoothing=9&y=cubic&zoom=[1]&charts={&theme=pink&size=");
  assert.equal(state.smoothing, 0.99);
  assert.deepEqual([state.y, state.zoom, state.charts, state.theme, state.size], ["linear", {}, {}, "", "m"]);
});

test("parameters of others stay", () => {
  assert.equal(formatState({ ...parseState(""), tab: "runs" }, "?__sign=abc&tab=metrics"), "__sign=abc&tab=runs");
});

test("few runs are all drawn, of many the newest", () => {
  assert.equal(selected(AUTO, runs(5)).length, 5);
  assert.deepEqual(selected(AUTO, runs(100)), runs(100).slice(0, DEFAULT_RUNS).map((run) => run.id));
});

test("after one run is switched off, a new run is still drawn", () => {
  const selection = toggled(AUTO, runs(5), ["r3"], false);
  assert.deepEqual(selected(selection, runs(6)), ["r6", "r5", "r4", "r2", "r1"]);
});

test("after all are switched off, only what is picked is drawn", () => {
  const none = toggled(AUTO, runs(5), runs(5).map((run) => run.id), false);
  const one = toggled(none, runs(5), ["r2"], true);
  assert.deepEqual(selected(one, runs(6)), ["r2"]);
});

test("all of a thousand runs fit into a short link", () => {
  const all = toggled(AUTO, runs(1000), runs(1000).map((run) => run.id), true);
  assert.equal(formatSelection(all), "all");
  assert.equal(selected(parseSelection("all"), runs(1000)).length, 1000);
});

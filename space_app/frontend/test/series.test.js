import assert from "node:assert/strict";
import test from "node:test";
import { nextDelay, Poller, rhythm } from "../src/poller.js";
import { Layer } from "../src/series.js";
import { compareGroups, groupsOf, Store } from "../src/store.js";

const part = (run, mode, x, y, extra = {}) => ({ meta: { run, key: "k", mode, num_points: x.length, num_non_finite: 0, is_exact: true, ...extra }, x: Float64Array.from(x), y: Float64Array.from(y) });
const line = (layer, run, lane = 0) => {
  const found = layer.lines.get(`${run} ${lane}`);
  return [[...found.x.slice(0, found.length)], [...found.y.slice(0, found.length)]];
};

test("new points are put after the ones that are there", () => {
  const layer = new Layer();
  layer.ask("q");
  layer.apply("q", true, [part("a", "replace", [0, 1], [5, 6])], 3, 100);
  assert.equal(layer.ask("q"), 3);
  layer.apply("q", false, [part("a", "append", [2, 3], [7, NaN], { num_points: 4 })], 4, 100);
  assert.deepEqual(line(layer, "a"), [[0, 1, 2, 3], [5, 6, 7, NaN]]);
  assert.equal(layer.lines.get("a 0").numPoints, 4);
});

test("appending leaves the answer's own arrays alone, which lines may share", () => {
  const layer = new Layer();
  const x = Float64Array.from([0, 1]);
  layer.ask("q");
  layer.apply("q", true, [{ ...part("a", "replace", [], [1, 2]), x }, { ...part("b", "replace", [], [3, 4]), x }], 1, 100);
  layer.apply("q", false, [part("a", "append", [9], [9])], 2, 100);
  assert.deepEqual([...x], [0, 1]);
  assert.deepEqual(line(layer, "b"), [[0, 1], [3, 4]]);
});

test("a step that goes back is drawn where it belongs", () => {
  const layer = new Layer();
  layer.ask("q");
  layer.apply("q", true, [part("a", "replace", [0, 10], [1, 2])], 1, 100);
  layer.apply("q", false, [part("a", "append", [5, 10], [3, 4])], 2, 100);
  assert.deepEqual(line(layer, "a"), [[0, 5, 10, 10], [1, 3, 2, 4]]);
});

test("an answer to an old question is dropped; the old lines stay until the new answer", () => {
  const layer = new Layer();
  layer.ask("old");
  layer.apply("old", true, [part("a", "replace", [0], [1])], 1, 100);
  assert.equal(layer.ask("new"), 0);
  assert.equal(layer.apply("old", false, [part("a", "append", [1], [1])], 2, 100), false);
  assert.ok(layer.lines.has("a 0"));
  layer.apply("new", true, [part("b", "replace", [0], [1])], 2, 100);
  assert.deepEqual([...layer.lines.keys()], ["b 0"]);
});

test("a line that has grown far beyond the chart's need is asked for again", () => {
  const layer = new Layer();
  layer.ask("q");
  layer.apply("q", true, [part("a", "replace", [0], [1])], 1, 2);
  layer.apply("q", false, [part("a", "append", [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6])], 2, 2);
  assert.equal(layer.ask("q"), 0);
});

test("writers of one run have lines of their own", () => {
  const layer = new Layer();
  layer.ask("q");
  layer.apply("q", true, [part("a", "replace", [0], [1], { lane: 0, lanes: 2 }), part("a", "replace", [0], [2], { lane: 1, lanes: 2 })], 1, 100);
  assert.deepEqual(line(layer, "a", 1), [[0], [2]]);
});

test("a changed run keeps the last values that the answer leaves out", () => {
  const store = new Store("p");
  store.apply({ epoch: "e", cursor: 1, reset: true, runs: [{ id: "a", created_us: 1, last: { x: 1, y: 2 } }], removed: [], keys: ["x", "y"], definitions: [] });
  store.apply({ epoch: "e", cursor: 2, reset: false, runs: [{ id: "a", created_us: 1, last: { y: 3 } }], removed: [], keys: null, definitions: null });
  assert.deepEqual(store.runs.get("a").last, { x: 1, y: 3 });
  assert.deepEqual(store.keys, ["x", "y"]);
  store.apply({ epoch: "f", cursor: 1, reset: true, runs: [], removed: [], keys: [], definitions: [] });
  assert.equal(store.runs.size, 0);
});

test("config that differs, or that some runs lack, tells runs apart", () => {
  const store = new Store("p");
  const config = [{ lr: 1, seed: 1, same: 0 }, { lr: 2, same: 0 }];
  store.apply({ epoch: "e", cursor: 1, runs: config.map((item, i) => ({ id: String(i), created_us: i, config: item, last: {} })) });
  assert.deepEqual(store.configKeys(), [{ key: "lr", varies: true, isNumber: true }, { key: "same", varies: false, isNumber: true }, { key: "seed", varies: true, isNumber: true }]);
});

test("runs are grouped by group, by each of their tags, and by config with None apart from not set", () => {
  assert.deepEqual(groupsOf({ group: null }, "group"), ["no group"]);
  assert.deepEqual(groupsOf({ tags: ["a", "b"] }, "tag"), ["a", "b"]);
  assert.deepEqual(groupsOf({ config: { lr: null } }, "config.lr"), ["None"]);
  assert.deepEqual(groupsOf({ config: {} }, "config.lr"), ["not set"]);
});

test("groups of numbers are ordered by size, before groups of words", () => {
  assert.deepEqual(["not set", "0.001", "3e-5", "1,000", "0.0001", "None"].sort(compareGroups), ["3e-5", "0.0001", "0.001", "1,000", "None", "not set"]);
});

test("the poller waits longer after each failure and asks at once after it recovers", async () => {
  assert.deepEqual([0, 1, 2, 3, 20].map((failures) => nextDelay(1000, failures)), [1000, 1000, 2000, 4000, 30_000]);
  assert.equal(rhythm("localhost"), 1000);
  assert.equal(rhythm("me-board.hf.space"), 2000);
  const health = [];
  let isUp = false;
  let done;
  const recovered = new Promise((resolve) => (done = resolve));
  const poller = new Poller({
    rhythmMs: 1,
    ask: async () => {
      if (!isUp) throw new Error("down");
    },
    onHealth: (failures) => {
      health.push(failures);
      if (failures === 3) isUp = true;
      if (failures === 0) {
        poller.pause(true);
        done();
      }
    },
  });
  poller.poke();
  await recovered;
  assert.deepEqual(health, [1, 2, 3, 0]);
});

test("one question at a time, and a poke during it is answered right after", async () => {
  let running = 0;
  let rounds = 0;
  let done;
  const finished = new Promise((resolve) => (done = resolve));
  const poller = new Poller({
    rhythmMs: 60_000,
    onHealth: () => {},
    ask: async () => {
      running++;
      assert.equal(running, 1);
      await Promise.resolve();
      if (++rounds === 1) poller.poke();
      running--;
      if (rounds === 2) {
        poller.pause(true);
        done();
      }
    },
  });
  poller.poke();
  poller.poke();
  await finished;
  assert.equal(rounds, 2);
});

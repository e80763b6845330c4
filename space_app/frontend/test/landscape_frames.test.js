import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameCache } from "../src/landscape/cache.js";
import { Clock, following, indexOf, neighbours, seriesOf, stepOf } from "../src/landscape/frames.js";
import { changed, settingsOf } from "../src/landscape/settings.js";

const row = (run, key, step, more = {}) => ({ run, key, step, media: `media/${step}/${key}${more.time_us ?? 0}.parquet`, payload: {}, attempt: 1, time_us: 0, ...more });
const frames = (...steps) => steps.map((step) => ({ id: String(step), step }));

test("frames are grouped by run and name, in the order of the runs, and by step", () => {
  const found = seriesOf([row("a", "z", 5), row("b", "y", 1), row("a", "z", -2), row("a", "n10", 0), row("a", "n9", 0)], ["b", "a"]);
  assert.deepEqual(found.map(({ run, name, frames: list }) => [run, name, list.map(({ step }) => step)]), [["b", "y", [1]], ["a", "n9", [0]], ["a", "n10", [0]], ["a", "z", [-2, 5]]]);
});

test("of a step that was logged again, the newest attempt is shown", () => {
  const [series] = seriesOf([row("a", "z", 1, { attempt: 2, time_us: 50 }), row("a", "z", 1, { attempt: 1, time_us: 90 })], ["a"]);
  assert.equal(series.frames.length, 1);
  assert.match(series.frames[0].media, /z50/);
});

test("a step of a link finds itself, else the one before it; no step is the newest", () => {
  const list = frames(0, 10, 20);
  assert.deepEqual([null, 0, 10, 15, 99, -5].map((step) => indexOf(list, step)), [2, 0, 1, 1, 2, 0]);
  assert.equal(indexOf([], 3), -1);
});

test("who looks at the end follows new frames, who looks elsewhere stays", () => {
  const [before, after] = [frames(0, 10), frames(0, 10, 20)];
  assert.equal(indexOf(after, stepOf(before, 1)), 2);
  assert.equal(indexOf(after, stepOf(before, 0)), 0);
});

test("a replay goes on to the end, and round where it loops", () => {
  assert.deepEqual([0, 1, 2].map((i) => following(i, 3, false)), [1, 2, -1]);
  assert.equal(following(2, 3, true), 0);
  assert.equal(following(0, 1, true), -1);
});

test("what comes next is read before", () => {
  assert.deepEqual(neighbours(8, 10, true, true), [9, 0, 1, 2]);
  assert.deepEqual(neighbours(8, 10, true, false), [9]);
  assert.deepEqual(neighbours(5, 10, false, true), [6, 4]);
  assert.deepEqual(neighbours(0, 1, true, true), []);
});

test("a clock shows frames at its pace, and after a late one it does not hurry", () => {
  const clock = new Clock(10, 0);
  assert.equal(clock.isDue(50), false);
  assert.equal(clock.isDue(100), true);
  clock.shown(100);
  assert.equal(clock.isDue(200), true);
  clock.shown(900);
  assert.equal(clock.isDue(940), false);
  assert.equal(clock.isDue(950), true);
  clock.pace(100, 950);
  assert.equal(clock.isDue(960), true);
});

/** A cache whose frames come when the test says so. */
function manual(mostBytes) {
  const asked = [];
  const cache = new FrameCache({ mostBytes, now: () => manual.now, later: (act) => { manual.later = act; }, onChange: () => {}, load: (frame) => new Promise((resolve, reject) => asked.push({ id: frame.id, resolve: () => resolve({ rows: 10, cols: 10 }), reject })) });
  return { cache, asked };
}
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

test("one frame is read at a time, and what was not begun gives way to newer wishes", async () => {
  manual.now = 0;
  const { cache, asked } = manual();
  const [a, b, c] = frames(1, 2, 3);
  cache.want([a, b]);
  cache.want([c, a]);
  assert.deepEqual(asked.map(({ id }) => id), ["1"]);
  asked[0].resolve();
  await settle();
  assert.deepEqual(asked.map(({ id }) => id), ["1", "3"]);
  asked[1].resolve();
  await settle();
  assert.deepEqual(asked.length, 2, "nobody wants the other one any more");
  assert.ok(cache.has(a) && cache.has(c));
});

test("frames that nobody looked at for longest are forgotten first", async () => {
  const { cache, asked } = manual(3000);
  for (const frame of frames(1, 2, 3)) {
    cache.want([frame]);
    if (frame.id === "3") cache.get({ id: "1" });
    asked.at(-1).resolve();
    await settle();
  }
  assert.deepEqual([1, 2, 3].map((id) => cache.has({ id: String(id) })), [true, false, true]);
});

test("a frame that cannot be read says why, does not hold up others, and is tried again later", async () => {
  manual.now = 0;
  const { cache, asked } = manual();
  const [a, b] = frames(1, 2);
  cache.want([a, b]);
  asked[0].reject(new Error("gone"));
  await settle();
  assert.equal(cache.problem(a), "gone");
  asked[1].resolve();
  await settle();
  assert.equal(asked.length, 2);
  manual.now = 5000;
  manual.later();
  asked[2].resolve();
  await settle();
  assert.deepEqual([cache.has(a), cache.problem(a)], [true, ""]);
});

test("a link holds only what is not usual, and nothing of it is trusted", () => {
  assert.deepEqual(changed({}, { view: "3d", scale: "auto", step: null }), { view: "3d" });
  assert.deepEqual(changed({ view: "3d" }, { view: "both" }), {});
  const odd = settingsOf({ view: "cubist", map: 3, speed: 999, step: "x", camera: [1, "2"], run: {}, dots: "yes", from: Infinity });
  assert.deepEqual([odd.view, odd.map, odd.speed, odd.step, odd.camera, odd.run, odd.dots, odd.from], ["both", "viridis", 5, null, null, "", false, null]);
});

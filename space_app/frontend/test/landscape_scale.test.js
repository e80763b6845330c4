import assert from "node:assert/strict";
import { test } from "node:test";
import { colourAt, labOf, luminance, MAPS, readable, table } from "../src/landscape/colourmaps.js";
import { makeScale, scaleLabels, union } from "../src/landscape/scale.js";

const near = (a, b, room = 1e-9) => assert.ok(Math.abs(a - b) <= room * Math.max(1, room < 1 ? Math.abs(b) : 1), `${a} is not ${b}`);

test("a linear and a log scale go from losses to shares and back", () => {
  for (const kind of ["linear", "log"]) {
    const scale = makeScale({ kind, min: 0.01, max: 100 });
    assert.deepEqual([scale.share(0.01), scale.share(100)], [0, 1]);
    for (const loss of [0.02, 1, 37]) near(scale.value(scale.share(loss)), loss);
  }
  near(makeScale({ kind: "log", min: 0.01, max: 100 }).share(1), 0.5);
  near(makeScale({ kind: "linear", min: 0, max: 4 }).share(1), 0.25);
});

test("losses of 0 and below are shifted for a log scale, and the title says so", () => {
  const scale = makeScale({ kind: "log", min: -1, max: 1, minPositive: 0.2 });
  near(scale.shift, 1.02);
  assert.equal(scale.title, "loss (shifted log)");
  assert.match(scale.note, /log\(loss \+ 1\.02\)/);
  assert.deepEqual([scale.share(-1), scale.share(1)], [0, 1]);
  const zero = makeScale({ kind: "log", min: 0, max: 10, minPositive: 1e-3 });
  near(zero.shift, 1e-3);
  assert.equal(makeScale({ kind: "log", min: 1e-9, max: 1 }).shift, 0);
  assert.equal(makeScale({ kind: "log", min: 1e-9, max: 1 }).note, "");
});

test("an automatic scale is logarithmic where losses span more than a factor of 30", () => {
  assert.equal(makeScale({ kind: "auto", min: 1, max: 29 }).isLog, false);
  assert.equal(makeScale({ kind: "auto", min: 1, max: 30 }).isLog, true);
  assert.equal(makeScale({ kind: "auto", min: -1, max: 1000 }).isLog, false);
});

test("a scale with chosen ends says that losses lie beyond them", () => {
  const scale = makeScale({ kind: "linear", min: 0, max: 10, from: 1, to: 5 });
  assert.deepEqual([scale.low, scale.high, scale.isCutLow, scale.isCutHigh], [1, 5, true, true]);
  assert.deepEqual([makeScale({ kind: "linear", min: 0, max: 10 }).isCutLow, makeScale({ kind: "linear", min: 0, max: 10 }).isCutHigh], [false, false]);
});

test("one loss alone, none at all, and ends in the wrong order still make a scale", () => {
  for (const about of [{ min: 2, max: 2 }, { min: null, max: null }, { min: 0, max: 0 }, { min: 0, max: 1, from: 3, to: -3 }]) {
    for (const kind of ["linear", "log", "auto"]) {
      const scale = makeScale({ kind, ...about });
      assert.ok(scale.low < scale.high);
      assert.ok(scale.ticks(6).every(Number.isFinite));
    }
  }
});

test("ticks and levels are round, rise, and lie within the scale", () => {
  for (const about of [{ kind: "linear", min: 0.13, max: 8.7 }, { kind: "log", min: 0.013, max: 870 }, { kind: "log", min: 0.2, max: 0.9 }, { kind: "log", min: -3, max: 40 }]) {
    const scale = makeScale(about);
    for (const values of [scale.ticks(7), scale.levels(10)]) {
      assert.ok(values.length >= 3 && values.length <= 22, `${values}`);
      values.forEach((value, i) => {
        assert.ok(value >= scale.low && value <= scale.high);
        if (i) assert.ok(value > values[i - 1]);
        assert.ok(Math.abs(value - Number(value.toPrecision(4))) < 1e-9 * Math.abs(value) || Math.abs(value) < 1e-9);
      });
    }
    assert.equal(new Set(scaleLabels(scale, scale.levels(10))).size, scale.levels(10).length, "labels tell levels apart");
  }
  assert.deepEqual(makeScale({ kind: "linear", min: 0, max: 10 }).levels(5), [2, 4, 6, 8]);
});

test("the range of many frames is found from what the list says of them", () => {
  assert.deepEqual(union([{ min: 1, max: 3, min_positive: 1 }, { min: null, max: null, min_positive: null }, { min: -2, max: 2, min_positive: 0.5 }]), { min: -2, max: 3, minPositive: 0.5 });
  assert.deepEqual(union([]), { min: null, max: null, minPositive: null });
});

test("sequential maps get lighter all the way, and a diverging one is lightest in its middle", () => {
  for (const name of MAPS) {
    const colours = table(name);
    assert.equal(colours.length, 768);
    const light = Array.from({ length: 256 }, (_, i) => labOf(colours.slice(3 * i, 3 * i + 3))[0]);
    const rises = name === "coolwarm" ? light.slice(0, 128) : light;
    rises.forEach((value, i) => i && assert.ok(value >= rises[i - 1] - 0.5, `${name} at ${i}`));
    if (name === "coolwarm") light.slice(128).forEach((value, i, rest) => i && assert.ok(value <= rest[i - 1] + 0.5));
  }
});

test("maps have their published colours", () => {
  assert.deepEqual([0, 1].map((share) => colourAt(table("viridis"), share)), [[68, 1, 84], [253, 231, 37]]);
  colourAt(table("viridis"), 0.5).forEach((value, k) => near(value, [33, 145, 140][k], 1));
  assert.deepEqual(colourAt(table("magma"), 1), [252, 253, 191]);
  assert.deepEqual([0, 0.5, 1].map((share) => colourAt(table("coolwarm"), share)), [[59, 76, 192], [221, 220, 220], [180, 4, 38]]);
  assert.deepEqual(table("no such map"), table("viridis"));
  assert.deepEqual(colourAt(table("viridis"), 7), [253, 231, 37]);
});

test("a colour that cannot be seen on the page is moved towards the text", () => {
  assert.deepEqual(readable([20, 30, 200], [255, 255, 255], [0, 0, 0]), [20, 30, 200]);
  const seen = readable([253, 231, 37], [255, 255, 255], [29, 36, 48]);
  assert.ok((1 + 0.05) / (luminance(seen) + 0.05) >= 2.2);
});

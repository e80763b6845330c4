import assert from "node:assert/strict";
import test from "node:test";
import { assignSlots, DARK_PALETTE, DASHES, PALETTE, styleOf } from "../src/colours.js";

const run = (i, id = `run${i}`) => ({ id, created_us: i });

const linear = (hex) => [1, 3, 5].map((i) => {
  const c = parseInt(hex.slice(i, i + 2), 16) / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
});

/** OKLab, in which equal distances look about equally different. */
function lab([r, g, b]) {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s, 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s];
}

/** How a colour looks without one kind of cone (Machado, Oliveira and Fernandes 2009, full severity). */
const BLIND = {
  none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
};
const seen = (hex, kind) => lab(BLIND[kind].map((row) => Math.min(1, Math.max(0, row.reduce((sum, factor, i) => sum + factor * linear(hex)[i], 0)))));
const distance = (a, b) => Math.hypot(...a.map((item, i) => item - b[i]));

for (const [page, palette, back] of [["light", PALETTE, "#ffffff"], ["dark", DARK_PALETTE, "#191d25"]]) {
  for (const [kind, least] of [["none", 0.17], ["protan", 0.095], ["deutan", 0.095]]) {
    test(`the ten colours are told apart on a ${page} page (${kind} colour blindness)`, () => {
      for (let i = 0; i < palette.length; i++) {
        for (let j = 0; j < i; j++) {
          const gap = distance(seen(palette[i], kind), seen(palette[j], kind));
          assert.ok(gap >= least, `${palette[i]} and ${palette[j]} are ${gap.toFixed(3)} apart`);
        }
      }
    });
  }

  test(`every colour stands out on a ${page} card`, () => {
    for (const colour of palette) assert.ok(Math.abs(seen(colour, "none")[0] - seen(back, "none")[0]) > 0.2, `${colour} on ${back}`);
  });
}

test("ten runs have ten colours, forty have forty looks", () => {
  const slots = assignSlots(Array.from({ length: 40 }, (_, i) => run(i)), new Map());
  const looks = [...slots.values()].map(styleOf);
  assert.equal(new Set(looks.slice(0, 10).map((look) => look.colour)).size, 10);
  assert.equal(new Set(looks.map((look) => `${look.colour} ${look.dash}`)).size, 40);
  assert.deepEqual(looks[0].dash, []);
  assert.equal(DASHES.length, 4);
});

test("a new run changes no colour, in whatever order runs are listed", () => {
  const runs = Array.from({ length: 25 }, (_, i) => run(i));
  const before = assignSlots(runs, new Map());
  const after = assignSlots([...runs, run(25), run(26)].reverse(), new Map());
  for (const { id } of runs) assert.equal(after.get(id), before.get(id));
});

test("known colours stay when older runs are gone", () => {
  const runs = Array.from({ length: 12 }, (_, i) => run(i));
  const known = assignSlots(runs, new Map());
  const kept = new Map(known);
  assignSlots(runs.slice(5), known);
  assert.deepEqual(known, kept);
});

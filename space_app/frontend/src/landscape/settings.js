// What a link says of the Landscape tab, as a value with every field in its range. Pure.

import { MAPS } from "./colourmaps.js";

export const VIEWS = ["both", "heat", "contours", "3d"];
export const SPEEDS = [1, 2, 5, 10, 20];

const text = (raw) => (typeof raw === "string" ? raw : "");
const number = (raw) => (Number.isFinite(raw) ? raw : null);
const flag = (fallback) => (raw) => (typeof raw === "boolean" ? raw : fallback);
const choice = (...options) => (raw) => (options.includes(raw) ? raw : options[0]);

/** Each field: what a raw value of a link means; the usual value is what `undefined` means. */
const FIELDS = {
  run: text, name: text, step: number,
  compare: flag(false), run2: text, name2: text, step2: number, together: flag(true),
  view: choice(...VIEWS), scale: choice("auto", "linear", "log"), range: choice("all", "frame"), from: number, to: number,
  map: choice(...MAPS), axes: choice("auto", "equal", "fill"), levels: choice(10, 5, 20), dots: flag(false), marks: flag(true),
  wire: flag(false), camera: (raw) => (Array.isArray(raw) && raw.length === 5 && raw.every(Number.isFinite) ? raw : null),
  speed: choice(5, ...SPEEDS), loop: flag(true),
};

/** @param {object} raw what the link has. */
export function settingsOf(raw) {
  return Object.fromEntries(Object.entries(FIELDS).map(([name, parse]) => [name, parse(raw[name])]));
}

/** What the link has after a change: only what differs from the usual. */
export function changed(raw, patch) {
  const next = settingsOf({ ...raw, ...patch });
  const usual = settingsOf({});
  return Object.fromEntries(Object.entries(next).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(usual[name])));
}

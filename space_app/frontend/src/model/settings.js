// What the Model tab is set to, as a link has it. Pure.

import { COLOURINGS } from "./colouring.js";
import { JOINTS } from "./lift.js";

const text = (raw) => (typeof raw === "string" ? raw : "");
const number = (raw) => (Number.isFinite(raw) ? raw : null);
const flag = (fallback) => (raw) => (typeof raw === "boolean" ? raw : fallback);
const choice = (...options) => (raw) => (options.includes(raw) ? raw : options[0]);
const paths = (raw) => (Array.isArray(raw) && raw.every((path) => typeof path === "string") ? raw : null);

/** Each field: what a raw value of a link means; the usual value is what `undefined` means. */
const FIELDS = {
  run: text, name: text, step: number, compare: flag(false), run2: text, name2: text, step2: number,
  /** Null is what is open at first; paths are the innermost open modules. */
  open: paths,
  /** Null is nothing; "" is the model itself. */
  at: (raw) => (typeof raw === "string" ? raw : null),
  /** Null is where the picture begins. */
  camera: (raw) => (Array.isArray(raw) && raw.length === 3 && raw.every(Number.isFinite) ? raw : null),
  by: choice(...COLOURINGS.map(([name]) => name)), joints: choice(...JOINTS),
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

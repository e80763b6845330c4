// The view as a value: read from the address, written back to it, so that a link shows what its sender saw.

import { AUTO, formatSelection, parseSelection } from "./selection.js";
import { MAX_SMOOTHING } from "./smooth.js";

const text = (fallback = "") => ({ fallback, parse: (raw) => raw, format: (value) => value });
const flag = (fallback = false) => ({ fallback, parse: (raw) => raw === "1" || raw === "true", format: (value) => (value ? "1" : "0") });
const choice = (...options) => ({ fallback: options[0], parse: (raw) => (options.includes(raw) ? raw : options[0]), format: (value) => value });
const json = () => ({
  fallback: Object.freeze({}),
  parse(raw) {
    try {
      const value = JSON.parse(raw);
      return value && typeof value === "object" && !Array.isArray(value) ? value : {};
    } catch {
      return {};
    }
  },
  format: (value) => (Object.keys(value).length ? JSON.stringify(value) : "{}"),
});

/** Every field of the view that a link carries; a field at its fallback is left out. */
export const FIELDS = {
  project: text(),
  tab: text("metrics"),
  run: text(),
  runs: { fallback: AUTO, parse: parseSelection, format: formatSelection },
  filter: text(),
  regex: text(),
  smoothing: {
    fallback: 0,
    parse: (raw) => Math.min(MAX_SMOOTHING, Math.max(0, Number(raw) || 0)),
    format: (value) => String(value),
  },
  x: text("auto"),
  logx: flag(),
  y: choice("linear", "log", "symlog"),
  outliers: choice("show", "ignore"),
  zero: flag(),
  link: flag(true),
  group: text(),
  theme: choice("", "light", "dark"),
  sidebar: choice("", "hidden"),
  size: choice("m", "s", "l"),
  sort: text(),
};

/** Fields that are lists: one parameter for each item. */
export const LISTS = ["pin", "closed", "col"];

/** Fields that are small objects. */
export const OBJECTS = { zoom: json(), charts: json(), landscape: json(), model: json() };

/** @returns the view that an address asks for. */
export function parseState(search) {
  const query = new URLSearchParams(search);
  const state = {};
  for (const [name, field] of Object.entries({ ...FIELDS, ...OBJECTS })) {
    const raw = query.get(name);
    state[name] = raw === null ? field.fallback : field.parse(raw);
  }
  for (const name of LISTS) state[name] = query.getAll(name);
  return state;
}

/**
 * The address's query for a view; parameters that are not ours stay as they are.
 * @param {object} state
 * @param {string} search the present query.
 */
export function formatState(state, search = "") {
  const query = new URLSearchParams(search);
  for (const [name, field] of Object.entries({ ...FIELDS, ...OBJECTS })) {
    const value = field.format(state[name]);
    if (value === field.format(field.fallback)) query.delete(name);
    else query.set(name, value);
  }
  for (const name of LISTS) {
    query.delete(name);
    for (const item of state[name]) query.append(name, item);
  }
  if (state.theme) query.set("__theme", state.theme);
  return query.toString();
}

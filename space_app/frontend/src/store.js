// What the page knows of one project: runs, keys, definitions. Filled by answers of /t/poll, read by the views.

import { assignSlots, styleOf } from "./colours.js";
import { value } from "./format.js";
import { defaultAxis } from "./match.js";
import { revive } from "./wire.js";

export class Store {
  constructor(project) {
    this.project = project;
    this.epoch = "";
    this.cursor = 0;
    this.nowUs = 0;
    this.runs = new Map();
    this.ordered = [];
    this.keys = [];
    this.definitions = [];
    this.slots = new Map();
    this.overrides = {};
    this.isLoaded = false;
  }

  /**
   * Takes the runs, keys and definitions of an answer.
   * @returns {{runs: Set<string>, keys: boolean}} what changed.
   */
  apply(header) {
    const isReset = header.reset || header.epoch !== this.epoch;
    const changed = new Set();
    if (isReset) {
      for (const id of this.runs.keys()) changed.add(id);
      this.runs = new Map();
    }
    for (const run of header.runs ?? []) {
      const old = this.runs.get(run.id);
      const last = old ? { ...old.last, ...run.last } : { ...run.last };
      this.runs.set(run.id, { ...run, last });
      changed.add(run.id);
    }
    for (const id of header.removed ?? []) {
      this.runs.delete(id);
      changed.add(id);
    }
    if (changed.size || isReset) {
      this.ordered = [...this.runs.values()].sort((a, b) => b.created_us - a.created_us || (a.id < b.id ? 1 : -1));
      assignSlots(this.ordered, this.slots);
    }
    const hasKeys = Boolean(header.keys || header.definitions);
    if (header.keys) this.keys = header.keys;
    if (header.definitions) this.definitions = header.definitions;
    this.epoch = header.epoch;
    this.cursor = header.cursor;
    this.nowUs = header.now_us ?? Date.now() * 1000;
    this.isLoaded = true;
    return { runs: changed, keys: hasKeys };
  }

  /** Colour and dash of a run; the reader's own colour wins. */
  style(id) {
    const style = styleOf(this.slots.get(id) ?? 0, document.body.classList.contains("dark"));
    const own = this.overrides[id];
    return own ? { ...style, colour: own } : style;
  }

  axisOf(key) {
    return defaultAxis(key, this.definitions);
  }

  /** Keys that other metrics are drawn over by their definition. */
  get axes() {
    return new Set(this.definitions.map((item) => item.step_metric).filter(Boolean));
  }

  /** Config keys of all runs, sorted, each with whether its value differs between runs, and whether it is always a number. */
  configKeys() {
    const seen = new Map();
    for (const run of this.runs.values()) {
      for (const [key, raw] of Object.entries(run.config ?? {})) {
        if (key.startsWith("_")) continue; // what the tracker added itself, such as the command line
        const text = JSON.stringify(raw);
        const entry = seen.get(key) ?? { text, num: 0, varies: false, isNumber: true };
        entry.num++;
        if (entry.text !== text) entry.varies = true;
        if (!isNumeric(raw)) entry.isNumber = false;
        seen.set(key, entry);
      }
    }
    const order = new Intl.Collator("en", { numeric: true }).compare;
    return [...seen]
      .map(([key, { num, varies, isNumber }]) => ({ key, varies: varies || num < this.runs.size, isNumber }))
      .sort((a, b) => order(a.key, b.key));
  }
}

const isNumeric = (raw) => raw === null || ["number", "bigint"].includes(typeof revive(raw));

/** Orders names of groups: numbers by size, then text. */
export function compareGroups(a, b) {
  const [x, y] = [Number(a.replaceAll(",", "")), Number(b.replaceAll(",", ""))];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y)) || NATURAL.compare(a, b);
  return x - y;
}

const NATURAL = new Intl.Collator("en", { numeric: true });

/** The value that a run has under a way of grouping: "group", "tag" or "config.<key>". */
export function groupsOf(run, by) {
  if (by === "group") return [run.group || "no group"];
  if (by === "tag") return run.tags?.length ? run.tags : ["no tag"];
  if (by === "state") return [run.state];
  if (by.startsWith("config.")) {
    const raw = run.config?.[by.slice(7)];
    return [raw === undefined ? "not set" : value(raw)];
  }
  return [""];
}

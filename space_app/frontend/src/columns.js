// The columns of the run table: which there are, which are shown, and how rows are ordered. Pure.

import { compare, count, duration, moment, value } from "./format.js";
import { revive } from "./wire.js";

const MOST_CONFIG = 12;
const MOST_LAST = 8;

/** How long a run has run, in seconds. */
export const lasted = (run) => run.active_s ?? run.span_s;

const number = (get, text = (raw) => (raw === null || raw === undefined ? "" : count(raw))) => ({ get, text: (run) => text(get(run)), isNumber: true });

/** Columns that every run has. */
const FIXED = [
  { id: "name", label: "Name", width: 220, get: (run) => run.name, text: (run) => run.name },
  { id: "state", label: "State", width: 92, get: (run) => run.state, text: (run) => run.state },
  { id: "group", label: "Group", width: 110, get: (run) => run.group ?? undefined, text: (run) => run.group ?? "" },
  { id: "tags", label: "Tags", width: 130, get: (run) => (run.tags?.length ? run.tags.join(", ") : undefined), text: (run) => (run.tags ?? []).join(", ") },
  { id: "created", label: "Created", width: 162, ...number((run) => run.created_us, (raw) => moment(raw / 1e6)) },
  { id: "duration", label: "Duration", width: 86, ...number(lasted, duration) },
  { id: "step", label: "Last step", width: 90, ...number((run) => run.last_step) },
  { id: "rows", label: "Rows", width: 84, ...number((run) => run.num_rows) },
];

/** Column of one config key: "None" for None, an empty mark where the run never had the key. */
const config = (key) => ({
  id: `config.${key}`, label: key, kind: "config", width: 120,
  get: (run) => (run.config && Object.hasOwn(run.config, key) ? plain(revive(run.config[key])) : undefined),
  text: (run) => (run.config && Object.hasOwn(run.config, key) ? value(run.config[key]) : ""),
});

/** Column of the last value of one metric. */
const last = (key) => ({
  id: `last.${key}`, label: key, kind: "last", width: 120, isNumber: true,
  get: (run) => (run.last && Object.hasOwn(run.last, key) ? plain(revive(run.last[key])) : undefined),
  text: (run) => (run.last && Object.hasOwn(run.last, key) ? value(run.last[key]) : ""),
});

const plain = (item) => (Array.isArray(item) || (item !== null && typeof item === "object") ? JSON.stringify(item) : item);

/**
 * Every column, and which of them are shown.
 *
 * @param {{key: string, varies: boolean}[]} configKeys
 * @param {string[]} metricKeys
 * @param {string[]} chosen column ids from the link; none means: those that tell runs apart.
 */
export function columns(configKeys, metricKeys, chosen) {
  const all = [...FIXED, ...configKeys.map(({ key }) => config(key)), ...metricKeys.map(last)];
  const isChosen = new Set(chosen);
  const usual = new Set([
    ...FIXED.map((column) => column.id),
    ...configKeys.filter((item) => item.varies).slice(0, MOST_CONFIG).map((item) => `config.${item.key}`),
    ...metricKeys.slice(0, MOST_LAST).map((key) => `last.${key}`),
  ]);
  const shown = all.filter((column) => column.id === "name" || (chosen.length ? isChosen : usual).has(column.id));
  return { all, shown };
}

/**
 * Rows in the order of a column; runs without a value come last in either direction.
 * @param {string} sort "-created" is descending, "name" ascending; "" newest first.
 */
export function ordered(runs, all, sort) {
  const isDown = sort.startsWith("-");
  const column = all.find((item) => item.id === sort.replace(/^-/, ""));
  if (!column) return runs;
  const cells = new Map(runs.map((run) => [run, column.get(run)]));
  return [...runs].sort((a, b) => {
    const [x, y] = [cells.get(a), cells.get(b)];
    if (x === undefined || y === undefined) return Number(x === undefined) - Number(y === undefined);
    return isDown ? compare(y, x) : compare(x, y);
  });
}

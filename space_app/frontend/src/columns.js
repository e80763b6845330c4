// The columns of the run table: which there are, which are shown, and how rows are ordered. Pure.

import { compare, count, duration, logged, moment, shortMoment, value } from "./format.js";
import { revive } from "./wire.js";

const MOST_CONFIG = 12;
const MOST_LAST = 8;
/** Rows that widths are taken from: enough to be right, few enough for every poll. */
const MOST_MEASURED = 200;
const SPACE_PX = 21;
const SORT_MARK_PX = 14;

/** How long a run has run, in seconds. */
export const lasted = (run) => run.active_s ?? run.span_s;

const number = (get, text = (raw) => (raw === null || raw === undefined ? "" : count(raw))) => ({ get, text: (run) => text(get(run)), isNumber: true });

const NAME = { id: "name", label: "Name", least: 130, most: 300, get: (run) => run.name, text: (run) => run.name };
const STATE = { id: "state", label: "State", least: 70, most: 120, extra: 17, get: (run) => run.state, text: (run) => run.state };

/** Columns that every run has, beside its name and state: what runs are called, then when and how long they ran. */
const LABELS = [
  { id: "group", label: "Group", most: 160, get: (run) => run.group ?? undefined, text: (run) => run.group ?? "" },
  { id: "tags", label: "Tags", most: 160, get: (run) => (run.tags?.length ? run.tags.join(", ") : undefined), text: (run) => (run.tags ?? []).join(", ") },
];
const TIMES = [
  { id: "created", label: "Created", ...number((run) => run.created_us), text: (run) => shortMoment(run.created_us / 1e6, Date.now() / 1000), title: (run) => moment(run.created_us / 1e6) },
  { id: "duration", label: "Duration", ...number(lasted, duration) },
  { id: "step", label: "Last step", ...number((run) => run.last_step) },
  { id: "rows", label: "Rows", ...number((run) => run.num_rows) },
];

/** Column of one config key: "None" for None, an empty mark where the run never had the key. */
const config = ({ key, isNumber }) => ({
  id: `config.${key}`, label: key, kind: "config", most: 180, isNumber,
  get: (run) => (run.config && Object.hasOwn(run.config, key) ? plain(revive(run.config[key])) : undefined),
  text: (run) => (run.config && Object.hasOwn(run.config, key) ? value(run.config[key]) : ""),
});

/** Column of the last value of one metric. */
const last = (key) => ({
  id: `last.${key}`, label: key, kind: "last", most: 240, isNumber: true,
  get: (run) => (run.last && Object.hasOwn(run.last, key) ? plain(revive(run.last[key])) : undefined),
  text: (run) => (run.last && Object.hasOwn(run.last, key) ? logged(run.last[key]) : ""),
});

const plain = (item) => (Array.isArray(item) || (item !== null && typeof item === "object") ? JSON.stringify(item) : item);

/**
 * Every column, and which of them are shown: name and state, the settings that tell runs apart, what came out, then the rest.
 *
 * @param {object[]} runs
 * @param {{key: string, varies: boolean, isNumber: boolean}[]} configKeys
 * @param {string[]} metricKeys the most interesting first.
 * @param {string[]} chosen column ids from the link; none means: those that tell runs apart, or all of a lone run.
 */
export function columns(runs, configKeys, metricKeys, chosen) {
  const all = [NAME, STATE, ...configKeys.map(config), ...metricKeys.map(last), ...LABELS, ...TIMES];
  const wanted = new Set(chosen.length ? ["name", ...chosen] : [
    ...[NAME, STATE, ...TIMES].map((column) => column.id),
    ...LABELS.filter((column) => runs.some((run) => column.get(run) !== undefined)).map((column) => column.id),
    ...configKeys.filter((item) => item.varies || runs.length === 1).slice(0, MOST_CONFIG).map((item) => `config.${item.key}`),
    ...metricKeys.slice(0, MOST_LAST).map((key) => `last.${key}`),
  ]);
  return { all, shown: all.filter((column) => wanted.has(column.id)) };
}

/**
 * The width of each column: what it says, within limits.
 *
 * @param {object[]} shown columns.
 * @param {object[]} runs rows, of which the first are measured.
 * @param {(text: string, place: "cell" | "head") => number} measure width of a text in CSS pixels.
 * @param {Map<string, number>} known widths before: a column never gets narrower, or live numbers would make the table tremble.
 * @param {number} nameMost a limit of the name's own: it stays in place while the others scroll.
 * @returns {Map<string, number>} known, with these columns' widths.
 */
export function widths(shown, runs, measure, known, nameMost) {
  for (const column of shown) {
    let wide = measure(column.label, "head") + SORT_MARK_PX;
    for (const run of runs.slice(0, MOST_MEASURED)) wide = Math.max(wide, measure(column.text(run), "cell") + (column.extra ?? 0));
    const most = column.id === "name" ? Math.min(column.most, nameMost) : column.most ?? 180;
    known.set(column.id, Math.min(most, Math.max(column.least ?? 48, known.get(column.id) ?? 0, Math.ceil(wide) + SPACE_PX)));
  }
  return known;
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

// Numbers, times and names as people read them.

import { revive } from "./wire.js";

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** A whole number with thousands separators. */
export const count = (value) => GROUPED.format(value);

/** "1 point", "2,000 points". */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/**
 * One setting, as Python prints it: integers in full and without separators, other numbers with up to six significant digits.
 * @param {unknown} raw as the API sends it, or already revived.
 */
export function value(raw) {
  const item = revive(raw);
  if (item === undefined) return "";
  if (item === null) return "None";
  if (typeof item === "bigint" || Number.isSafeInteger(item)) return item.toString();
  if (typeof item === "boolean") return item ? "True" : "False";
  if (typeof item === "string") return item;
  if (typeof item === "object") return JSON.stringify(item);
  return number(item);
}

/** What int64 can hold: integers up to here are counts and ids, of which every digit may matter; beyond are magnitudes. */
const MOST_INTEGER = 2 ** 63;

/** One value that the API sends exactly: integers of 64 bits with every digit and separators, everything else as a setting. */
export function logged(raw) {
  const item = revive(raw);
  if (typeof item === "bigint") return GROUPED.format(item);
  if (typeof item !== "number") return value(raw);
  return Number.isInteger(item) && Math.abs(item) <= MOST_INTEGER ? number(item, BigInt(item)) : number(item);
}

/**
 * A number with up to six significant digits; integers below 2^53 in full.
 *
 * Beyond 2^53 a double is often not the integer that was logged, so its digits are not shown.
 * @param {bigint | null} exact the integer itself, where it is known.
 */
export function number(item, exact = null) {
  if (Number.isNaN(item)) return "NaN";
  if (item === Infinity) return "Infinity";
  if (item === -Infinity) return "-Infinity";
  if (exact !== null || Number.isSafeInteger(item)) return Math.abs(item) >= 10000 ? GROUPED.format(exact ?? item) : String(item);
  const size = Math.abs(item);
  if (size >= 1e9 || size < 1e-4) return item.toExponential(4).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(item.toPrecision(6)));
}

/** A number with all its digits: what a script would read back. */
export const exact = (item) => (Object.is(item, -0) ? "-0" : String(item));

/** Seconds as "420 ms", "12.3 s", "4m 05s", "2h 03m", "3d 04h". */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "";
  const size = Math.abs(seconds);
  const sign = seconds < 0 ? "-" : "";
  const pad = (n) => String(n).padStart(2, "0");
  if (size < 0.9995) return `${sign}${Math.round(size * 1000)} ms`;
  if (size < 59.95) return `${sign}${Number(size.toFixed(1))} s`;
  const whole = Math.round(size);
  const [d, h, m, s] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60, whole % 60];
  if (d) return `${sign}${d}d ${pad(h)}h`;
  if (h) return `${sign}${h}h ${pad(m)}m`;
  return `${sign}${m}m ${pad(s)}s`;
}

/** A moment in the reader's own time zone, "2026-03-01 14:05:09". */
export function moment(seconds) {
  if (!Number.isFinite(seconds)) return "";
  const d = new Date(seconds * 1000);
  const pad = (n) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

/**
 * A moment in few characters: the time where it was today, else the day, with the year where that is another.
 * @param {number} now seconds since the epoch.
 */
export function shortMoment(seconds, now) {
  if (!Number.isFinite(seconds)) return "";
  const [day, time] = moment(seconds).split(" ");
  const today = moment(now).split(" ")[0];
  if (day === today) return time.slice(0, 5);
  const d = new Date(seconds * 1000);
  return day.slice(0, 4) === today.slice(0, 4) ? `${MONTHS[d.getMonth()]} ${d.getDate()}` : day;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A text of at most so many characters, cut in its middle: what tells such texts apart is mostly at their ends. */
export function middle(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) * 0.4);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(-tail)}`;
}

const LONG_NAME = 22;

/**
 * Names for a narrow place: long ones lose the beginning that all of them share, up to the start of a word.
 * @param {string[]} names
 */
export function distinct(names) {
  if (names.length < 2 || names.every((name) => name.length <= LONG_NAME)) return names;
  let shared = 0;
  const shortest = Math.min(...names.map((name) => name.length));
  while (shared < shortest && names.every((name) => name[shared] === names[0][shared])) shared++;
  // Back to the start of the word before the first difference, so that "seed-1" is not "…1".
  const words = [...names[0].slice(0, shared).matchAll(/[-_/. ](?=[^-_/. ])/g)].map((found) => found.index + 1);
  const cut = words.filter((at) => shared - at >= 3).at(-1) ?? words.at(-1) ?? 0;
  return cut < 6 ? names : names.map((name) => `…${name.slice(cut)}`);
}

/** Labels of moments: the time as fine as the ticks need it, the day where a new one begins. */
export function timeLabels(ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 60;
  return ticks.map((tick, i) => {
    const [day, time] = moment(tick + 1e-6).split(" ");
    const isNewDay = i > 0 && moment(ticks[i - 1]).split(" ")[0] !== day;
    if (step >= 86400 || isNewDay) return day.slice(5);
    if (step >= 60) return time.slice(0, 5);
    return step >= 1 ? time : `${time.slice(3)}${(((tick % 1) + 1e-6) % 1).toFixed(6).slice(1, step >= 0.1 ? 3 : step >= 0.01 ? 4 : 5)}`;
  });
}

/** How long ago: "now", "12 s ago", "5 min ago", "3 h ago", then the date. */
export function ago(seconds, now) {
  const age = now - seconds;
  if (age < 5) return "now";
  if (age < 60) return `${Math.floor(age)} s ago`;
  if (age < 3600) return `${Math.floor(age / 60)} min ago`;
  if (age < 86400) return `${Math.floor(age / 3600)} h ago`;
  return moment(seconds).slice(0, 16);
}

/** The x of a point, by the kind of axis: a step, a duration, a moment, or a metric's value. */
export function xValue(kind, x) {
  if (kind === "relative") return duration(x);
  if (kind === "time") return moment(x);
  return number(x);
}

/** What an axis is called. */
export function xTitle(kind) {
  if (kind === "relative") return "relative time";
  if (kind === "time") return "time";
  return kind.startsWith("metric:") ? kind.slice(7) : kind;
}

/**
 * Labels of ticks that lie `step` apart: just enough decimals to tell them apart, powers of ten where they are huge.
 * @param {number[]} ticks
 * @param {number} step distance of two ticks.
 */
export function tickLabels(ticks, step) {
  const largest = Math.max(...ticks.map(Math.abs), 0);
  if (largest >= 1e9 || (largest > 0 && largest < 1e-3)) {
    // Neighbours that share a dozen digits are told apart only by all of them.
    if (step >= 1 && largest / step > 1e12 && ticks.every(Number.isInteger)) return ticks.map((tick) => GROUPED.format(BigInt(tick)));
    const digits = Math.max(0, Math.min(12, Math.floor(Math.log10(largest)) - Math.floor(Math.log10(step))));
    const labels = ticks.map((tick) => (tick === 0 ? "0" : tick.toExponential(digits).replace("e+", "e")));
    return labels.every((label) => /^0$|\.0+e/.test(label)) ? labels.map((label) => label.replace(/\.0+e/, "e")) : labels;
  }
  const decimals = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  const format = new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return ticks.map((tick) => format.format(tick).replace(/^-0$/, "0"));
}

/**
 * Orders two cells of a table: numbers by size, then text (digits in it by size), then None; absent ones by -1/1 last.
 */
export function compare(a, b) {
  const rank = (v) => (typeof v === "string" || typeof v === "object" ? (v === null ? 2 : 1) : 0);
  const [ra, rb] = [rank(a), rank(b)];
  if (ra !== rb) return ra - rb;
  if (ra === 0) {
    const [na, nb] = [Number.isNaN(a), Number.isNaN(b)];
    if (na || nb) return Number(na) - Number(nb);
    return a < b ? -1 : a > b ? 1 : 0;
  }
  return ra === 1 ? NATURAL.compare(String(a), String(b)) : 0;
}

const NATURAL = new Intl.Collator("en", { numeric: true, sensitivity: "variant" });

/** Bytes as people read them: "1.2 MB". */
export function bytes(size) {
  let [amount, unit] = [size, "B"];
  for (const next of ["kB", "MB", "GB", "TB"]) {
    if (amount < 999.5) break;
    [amount, unit] = [amount / 1000, next];
  }
  return `${unit !== "B" && amount < 9.95 ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
}

/** One cell of a CSV file. */
export const csvCell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

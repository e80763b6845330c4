// One project of a frozen dashboard: answers what the live server would answer, from files.

import { parsePayload, readColumns } from "../parquet.js";
import { asked, remembered, RemoteFile } from "./bytes.js";
import { decimate, window } from "./decimate.js";
import { draw } from "./lanes.js";
import { floats, Pack, readParts } from "./packs.js";

const KEPT_POINTS = 10 << 20;
const METRIC = "metric:";
const OBJECT_COLUMNS = ["run_id", "writer", "seq", "attempt", "step", "time", "key", "type", "payload", "media"];

export class Project {
  /**
   * @param {URL} folder the project's.
   * @param {object} index its `index.json`.
   */
  constructor(folder, index) {
    this.folder = folder;
    this.index = index;
    this.numbers = new Map(index.runs.map((run, number) => [run.id, number]));
    const packs = (list) => list.map((about) => new Pack(folder, about));
    this.rowPacks = Object.fromEntries(Object.entries(index.rows).map(([kind, list]) => [kind, packs(list)]));
    this.overviews = Object.fromEntries(Object.entries(index.overviews).map(([kind, axes]) => [kind, Object.fromEntries(Object.entries(axes).map(([axis, list]) => [axis, packs(list)]))]));
    this.buckets = new Set(index.buckets);
    this.loaded = new Map();
    this.readRun = remembered((number) => asked(new URL(`runs/${number}/run.json`, folder)).then((response) => response.json()));
    this.allObjects = remembered(() => this.readObjects());
  }

  // -- objects ---------------------------------------------------------------------------------------------------

  /** The logged objects of some runs, as /t/objects answers them. */
  async objects(runs, types) {
    return (await this.allObjects("")).filter((row) => runs.has(row.run) && types.has(row.type));
  }

  async readObjects() {
    const about = this.index.objects ?? null;
    if (about === null) return [];
    const file = new RemoteFile(new URL(about.file, this.folder), about.num_bytes);
    const columns = await readColumns(file, OBJECT_COLUMNS, { rowEnd: about.num_rows });
    const number = (item) => (item === null ? null : Number.isSafeInteger(Number(item)) ? Number(item) : { $int: String(item) });
    const rows = Array.from(columns.run_id, (run, i) => ({
      run, writer: columns.writer[i], seq: number(columns.seq[i]), attempt: number(columns.attempt[i]), step: number(columns.step[i]),
      time_us: number(columns.time[i]), key: columns.key[i], type: columns.type[i], payload: parsePayload(columns.payload[i]), media: columns.media[i],
    }));
    return rows.filter(({ run }) => this.numbers.has(run));
  }

  /** The bytes of a run's file. */
  async media(number, path) {
    const rows = await this.allObjects("");
    const { id } = this.index.runs[number];
    if (!rows.some((row) => row.run === id && row.media === path)) throw new Error(`No row of this run names the file "${path}".`);
    const parts = path.split("/").map(encodeURIComponent).join("/");
    return (await asked(new URL(`runs/${number}/${parts}`, this.folder))).arrayBuffer();
  }

  // -- curves ----------------------------------------------------------------------------------------------------

  /**
   * The curves of a panel, as /t/poll answers them.
   * @returns {Promise<{meta: object, x: Float64Array, y: Float64Array}[]>}
   */
  async curves({ id, key, kind = "metrics", x: axis, runs, buckets, x0 = null, x1 = null }) {
    const numbers = [...new Set(runs)].map((run) => this.numbers.get(run)).filter((number) => number !== undefined);
    const name = axis === "step" && kind === "system" ? "relative" : axis;
    const isWhole = x0 === null && x1 === null;
    const known = isWhole && this.buckets.has(buckets) ? await this.overview(kind, name, key, new Set(numbers), buckets) : new Map();
    const rest = numbers.filter((number) => !known.has(number));
    const drawn = await this.drawn(kind, axis, key, rest);
    for (const number of rest) {
      const lanes = drawn.get(number) ?? [];
      known.set(number, lanes.map((curve, lane) => ({ lane, lanes: lanes.length, ...cut(curve, buckets, x0, x1) })));
    }
    return numbers.flatMap((number) => known.get(number).map(({ x, y, ...counts }) => ({
      meta: { panel: id, run: this.index.runs[number].id, key, mode: "replace", ...counts, num_shown: x.length }, x, y,
    })));
  }

  /** Curves of which the few points were chosen when the copy was made, by the run's number. */
  async overview(kind, axis, key, numbers, buckets) {
    const found = new Map();
    for (const { part, columns } of await readParts(this.overviews[kind]?.[axis] ?? [], key, ["x", "y"], ({ run }) => numbers.has(run))) {
      const [lane, lanes, numPoints, numNonFinite] = part.rest;
      const kept = decimate(columns.x, columns.y, buckets, numPoints);
      const [x, y] = [columns.x, columns.y].map((items) => Float64Array.from(kept, (i) => items[i]));
      if (!found.has(part.run)) found.set(part.run, []);
      found.get(part.run).push({ lane, lanes, num_points: numPoints, num_non_finite: numNonFinite, is_exact: kept.length === numPoints, x, y });
    }
    return found;
  }

  /** Whole curves by the run's number. */
  async drawn(kind, axis, key, numbers) {
    const xKey = axis.startsWith(METRIC) ? axis.slice(METRIC.length) : null;
    const [points, xPoints] = await Promise.all([this.points(kind, key, numbers), xKey === null ? new Map() : this.points("metrics", xKey, numbers)]);
    const { origins_us: origins, writers } = this.index;
    const drawn = new Map();
    for (const number of numbers) {
      const own = points.get(number);
      if (own) drawn.set(number, draw(own, { axis, origin: origins[number], xPoints: xPoints.get(number) ?? new Map(), writers: writers[number], hasSteps: kind === "metrics" }));
    }
    return drawn;
  }

  /** Every point of a key, by the run's number and the writer; read where it is not in memory. */
  async points(kind, key, numbers) {
    const id = `${kind} ${key}`;
    const known = this.loaded.get(id) ?? new Map();
    this.loaded.delete(id);
    this.loaded.set(id, known);
    const missing = new Set(numbers.filter((number) => !known.has(number)));
    if (missing.size === 0) return known;
    const steps = kind === "metrics" ? ["step"] : [];
    const parts = await readParts(this.rowPacks[kind] ?? [], key, ["seq", ...steps, "time", "value"], ({ run }) => missing.has(run));
    for (const { part, columns } of parts) {
      const [writer] = part.rest;
      if (!known.has(part.run)) known.set(part.run, new Map());
      known.get(part.run).set(writer, Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, floats(column)])));
    }
    this.shrink();
    return known;
  }

  /** Forgets the keys that were drawn longest ago, until the rest fits. */
  shrink() {
    const size = (runs) => [...runs.values()].flatMap((writers) => [...writers.values()]).reduce((sum, own) => sum + own.value.length, 0);
    let used = [...this.loaded.values()].reduce((sum, runs) => sum + size(runs), 0);
    for (const [id, runs] of this.loaded) {
      if (used <= KEPT_POINTS || this.loaded.size === 1) return;
      used -= size(runs);
      this.loaded.delete(id);
    }
  }

  // -- rows ------------------------------------------------------------------------------------------------------

  /**
   * The raw rows of one metric in the order of the calls, as /t/rows answers them; null where there is no such metric.
   * @returns {Promise<{num: number, rows: (number | bigint | string)[][]} | null>} step, time, value, attempt, writer, seq.
   */
  async rows(run, key, x0, x1, limit) {
    const number = this.numbers.get(run);
    const names = ["seq", "step", "time", "value", "value_int"];
    const parts = number === undefined ? [] : await readParts(this.rowPacks.metrics, key, names, (part) => part.run === number);
    if (parts.length === 0) return null;
    const writers = this.index.writers[number];
    const rows = parts.flatMap(({ part, columns }) => {
      const [writer] = part.rest;
      return Array.from(columns.value, (value, i) => [columns.step[i], columns.time[i], columns.value_int[i] ?? value, BigInt(writers[writer][0]), writer, columns.seq[i]]);
    });
    const inside = rows.filter(([step]) => (x0 === null || step >= x0) && (x1 === null || step <= x1));
    inside.sort((a, b) => compared(a[3], b[3]) || compared(a[1], b[1]) || compared(a[4], b[4]) || compared(a[5], b[5]));
    return { num: inside.length, rows: inside.slice(0, limit) };
  }
}

const compared = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** A curve as it is drawn: thinned, within a window, with one point beyond each of its sides. */
function cut({ x, y }, buckets, x0, x1) {
  const [start, stop] = window(x, x0, x1);
  const kept = decimate(x.subarray(start, stop), y.subarray(start, stop), buckets).map((i) => i + start);
  const isExact = kept.length === stop - start;
  if ((x0 !== null || x1 !== null) && start > 0) kept.unshift(start - 1);
  if ((x0 !== null || x1 !== null) && stop < x.length) kept.push(stop);
  let numNonFinite = 0;
  for (let i = start; i < stop; i++) if (!Number.isFinite(y[i])) numNonFinite++;
  const [xs, ys] = [x, y].map((items) => Float64Array.from(kept, (i) => items[i]));
  return { num_points: stop - start, num_non_finite: numNonFinite, is_exact: isExact, x: xs, y: ys };
}

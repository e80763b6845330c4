// Where a frozen page gets its answers: the same questions as the live server's routes, answered from files.

import { asked, remembered } from "./bytes.js";
import { Project } from "./project.js";

export { bucketEdges, decimate } from "./decimate.js";

const EPOCH = "frozen";
const COLUMNS = ["step", "time_us", "value", "attempt", "writer", "seq"];
const MOST_ROWS = 1_000_000;

export class FrozenSource {
  /** @param {URL} data the folder with `projects.json`. */
  constructor(data) {
    const json = (url) => asked(url).then((response) => response.json());
    this.list = remembered(() => json(new URL("projects.json", data)));
    this.project = remembered(async (name) => {
      const about = (await this.list("")).projects.find((project) => project.name === name);
      if (!about) return null;
      const folder = new URL(`${about.folder}/`, data);
      return new Project(folder, await json(new URL("index.json", folder)));
    });
    this.answers = new Map();
  }

  meta() {
    return this.list("");
  }

  /**
   * As /t/poll, but what needs longer than the first chart is left to the next question.
   * @returns {Promise<{header: object, arrays: Float64Array[], pending: Set<string>} | null>} null: no such project.
   */
  async poll({ project: name, epoch, runs = [], panels }) {
    const project = await this.project(name);
    if (!project) return null;
    const isNew = epoch !== EPOCH;
    const { runs: lines, keys, definitions } = project.index;
    const asking = panels.filter((panel) => isNew || panel.since === 0).map((panel) => ({ runs, ...panel }));
    const ready = await this.ready(project, name, asking);
    const arrays = [];
    const series = [...ready.values()].flat().map(({ meta, x, y }) => ({ ...meta, x: arrays.push(x) - 1, y: arrays.push(y) - 1 }));
    const news = isNew ? { runs: lines, keys, definitions } : { runs: [], keys: null, definitions: null };
    const pending = new Set(asking.map(({ id }) => id).filter((id) => !ready.has(id)));
    return { header: { epoch: EPOCH, cursor: 1, reset: isNew, removed: [], ...news, series }, arrays, pending };
  }

  /** The curves of the panels that are there by the time that the first one is, by panel. */
  async ready(project, name, panels) {
    const ready = new Map();
    const waiting = panels.map((panel) => {
      const id = JSON.stringify([name, panel]);
      if (!this.answers.has(id)) {
        const curves = project.curves(panel);
        this.answers.set(id, curves);
        curves.catch(() => {}).then(() => setTimeout(() => this.answers.delete(id), 10_000));
      }
      return this.answers.get(id).then((curves) => ready.set(panel.id, curves));
    });
    if (waiting.length) await Promise.race(waiting);
    // Those that were waiting for the same file come in the same moment.
    await new Promise((resolve) => setTimeout(resolve, 0));
    for (const one of waiting) one.catch(() => {});
    return ready;
  }

  async run({ project: name, run }) {
    const project = await this.project(name);
    const number = project?.numbers.get(run);
    if (number === undefined) throw new Error(`The project has no run with the id "${run}".`);
    return project.readRun(number);
  }

  async rows({ project: name, run, key, x0 = null, x1 = null, limit = 1000 }) {
    const found = await (await this.project(name))?.rows(run, key, x0, x1, limit);
    if (!found) throw new Error(`The run has no metric "${key}".`);
    return { num_rows: found.num, columns: COLUMNS, rows: found.rows.map((row) => row.map(plain)) };
  }

  /** As /t/objects; nothing changes here, so that whoever has been answered once has it all. */
  async objects({ project: name, runs, types, since = null }) {
    const project = await this.project(name);
    if (!project) throw new Error(`There is no project "${name}".`);
    const version = JSON.stringify([EPOCH, runs, types]);
    if (since === version) return { version, num_objects: null, objects: null };
    const objects = await project.objects(new Set(runs), new Set(types));
    return { version, num_objects: objects.length, objects };
  }

  /** The bytes of a file that a row names. */
  async media({ project: name, run, path }) {
    const project = await this.project(name);
    const number = project?.numbers.get(run);
    if (number === undefined) throw new Error(`The project has no run with the id "${run}".`);
    return project.media(number, path);
  }

  /** All rows of one metric as the server's CSV; null where the run does not have it. */
  async csv({ project: name, run, key, x0 = null, x1 = null }) {
    const found = await (await this.project(name))?.rows(run, key, x0, x1, MOST_ROWS);
    if (!found) return null;
    return [COLUMNS, ...found.rows].map((row) => `${row.map(printed).join(",")}\n`).join("");
  }
}

/** A value as the API's JSON has it. */
function plain(value) {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : { $int: String(value) };
  return typeof value === "number" && !Number.isFinite(value) ? { $float: String(value) } : value;
}

/** A value as Python writes it: `1.0`, `1e-05`, `nan`. */
export function printed(value) {
  if (typeof value !== "number") return String(value);
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0.0";
  const [digits, power] = value.toExponential().split("e");
  const exponent = Number(power);
  if (value !== 0 && (exponent < -4 || exponent >= 16)) return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  const text = String(value);
  return text.includes(".") ? text : `${text}.0`;
}

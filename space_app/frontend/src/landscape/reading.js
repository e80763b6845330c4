// Where landscapes come from: rows that describe them, and one file for each.

import { TL } from "../core.js";
import { gridOf } from "./grid.js";

const TYPE = "loss_landscape";
const COLUMNS = ["x", "y", "loss", "is_measured"];

/**
 * Every landscape of some runs, without its grid.
 * @param {string | null} since the version of what is known.
 * @returns {Promise<{version: string | null, objects: object[] | null}>} null: nothing is new since then.
 */
export async function askRows(project, runs, since) {
  if (runs.length === 0) return { version: null, objects: [] };
  return TL.source.objects({ project, runs, types: [TYPE], since });
}

/** The grid of a frame. What reads Parquet is loaded with the first one. */
export async function readGrid(frame) {
  const project = TL.store.project;
  const [bytes, { readColumns }] = await Promise.all([TL.source.media({ project, run: frame.run, path: frame.media }), import("../parquet.js")]);
  const started = performance.now();
  const columns = await readColumns(bytes, COLUMNS);
  const grid = gridOf(columns, frame.payload.num_rows, frame.payload.num_cols);
  performance.measure("landscape-read", { start: started });
  return grid;
}

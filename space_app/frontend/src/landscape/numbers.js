// A landscape as files of numbers. Pure.

import { KIND } from "./grid.js";

const ODD = { [KIND.nan]: NaN, [KIND.up]: Infinity, [KIND.down]: -Infinity };

/** The loss of a cell as it was logged; null where there is none. */
const logged = (grid, i) => (grid.kind[i] === KIND.value ? grid.z[i] : ODD[grid.kind[i]] ?? null);

/** Numbers of a frame as CSV: one row a cell. */
export function csvOf(grid) {
  const lines = ["x,y,loss,is_measured"];
  for (let i = 0; i < grid.z.length; i++) {
    const loss = logged(grid, i);
    lines.push([grid.x[i % grid.cols], grid.y[Math.floor(i / grid.cols)]].map(printed).concat(loss === null ? "" : printed(loss), grid.measured[i] ? "True" : "False").join(","));
  }
  return `${lines.join("\n")}\n`;
}

/** Numbers of a frame as JSON; what JSON has no number for is null in `z` and named in `not_finite`. */
export function jsonOf(grid, frame, runName) {
  const rows = (read) => Array.from({ length: grid.rows }, (_, r) => Array.from({ length: grid.cols }, (_, c) => read(r * grid.cols + c)));
  const odd = [];
  for (let i = 0; i < grid.z.length; i++) if (grid.kind[i] in ODD) odd.push({ row: Math.floor(i / grid.cols), col: i % grid.cols, value: printed(ODD[grid.kind[i]]) });
  const { meta, marks, path, x_label: xLabel, y_label: yLabel } = frame.payload;
  return JSON.stringify({
    run: runName, run_id: frame.run, name: frame.name, step: frame.step, x_label: xLabel, y_label: yLabel, x: [...grid.x], y: [...grid.y],
    z: rows((i) => (grid.kind[i] === KIND.value ? grid.z[i] : null)), not_finite: odd, is_measured: rows((i) => Boolean(grid.measured[i])), marks: marks ?? [], path: path ?? null, meta: meta ?? {},
  }, null, 1);
}

/** A number as most programs read it. */
function printed(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return Object.is(value, -0) ? "-0.0" : String(value);
}

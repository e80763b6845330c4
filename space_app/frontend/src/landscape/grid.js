// One landscape as numbers: coordinates, losses, and what each cell is. Pure.

/** What a cell holds. */
export const KIND = { value: 0, unknown: 1, nan: 2, up: 3, down: 4 };

const WORDS = { [KIND.unknown]: "not evaluated", [KIND.nan]: "not finite: nan", [KIND.up]: "not finite: inf", [KIND.down]: "not finite: -inf" };

/**
 * @typedef {object} Grid
 * @property {Float64Array} x coordinates of the columns, rising.
 * @property {Float64Array} y coordinates of the rows, rising.
 * @property {Float64Array} z losses, row by row; NaN in every cell that is not a finite number.
 * @property {Uint8Array} kind one of KIND for each cell.
 * @property {Uint8Array} measured 1 where the cell was evaluated, 0 where it is interpolated or unknown.
 * @property {number} rows
 * @property {number} cols
 * @property {boolean} isLine whether it is a single row.
 */

/**
 * A grid from the columns of its file, one entry a cell, row by row.
 * @param {{x: ArrayLike<number>, y: ArrayLike<number>, loss: ArrayLike<number | null>, is_measured: ArrayLike<boolean | number>}} columns
 * @param {number} rows
 * @param {number} cols
 * @returns {Grid}
 */
export function gridOf({ x, y, loss, is_measured: isMeasured }, rows, cols) {
  const size = rows * cols;
  if (loss.length !== size) throw new Error(`The file has ${loss.length} cells; ${rows} rows of ${cols} were expected.`);
  const z = new Float64Array(size);
  const kind = new Uint8Array(size);
  const measured = new Uint8Array(size);
  for (let i = 0; i < size; i++) {
    const value = loss[i];
    kind[i] = kindOf(value);
    z[i] = kind[i] === KIND.value ? value : NaN;
    measured[i] = isMeasured[i] ? 1 : 0;
  }
  const grid = { x: Float64Array.from({ length: cols }, (_, c) => Number(x[c])), y: Float64Array.from({ length: rows }, (_, r) => Number(y[r * cols])), z, kind, measured, rows, cols, isLine: rows === 1 };
  return { ...grid, edgesX: edges(grid.x), edgesY: edges(grid.y) };
}

function kindOf(value) {
  if (value === null || value === undefined) return KIND.unknown;
  if (Number.isFinite(value)) return KIND.value;
  if (value === Infinity) return KIND.up;
  return value === -Infinity ? KIND.down : KIND.nan;
}

/** The borders of cells: halfway between two coordinates, and as far beyond the ends as the end's own half. */
export function edges(points) {
  const n = points.length;
  if (n === 1) return Float64Array.of(points[0] - 0.5, points[0] + 0.5);
  const found = new Float64Array(n + 1);
  for (let i = 1; i < n; i++) found[i] = (points[i - 1] + points[i]) / 2;
  found[0] = points[0] - (found[1] - points[0]);
  found[n] = points[n - 1] + (points[n - 1] - found[n - 1]);
  return found;
}

/** Which cell of an axis a coordinate is in; -1 outside. */
export function cellAt(borders, value) {
  if (!(value >= borders[0] && value <= borders[borders.length - 1])) return -1;
  let [low, high] = [0, borders.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (borders[middle] <= value) low = middle;
    else high = middle;
  }
  return low;
}

/** Index of the coordinate nearest to a value. */
export function nearestTo(points, value) {
  let best = 0;
  for (let i = 1; i < points.length; i++) if (Math.abs(points[i] - value) < Math.abs(points[best] - value)) best = i;
  return best;
}

/** What a cell says: its loss with all digits, and where that comes from. */
export function cellText(grid, index) {
  const kind = grid.kind[index];
  if (kind !== KIND.value) return { value: WORDS[kind], origin: "", isValue: false };
  return { value: String(grid.z[index]), origin: grid.measured[index] ? "measured" : "interpolated", isValue: true };
}

/** The loss at a point between the cells, by bilinear interpolation; NaN outside, and beside a cell without a number. */
export function lossAt(grid, x, y) {
  const [c, u] = between(grid.x, x);
  const [r, v] = grid.isLine ? [0, 0] : between(grid.y, y);
  if (c < 0 || r < 0) return NaN;
  const at = (dr, dc) => grid.z[(r + dr) * grid.cols + c + dc];
  const below = mix(at(0, 0), at(0, 1), u);
  return v === 0 ? below : mix(below, mix(at(1, 0), at(1, 1), u), v);
}

const mix = (a, b, share) => (share === 0 ? a : share === 1 ? b : a + (b - a) * share);

/** The interval of a rising axis that a value is in, and how far into it; -1 outside. */
export function between(points, value) {
  const last = points.length - 1;
  const room = 1e-9 * (points[last] - points[0]);
  if (last < 1 || !(value >= points[0] - room && value <= points[last] + room)) return [-1, 0];
  let [low, high] = [0, last];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle] <= value) low = middle;
    else high = middle;
  }
  return [low, Math.min(1, Math.max(0, (value - points[low]) / (points[low + 1] - points[low])))];
}

/** The value below which a share of the finite cells lies. */
export function quantile(grid, share) {
  const values = grid.z.filter(Number.isFinite).sort();
  return values.length ? values[Math.min(values.length - 1, Math.round(share * (values.length - 1)))] : NaN;
}

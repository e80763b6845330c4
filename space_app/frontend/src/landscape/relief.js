// A landscape as a surface in a box around the origin: sizes, heights, what a ray meets. Pure.

import { slot } from "./colourmaps.js";
import { between, KIND } from "./grid.js";

/** Half the box's height; its longer side reaches from -1 to 1. */
const HALF_Z = 0.62;

/**
 * The box of a grid: how coordinates and losses become places in space.
 * @param {import("./grid.js").Grid} grid
 * @param {object} scale losses beyond it are cut at the box's floor and lid.
 * @param {boolean} isEqual whether x and y have one unit of length.
 */
export function boxOf(grid, scale, isEqual) {
  const [x0, x1] = [grid.x[0], grid.x[grid.cols - 1]];
  const [y0, y1] = [grid.y[0], grid.y[grid.rows - 1]];
  const ratio = isEqual ? Math.min(6, Math.max(1 / 6, (x1 - x0) / (y1 - y0))) : 1;
  const [halfX, halfY] = ratio >= 1 ? [1, 1 / ratio] : [ratio, 1];
  return {
    halfX, halfY, halfZ: HALF_Z, xDomain: [x0, x1], yDomain: [y0, y1],
    toX: (x) => (((x - x0) / (x1 - x0)) * 2 - 1) * halfX,
    toY: (y) => (((y - y0) / (y1 - y0)) * 2 - 1) * halfY,
    toZ: (loss) => (Math.min(1, Math.max(0, scale.share(loss))) * 2 - 1) * HALF_Z,
    fromX: (at) => x0 + ((at / halfX + 1) / 2) * (x1 - x0),
    fromY: (at) => y0 + ((at / halfY + 1) / 2) * (y1 - y0),
  };
}

/**
 * Fills the buffers of a surface.
 * @param {{positions: Float32Array, colours: Uint8Array}} buffers for rows * cols points.
 */
export function fillPoints({ positions, colours: bytes }, grid, box, scale, colours) {
  const { rows, cols, z, kind } = grid;
  for (let r = 0, i = 0; r < rows; r++) {
    const y = box.toY(grid.y[r]);
    for (let c = 0; c < cols; c++, i++) {
      positions[3 * i] = box.toX(grid.x[c]);
      positions[3 * i + 1] = y;
      positions[3 * i + 2] = kind[i] === KIND.value ? box.toZ(z[i]) : 0;
    }
  }
  // Neighbours without a number lend no slope; the point itself stands in for them.
  const near = (i, other) => (kind[other] === KIND.value ? other : i);
  for (let r = 0, i = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++, i++) {
      if (kind[i] !== KIND.value) continue;
      const zx = slope(positions, c > 0 ? near(i, i - 1) : i, c + 1 < cols ? near(i, i + 1) : i, 0);
      const zy = slope(positions, r > 0 ? near(i, i - cols) : i, r + 1 < rows ? near(i, i + cols) : i, 1);
      const light = lit(zx, zy);
      const at = 3 * slot(scale.share(z[i]));
      for (let k = 0; k < 3; k++) bytes[3 * i + k] = colours[at + k] * light;
    }
  }
}

function slope(positions, from, to, axis) {
  const run = positions[3 * to + axis] - positions[3 * from + axis];
  return run ? (positions[3 * to + 2] - positions[3 * from + 2]) / run : 0;
}

const [LIGHT_X, LIGHT_Y, LIGHT_Z] = [-0.42, -0.52, 0.744];

/** How brightly a slope is lit: mostly evenly, so that a colour stays the scale's. */
function lit(zx, zy) {
  const facing = (LIGHT_Z - zx * LIGHT_X - zy * LIGHT_Y) / Math.sqrt(1 + zx * zx + zy * zy);
  return 0.76 + 0.24 * Math.max(0, Math.min(1, 0.18 + 0.82 * facing));
}

/**
 * Corners of the triangles, ends of the net's lines, and the measured points; cells with a corner that is no number are
 * holes.
 * @param {{faces: Uint32Array, lines: Uint32Array, dots: Uint32Array}} buffers
 * @returns {{numFaces: number, numLines: number, numDots: number}} how many entries are used.
 */
export function fillCorners({ faces, lines, dots }, { rows, cols, kind, measured }) {
  let [f, l, d] = [0, 0, 0];
  const isSolid = (i) => kind[i] === KIND.value;
  // Of a fine grid every few lines are enough to see its shape.
  const stride = Math.max(1, Math.round(Math.max(rows, cols) / 60));
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) {
      const i = r * cols + c;
      if (!isSolid(i)) continue;
      if (measured[i]) dots[d++] = i;
      const [hasRight, hasUp] = [c + 1 < cols && isSolid(i + 1), r + 1 < rows && isSolid(i + cols)];
      if (hasRight && (r % stride === 0 || r === rows - 1)) [lines[l++], lines[l++]] = [i, i + 1];
      if (hasUp && (c % stride === 0 || c === cols - 1)) [lines[l++], lines[l++]] = [i, i + cols];
      if (!hasRight || !hasUp || !isSolid(i + cols + 1)) continue;
      faces[f++] = i;
      faces[f++] = i + 1;
      faces[f++] = i + cols + 1;
      faces[f++] = i;
      faces[f++] = i + cols + 1;
      faces[f++] = i + cols;
    }
  }
  return { numFaces: f, numLines: l, numDots: d };
}

/** The height of the surface above a place of the floor; NaN in a hole and outside. */
export function heightAt(grid, box, X, Y) {
  const [c, u] = between(grid.x, box.fromX(X));
  const [r, v] = between(grid.y, box.fromY(Y));
  if (c < 0 || r < 0) return NaN;
  const i = r * grid.cols + c;
  const h = (k) => box.toZ(grid.z[k]);
  const low = h(i) + (h(i + 1) - h(i)) * u;
  return low + (h(i + grid.cols) + (h(i + grid.cols + 1) - h(i + grid.cols)) * u - low) * v;
}

const STEPS = 420;

/**
 * Where a ray first meets the surface.
 * @param {{from: number[], way: number[]}} ray
 * @returns {[number, number, number] | null}
 */
export function hit(grid, box, { from, way }) {
  let [near, far] = [0, Infinity];
  [box.halfX, box.halfY, box.halfZ + 1e-6].forEach((half, k) => {
    if (Math.abs(way[k]) < 1e-12) {
      if (Math.abs(from[k]) > half) far = -1;
      return;
    }
    const [a, b] = [(-half - from[k]) / way[k], (half - from[k]) / way[k]];
    near = Math.max(near, Math.min(a, b));
    far = Math.min(far, Math.max(a, b));
  });
  if (!(near <= far)) return null;
  const at = (t) => [from[0] + way[0] * t, from[1] + way[1] * t, from[2] + way[2] * t];
  const above = (t) => {
    const point = at(t);
    return point[2] - heightAt(grid, box, point[0], point[1]);
  };
  let [before, t0] = [NaN, near];
  for (let i = 0; i <= STEPS; i++) {
    const t = near + ((far - near) * i) / STEPS;
    const now = above(t);
    if (now === 0 || (Number.isFinite(before) && Number.isFinite(now) && Math.sign(now) !== Math.sign(before))) {
      let [a, b] = [i ? t0 : t, t];
      for (let k = 0; k < 20; k++) {
        const middle = (a + b) / 2;
        if (Math.sign(above(middle)) === Math.sign(before)) a = middle;
        else b = middle;
      }
      return at(b);
    }
    [before, t0] = [now, t];
  }
  return null;
}

/** Whether nothing of the surface lies between the eye and a point on it. */
export function isSeen(grid, box, eye, point) {
  const way = point.map((value, k) => value - eye[k]);
  const found = hit(grid, box, { from: eye, way });
  if (!found) return true;
  const share = (found[0] - eye[0]) * way[0] + (found[1] - eye[1]) * way[1] + (found[2] - eye[2]) * way[2];
  return share / (way[0] ** 2 + way[1] ** 2 + way[2] ** 2) > 0.985;
}

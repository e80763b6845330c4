// Lines of equal loss through a grid, by marching squares. Pure.

/**
 * @typedef {object} Contour
 * @property {number} level
 * @property {Float64Array} points x0, y0, x1, y1, ... in the coordinates of the axes.
 * @property {boolean} isClosed whether it comes back to its start; a line that ends at the border stays open.
 */

/**
 * The contours of some levels. Cells with a corner that is no number have none, so lines end there.
 *
 * A line crosses an edge of a cell where the loss, interpolated along that edge, has the level. Where two corners that
 * face each other lie above and two below, the saddle of the bilinear surface decides which of them are joined.
 * @param {import("./grid.js").Grid} grid
 * @param {number[]} levels
 * @returns {Contour[]}
 */
export function contours(grid, levels) {
  if (grid.rows < 2 || grid.cols < 2) return [];
  const links = new Int32Array(grid.rows * grid.cols * 4).fill(-1);
  return levels.flatMap((level) => linesOf(grid, level, links));
}

// An edge has a number: 2 * node is the edge from that node to its right neighbour, 2 * node + 1 the one upwards.
function linesOf(grid, level, links) {
  const { z, rows, cols } = grid;
  const used = [];
  const join = (a, b) => {
    for (const [from, to] of [[a, b], [b, a]]) {
      links[links[from * 2] < 0 ? from * 2 : from * 2 + 1] = to;
      used.push(from);
    }
  };
  for (let r = 0; r < rows - 1; r++) {
    for (let c = 0; c < cols - 1; c++) {
      const node = r * cols + c;
      const [a, b, d, e] = [z[node], z[node + 1], z[node + cols], z[node + cols + 1]];
      const code = (a >= level ? 1 : 0) | (b >= level ? 2 : 0) | (e >= level ? 4 : 0) | (d >= level ? 8 : 0);
      if (code === 0 || code === 15) continue;
      if (a !== a || b !== b || d !== d || e !== e) continue; // a corner is no number
      const [bottom, right, top, left] = [2 * node, 2 * (node + 1) + 1, 2 * (node + cols), 2 * node + 1];
      if (code === 5 || code === 10) {
        const saddle = (a * e - b * d) / (a + e - b - d);
        // Above at a and e (5): they hang together where the saddle lies above too.
        if ((code === 5) === saddle >= level) {
          join(left, top);
          join(bottom, right);
        } else {
          join(left, bottom);
          join(right, top);
        }
      } else {
        const [from, to] = SIDES[code];
        const sides = [bottom, right, top, left];
        join(sides[from], sides[to]);
      }
    }
  }
  const lines = trace(grid, level, links, used);
  for (const edge of used) links[edge * 2] = links[edge * 2 + 1] = -1;
  return lines;
}

/** For each pattern of corners above: the two sides (bottom, right, top, left) that the line joins. */
const SIDES = { 1: [3, 0], 2: [0, 1], 3: [3, 1], 4: [1, 2], 6: [0, 2], 7: [3, 2], 8: [2, 3], 9: [2, 0], 11: [2, 1], 12: [1, 3], 13: [1, 0], 14: [0, 3] };

function trace(grid, level, links, used) {
  const seen = new Set();
  const lines = [];
  const follow = (start) => {
    const edges = [start];
    seen.add(start);
    for (let at = start; ;) {
      const next = [links[at * 2], links[at * 2 + 1]].find((edge) => edge >= 0 && !seen.has(edge));
      if (next === undefined) break;
      seen.add(next);
      edges.push(next);
      at = next;
    }
    return edges;
  };
  const isEnd = (edge) => links[edge * 2 + 1] < 0;
  for (const wantsEnds of [true, false]) {
    for (const edge of used) {
      if (seen.has(edge) || (wantsEnds && !isEnd(edge))) continue;
      const edges = follow(edge);
      const points = new Float64Array((edges.length + (wantsEnds ? 0 : 1)) * 2);
      edges.forEach((item, i) => points.set(crossing(grid, level, item), i * 2));
      if (!wantsEnds) points.set(points.subarray(0, 2), edges.length * 2);
      lines.push({ level, points, isClosed: !wantsEnds });
    }
  }
  return lines;
}

/** Where a level crosses an edge. */
function crossing({ x, y, z, cols }, level, edge) {
  const node = edge >> 1;
  const [r, c] = [Math.floor(node / cols), node % cols];
  const isUp = edge & 1;
  const [from, to] = [z[node], z[isUp ? node + cols : node + 1]];
  const share = to === from ? 0.5 : (level - from) / (to - from);
  return isUp ? [x[c], y[r] + (y[r + 1] - y[r]) * share] : [x[c] + (x[c + 1] - x[c]) * share, y[r]];
}

/**
 * Where labels stand on lines: on the straightest part that is long enough, away from other labels and from the frame.
 * @param {{points: ArrayLike<number>, width: number}[]} lines in pixels; `width` is the label's.
 * @param {{left: number, top: number, width: number, height: number}} area what labels must stay in.
 * @param {{x: number, y: number}[]} taken places that labels keep away from.
 * @returns {({x: number, y: number, angle: number} | null)[]} one for each line; null where it is too short.
 */
export function placeLabels(lines, area, taken = []) {
  const placed = [...taken];
  return lines.map(({ points, width }) => {
    const best = bestPlace(points, width, area, placed);
    if (best) placed.push(best);
    return best;
  });
}

const HEIGHT_PX = 14;
const APART_PX = 46;
const STUB_PX = 12;

function bestPlace(points, width, area, placed) {
  const num = points.length / 2;
  const along = new Float64Array(num);
  for (let i = 1; i < num; i++) along[i] = along[i - 1] + Math.hypot(points[2 * i] - points[2 * i - 2], points[2 * i + 1] - points[2 * i - 1]);
  const total = along[num - 1];
  const span = width + 8;
  if (!(total > span * 2.6)) return null;
  let best = null;
  const step = Math.max(span / 4, total / 48);
  // A stub beside a label would read as a sign before the number.
  for (let from = STUB_PX; from + span + STUB_PX <= total; from += step) {
    const [x0, y0] = at(points, along, from);
    const [x1, y1] = at(points, along, from + span);
    const [x, y] = at(points, along, from + span / 2);
    const half = Math.max(width / 2, HEIGHT_PX / 2) + 2;
    if (x < area.left + half || x > area.left + area.width - half || y < area.top + HEIGHT_PX || y > area.top + area.height - HEIGHT_PX) continue;
    const straight = Math.hypot(x1 - x0, y1 - y0) / span;
    const gap = placed.reduce((least, other) => Math.min(least, Math.hypot(other.x - x, other.y - y)), Infinity);
    if (gap < APART_PX) continue;
    let angle = Math.atan2(y1 - y0, x1 - x0);
    if (Math.abs(angle) > Math.PI / 2) angle -= Math.sign(angle) * Math.PI;
    // Level labels are read more easily than steep ones.
    const score = straight - 0.15 * Math.abs(angle) + Math.min(gap, 160) / 1600;
    if (straight > 0.86 && (!best || score > best.score)) best = { x, y, angle, score };
  }
  return best && { x: best.x, y: best.y, angle: best.angle };
}

/** The point at a length along a line. */
function at(points, along, length) {
  let [low, high] = [0, along.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (along[middle] <= length) low = middle;
    else high = middle;
  }
  const share = along[high] > along[low] ? (length - along[low]) / (along[high] - along[low]) : 0;
  return [points[2 * low] + (points[2 * high] - points[2 * low]) * share, points[2 * low + 1] + (points[2 * high + 1] - points[2 * low + 1]) * share];
}

/**
 * A line with a gap around a label, so that no piece of it reads as a sign before a number.
 * @param {ArrayLike<number>} points x0, y0, x1, y1, ...
 * @param {{x: number, y: number}} place middle of the gap.
 * @returns {number[]} NaN, NaN where the line begins anew.
 */
export function gapped(points, { x, y }, radius) {
  const found = [];
  const add = (share, i) => found.push(points[i] + (points[i + 2] - points[i]) * share, points[i + 1] + (points[i + 3] - points[i + 1]) * share);
  for (let i = 0; i + 3 < points.length; i += 2) {
    const [dx, dy, fx, fy] = [points[i + 2] - points[i], points[i + 3] - points[i + 1], points[i] - x, points[i + 1] - y];
    // Where the segment is within the circle: between the two roots of a quadratic.
    const [a, b, c] = [dx * dx + dy * dy, fx * dx + fy * dy, fx * fx + fy * fy - radius * radius];
    const root = Math.sqrt(Math.max(0, b * b - a * c));
    const [enters, leaves] = b * b > a * c && a > 0 ? [(-b - root) / a, (-b + root) / a] : c < 0 ? [0, 1] : [1, 1];
    const [from, to] = [Math.min(1, Math.max(0, enters)), Math.min(1, Math.max(0, leaves))];
    if (i === 0 && c >= 0) add(0, i);
    if (from === to) {
      add(1, i);
      continue;
    }
    if (from > 0) add(from, i);
    found.push(NaN, NaN);
    if (to < 1) {
      add(to, i);
      add(1, i);
    }
  }
  return found;
}

// Draws lines and marks onto uPlot's canvas. uPlot owns axes, scales and the cursor; the points are drawn here, because
// every run has its own x values and smoothing, gaps and marks need rules of their own.

const MARK = 3.5;
const DOTS_BELOW = 40;
const MOST_DOTTED_LINES = 12;
const MOST_OPAQUE_LINES = 60;
const MOST_WIDE_POINTS = 2500;
/** A line that goes up and down for longer than so many widths of the plot is drawn solid: dashes in noise cannot be seen,
 * and cost more than all the rest. */
const MOST_DASHED = 5;

/** From a value to a canvas coordinate, for a scale of uPlot. */
export function projection(distribution, [low, high], start, size) {
  const warp = WARPS[distribution];
  const [a, b] = [warp(low), warp(high)];
  const factor = size / (b - a);
  return (value) => start + (warp(value) - a) * factor;
}

export const WARPS = { linear: (v) => v, log: Math.log10, symlog: Math.asinh };

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {{left: number, top: number, width: number, height: number}} box plot area in canvas pixels.
 * @param {object} view
 * @param {number} view.ratio canvas pixels in a CSS pixel.
 * @param {boolean} view.hasMain one run is pointed at; the others are faded.
 * @param {[number, number]} view.x range of x, and `view.y` of y; `view.xScale`, `view.yScale` their kinds.
 * @param {{x: ArrayLike<number>, y: ArrayLike<number>, smoothed: ArrayLike<number> | null, length: number,
 *   colour: string, dash: number[], isFaded: boolean}[]} view.lines later ones on top.
 */
export function drawLines(ctx, box, view) {
  ctx.save();
  ctx.beginPath();
  // A little beyond the frame, so that dots and marks at the edge are whole.
  const edge = 4 * view.ratio;
  ctx.rect(box.left - edge, box.top - edge, box.width + 2 * edge, box.height + 2 * edge);
  ctx.clip();
  ctx.lineJoin = "bevel";
  const toX = projection(view.xScale, view.x, box.left, box.width);
  const toY = projection(view.yScale, view.y, box.top + box.height, -box.height);
  // Canvases draw lines of one device pixel about fifteen times faster than wider ones, and many lines need them thin.
  const isFine = view.lines.reduce((sum, line) => sum + line.length, 0) > MOST_WIDE_POINTS;
  const thin = view.ratio < 1.5 ? 1 : view.ratio;
  const hasDots = view.lines.length <= MOST_DOTTED_LINES;
  const dense = view.lines.length > MOST_OPAQUE_LINES ? 0.6 : 1;
  for (const line of view.lines) {
    const [first, last] = bounds(line, view.x);
    ctx.strokeStyle = ctx.fillStyle = line.colour;
    const alpha = line.isFaded ? 0.15 : 1;
    const place = { toX, toY, first, last, isLogX: view.xScale === "log", isLogY: view.yScale === "log", ratio: view.ratio };
    if (line.smoothed) {
      ctx.globalAlpha = alpha * (view.lines.length > 8 ? 0.18 : 0.3);
      ctx.lineWidth = thin;
      trace(ctx, line.x, line.y, place);
    }
    ctx.globalAlpha = alpha * (view.hasMain && !line.isFaded ? 1 : dense);
    ctx.lineWidth = isFine ? thin : 1.5 * view.ratio;
    const shown = trace(ctx, line.x, line.smoothed ?? line.y, { ...place, dash: line.dash, longest: MOST_DASHED * box.width });
    if (shown.num === 1 || (shown.num < DOTS_BELOW && hasDots)) dots(ctx, line.x, line.smoothed ?? line.y, place, shown.num === 1 ? 3.5 : 2.2);
    else for (const i of shown.lonely) dot(ctx, toX(line.x[i]), toY((line.smoothed ?? line.y)[i]), 2.5 * view.ratio);
    ctx.globalAlpha = alpha;
    marks(ctx, box, line, place);
  }
  ctx.restore();
}

/** Indices of the points in the window, with one more on either side so that lines leave it. */
function bounds({ x, length }, [low, high]) {
  const lower = (value) => {
    let a = 0;
    let b = length;
    while (a < b) {
      const m = (a + b) >> 1;
      if (x[m] < value) a = m + 1;
      else b = m;
    }
    return a;
  };
  let end = lower(high);
  while (end < length && x[end] === high) end++;
  return [Math.max(0, lower(low) - 1), Math.min(length, end + 1)];
}

const fits = (value, isLog) => Number.isFinite(value) && (!isLog || value > 0);

/** Strokes the points that can be shown; a point that cannot breaks the line. */
function trace(ctx, x, y, { toX, toY, first, last, isLogX, isLogY, ratio, dash = [], longest = 0 }) {
  let num = 0;
  let since = 0;
  let travelled = 0;
  let py = 0;
  const lonely = [];
  ctx.beginPath();
  for (let i = first; i < last; i++) {
    if (!fits(y[i], isLogY) || !fits(x[i], isLogX)) {
      if (since === 1) lonely.push(i - 1);
      since = 0;
      continue;
    }
    num++;
    const to = toY(y[i]);
    if (since++ === 0) ctx.moveTo(toX(x[i]), to);
    else {
      ctx.lineTo(toX(x[i]), to);
      travelled += Math.abs(to - py);
    }
    py = to;
  }
  if (since === 1) lonely.push(last - 1);
  const isDashed = dash.length > 0 && travelled < longest;
  if (isDashed) ctx.setLineDash(dash.map((length) => length * ratio));
  ctx.stroke();
  if (isDashed) ctx.setLineDash([]);
  return { num, lonely };
}

function dot(ctx, x, y, radius) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}

function dots(ctx, x, y, { toX, toY, first, last, isLogX, isLogY, ratio }, radius) {
  for (let i = first; i < last; i++) if (fits(y[i], isLogY) && fits(x[i], isLogX)) dot(ctx, toX(x[i]), toY(y[i]), radius * ratio);
}

/** NaN: a cross at the bottom. Infinities: triangles at the edge they run to. Not above 0 on a log axis: a hollow one. */
function marks(ctx, box, { x, y }, { toX, first, last, isLogX, isLogY, ratio }) {
  const size = MARK * ratio;
  const bottom = box.top + box.height - size - ratio;
  const top = box.top + size + ratio;
  const seen = new Set();
  ctx.lineWidth = 1.3 * ratio;
  for (let i = first; i < last; i++) {
    const value = y[i];
    if (fits(value, isLogY) || !fits(x[i], isLogX)) continue;
    const at = toX(x[i]);
    const kind = Number.isNaN(value) ? "nan" : value === Infinity ? "up" : value === -Infinity ? "down" : "low";
    const slot = `${kind}${Math.round(at / size)}`;
    if (seen.has(slot)) continue;
    seen.add(slot);
    ctx.beginPath();
    if (kind === "nan") {
      ctx.moveTo(at - size, bottom - size);
      ctx.lineTo(at + size, bottom + size);
      ctx.moveTo(at + size, bottom - size);
      ctx.lineTo(at - size, bottom + size);
      ctx.stroke();
      continue;
    }
    const [middle, tip] = kind === "up" ? [top, -size] : [bottom, size];
    ctx.moveTo(at - size, middle - tip);
    ctx.lineTo(at + size, middle - tip);
    ctx.lineTo(at, middle + tip);
    ctx.closePath();
    kind === "low" ? ctx.stroke() : ctx.fill();
  }
}

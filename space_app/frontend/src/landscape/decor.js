// What stands around and on a landscape: axes, the colour bar, marks, the path of training, measured points.

import { colourAt, css } from "./colourmaps.js";
import { KIND } from "./grid.js";
import { barOf } from "./plane.js";
import { scaleLabels } from "./scale.js";

/** Readable on every colour of a map: white with a dark edge. */
export const ON_MAP = { ink: "#ffffff", edge: "rgba(16,20,28,0.82)" };

/** Room that axes and the colour bar need around an area. */
export function margins(pen, { scale, yTicks, hasBar }) {
  const wide = (labels) => Math.max(0, ...labels.map((label) => pen.measure(label)));
  const bar = hasBar ? 16 + 14 + 7 + Math.max(wide(scaleLabels(scale, scale.ticks(6))), pen.measure(scale.title) - 30) : 0;
  return { left: 30 + Math.ceil(wide(yTicks)), right: Math.max(14, Math.ceil(bar) + 6), top: hasBar ? 28 : 14, bottom: 46 };
}

/** The frame of an area with ticks and names on its left and lower side. */
export function drawAxes(pen, plot, { xTicks, yTicks, xLabel, yLabel, look }) {
  const { left, top, width, height } = plot.area;
  pen.rect(left - 0.5, top - 0.5, width + 1, height + 1, { stroke: look.axis });
  for (const { value, label } of xTicks) {
    const x = plot.px(value);
    pen.line([x, top + height, x, top + height + 4], { stroke: look.axis });
    pen.text(label, x, top + height + 13, { fill: look.muted, align: "center" });
  }
  for (const { value, label } of yTicks) {
    const y = plot.py(value);
    pen.line([left - 4, y, left, y], { stroke: look.axis });
    pen.text(label, left - 7, y, { fill: look.muted, align: "right" });
  }
  pen.text(cut(pen, xLabel, width), left + width / 2, top + height + 32, { size: 12, fill: look.text, align: "center" });
  const room = left - 18 - Math.max(0, ...yTicks.map(({ label }) => pen.measure(label)));
  pen.text(cut(pen, yLabel, Math.max(height, Math.min(pen.height - 20, height + 120))), Math.max(9, room), top + height / 2, { size: 12, fill: look.text, align: "center", angle: -Math.PI / 2 });
}

/** A text that fits into a width, with an ellipsis where it was cut. */
export function cut(pen, text, width, style = { size: 12 }) {
  if (pen.measure(text, style) <= width) return text;
  const chars = [...text];
  while (chars.length > 1 && pen.measure(`${chars.join("")}…`, style) > width) chars.pop();
  return `${chars.join("")}…`;
}

/**
 * The colour bar. Arrows at its ends say that losses lie beyond it.
 * @param {number[]} levels contours that are marked on it.
 */
export function drawBar(pen, area, { scale, colours, levels, look }) {
  const bar = barOf(area);
  const slices = Math.min(128, Math.max(32, Math.round(bar.height / 2)));
  for (let i = 0; i < slices; i++) {
    const [from, to] = [(i / slices) * bar.height, ((i + 1) / slices) * bar.height];
    pen.rect(bar.left, bar.top + bar.height - to, bar.width, to - from + (i ? 0.6 : 0), { fill: css(colourAt(colours, (i + 0.5) / slices)) });
  }
  const tip = (y, dy, share) => pen.line([bar.left, y, bar.left + bar.width, y, bar.left + bar.width / 2, y + dy, bar.left, y], { fill: css(colourAt(colours, share)), stroke: look.axis });
  if (scale.isCutHigh) tip(bar.top, -8, 1);
  if (scale.isCutLow) tip(bar.top + bar.height, 8, 0);
  pen.rect(bar.left - 0.5, bar.top - 0.5, bar.width + 1, bar.height + 1, { stroke: look.axis });
  for (const level of levels) {
    const y = bar.top + bar.height * (1 - scale.share(level));
    pen.line([bar.left, y, bar.left + bar.width, y], { stroke: ON_MAP.edge, alpha: 0.75 });
  }
  const ticks = scale.ticks(Math.max(2, Math.min(9, Math.floor(bar.height / 32))));
  const labels = scaleLabels(scale, ticks);
  let last = Infinity;
  ticks.forEach((tick, i) => {
    const y = bar.top + bar.height * (1 - scale.share(tick));
    if (last - y < 12) return;
    last = y;
    pen.line([bar.left + bar.width, y, bar.left + bar.width + 4, y], { stroke: look.axis });
    pen.text(labels[i].replace(/^-/, "−"), bar.left + bar.width + 7, y, { fill: look.muted });
  });
  pen.text(scale.title, Math.min(bar.left, pen.width - 4 - pen.measure(scale.title)), bar.top - 15, { fill: look.text });
}

/** Named points of the plane. */
export function drawMarks(pen, points, { look, area }) {
  for (const { px, py, label, alpha = 1 } of points) {
    pen.circle(px, py, 5.5, { fill: ON_MAP.edge, alpha });
    pen.circle(px, py, 4, { fill: ON_MAP.ink, alpha });
    pen.circle(px, py, 1.6, { fill: ON_MAP.edge, alpha });
    const width = pen.measure(label, { size: 13, weight: 600 });
    const isAtRight = px + 11 + width > area.left + area.width;
    const isAtTop = py - 12 < area.top + 4;
    pen.text(label, px + (isAtRight ? -10 : 10), py + (isAtTop ? 13 : -10), { size: 13, weight: 600, fill: look.text, halo: look.back, align: isAtRight ? "right" : "left", alpha });
  }
}

/**
 * The way that training took, with the names of its ends.
 * @param {{px: number, py: number, label: string}[]} points
 * @param {{label: string}[]} about.marks an end that is called as one of them is named by it.
 */
export function drawPath(pen, points, { look, area, marks }) {
  if (points.length === 0) return;
  const line = points.flatMap(({ px, py }) => [px, py]);
  pen.line(line, { stroke: ON_MAP.edge, width: 4 });
  pen.line(line, { stroke: ON_MAP.ink, width: 1.8 });
  if (points.length <= 80) for (const { px, py } of points.slice(1, -1)) pen.circle(px, py, 2.2, { fill: ON_MAP.ink, stroke: ON_MAP.edge });
  const [first, last] = [points[0], points.at(-1)];
  const named = new Set((marks ?? []).map((mark) => mark.label));
  const name = ({ px, py, label }, isBelow) => {
    if (named.has(label)) return;
    const isAtRight = px + pen.measure(label) + 8 > area.left + area.width;
    pen.text(label, px + (isAtRight ? -9 : 9), Math.min(area.top + area.height - 8, py + (isBelow ? 13 : -2)), { fill: look.text, halo: look.back, align: isAtRight ? "right" : "left" });
  };
  if (points.length > 1) {
    pen.circle(first.px, first.py, 4.5, { fill: ON_MAP.edge, stroke: ON_MAP.ink, width: 1.6 });
    name(first, false);
  }
  pen.circle(last.px, last.py, 4.5, { fill: ON_MAP.ink, stroke: ON_MAP.edge, width: 1.6 });
  name(last, true);
}

/** A dot for each cell that was evaluated. */
export function drawDots(pen, grid, place, { isOnMap, look }) {
  const r = Math.max(0.9, Math.min(2.6, 90 / Math.max(grid.rows, grid.cols)));
  for (let i = 0; i < grid.z.length; i++) {
    if (!grid.measured[i]) continue;
    const at = place(i);
    if (at) pen.circle(at[0], at[1], r, isOnMap ? { fill: ON_MAP.ink, stroke: ON_MAP.edge, width: 0.8 } : { fill: look.text });
  }
}

/** The rectangles of cells without a number; neighbours in a row are one. */
export function emptyRects(grid, plot) {
  const rects = [];
  for (let r = 0; r < grid.rows; r++) {
    for (let c = 0; c < grid.cols; c++) {
      if (grid.kind[r * grid.cols + c] === KIND.value) continue;
      const from = c;
      while (c + 1 < grid.cols && grid.kind[r * grid.cols + c + 1] !== KIND.value) c++;
      const [left, right] = [plot.px(grid.edgesX[from]), plot.px(grid.edgesX[c + 1])];
      const [top, bottom] = grid.isLine ? [plot.area.top, plot.area.top + plot.area.height] : [plot.py(grid.edgesY[r + 1]), plot.py(grid.edgesY[r])];
      rects.push([left, top, right - left, bottom - top]);
    }
  }
  return rects;
}

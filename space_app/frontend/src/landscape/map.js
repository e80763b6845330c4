// The heat map and the contours of one landscape.

import { colourAt, css, luminance, readable } from "./colourmaps.js";
import { contours, gapped, placeLabels } from "./contours.js";
import { drawAxes, drawBar, drawDots, drawMarks, drawPath, emptyRects, margins, ON_MAP } from "./decor.js";
import { axisTicks, isSameKind, placeMap } from "./plane.js";
import { scaleLabels } from "./scale.js";

const LABEL_PX = 10.5;
const MOST_LABELS = 60;

/**
 * @param {object} pen
 * @param {object} picture
 * @param {import("./grid.js").Grid} picture.grid
 * @param {object} picture.payload of the frame: names of the axes, marks, path.
 * @param {object} picture.scale
 * @param {Uint8Array} picture.colours
 * @param {object} picture.settings
 * @param {object} picture.look colours of the page.
 * @returns {object} the plot: its area, and the way between coordinates and pixels.
 */
export function paintMap(pen, picture) {
  const { grid, payload, scale, colours, settings, look } = picture;
  const hasHeat = settings.view !== "contours";
  const levels = settings.view === "heat" ? [] : scale.levels(settings.levels);
  const plot = placed(pen, picture);
  const { area } = plot;
  pen.clipped(area, () => {
    if (hasHeat) pen.cells(grid, plot, scale, colours);
    const empty = emptyRects(grid, plot);
    if (empty.length) pen.hatched(empty, { back: look.back, ink: look.hatch });
    drawContours(pen, plot, levels, { ...picture, hasHeat });
    if (settings.dots) drawDots(pen, grid, (i) => [plot.px(grid.x[i % grid.cols]), plot.py(grid.y[Math.floor(i / grid.cols)])], { isOnMap: hasHeat, look });
    if (settings.marks) drawPath(pen, pathPoints(payload, plot), { look, area, marks: payload.marks });
  });
  if (settings.marks) drawMarks(pen, markPoints(payload, plot), { look, area });
  drawAxes(pen, plot, { xTicks: plot.xTicks, yTicks: plot.yTicks, xLabel: payload.x_label ?? "x", yLabel: payload.y_label ?? "y", look });
  drawBar(pen, area, { scale, colours, levels, look });
  return plot;
}

function placed(pen, { grid, payload, scale, settings }) {
  const xDomain = [grid.edgesX[0], grid.edgesX[grid.cols]];
  const yDomain = [grid.edgesY[0], grid.edgesY[grid.rows]];
  const isEqual = settings.axes === "equal" || (settings.axes === "auto" && isSameKind(payload.x_label ?? "x", payload.y_label ?? "y"));
  const rough = axisTicks(yDomain, pen.height - 80, 44);
  const margin = margins(pen, { scale, yTicks: rough.map(({ label }) => label), hasBar: true });
  const plot = placeMap({ width: pen.width, height: pen.height, xDomain, yDomain, isEqual, isFilling: settings.axes === "fill", margin });
  return { ...plot, xTicks: axisTicks(xDomain, plot.area.width, 64), yTicks: axisTicks(yDomain, plot.area.height, 44) };
}

const isInside = (plot, x, y) => x >= plot.xDomain[0] && x <= plot.xDomain[1] && y >= plot.yDomain[0] && y <= plot.yDomain[1];

const markPoints = ({ marks }, plot) => (marks ?? []).filter(({ x, y }) => isInside(plot, x, y)).map(({ label, x, y }) => ({ label, px: plot.px(x), py: plot.py(y) }));

const pathPoints = ({ path }, plot) => (path?.x ?? []).map((x, i) => ({ px: plot.px(x), py: plot.py(path.y[i]), label: path.labels?.[i] ?? "" }));

const kept = new WeakMap();

/** The contours of a grid, kept while the levels stay: a resize draws the same ones. */
function linesOf(grid, levels) {
  const id = levels.join();
  if (kept.get(grid)?.id !== id) kept.set(grid, { id, lines: contours(grid, levels) });
  return kept.get(grid).lines;
}

function drawContours(pen, plot, levels, { grid, payload, scale, colours, settings, look, hasHeat }) {
  if (levels.length === 0) return;
  const names = new Map(scaleLabels(scale, levels).map((label, i) => [levels[i], label.replace(/^-/, "−")]));
  const inks = new Map(levels.map((level) => [level, inkOf(colourAt(colours, scale.share(level)), hasHeat, look)]));
  const lines = linesOf(grid, levels).map(({ level, points }) => {
    const pixels = new Float64Array(points.length);
    for (let i = 0; i < points.length; i += 2) {
      pixels[i] = plot.px(points[i]);
      pixels[i + 1] = plot.py(points[i + 1]);
    }
    return { level, points: pixels, width: pen.measure(names.get(level), { size: LABEL_PX }) };
  });
  const taken = settings.marks ? markPoints(payload, plot).map(({ px, py }) => ({ x: px + 10, y: py - 6 })) : [];
  lines.sort((a, b) => b.points.length - a.points.length);
  const places = placeLabels(lines.filter(({ points }) => points.length > 8).slice(0, MOST_LABELS), plot.area, taken);
  lines.forEach(({ level, points, width }, i) => {
    const { line, text } = inks.get(level);
    const shown = places[i] ? gapped(points, places[i], width / 2 + 4) : points;
    pen.line(shown, { stroke: line, width: hasHeat ? 1.1 : 1.7, alpha: hasHeat ? 0.75 : 1 });
    if (places[i]) pen.text(names.get(level), places[i].x, places[i].y, { size: LABEL_PX, fill: text, align: "center", angle: places[i].angle });
  });
}

/** What a line is drawn with: dark on light colours and light on dark ones, or its own colour where there is no map below. */
function inkOf(rgb, hasHeat, look) {
  if (!hasHeat) {
    const ink = css(readable(rgb, look.backRgb, look.textRgb));
    return { line: ink, text: ink };
  }
  const isLight = luminance(rgb) > 0.3;
  return { line: isLight ? "#10141c" : ON_MAP.ink, text: isLight ? "#10141c" : ON_MAP.ink };
}

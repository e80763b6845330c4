// A landscape of one row: the loss along a line.

import { drawAxes, drawMarks, emptyRects, margins } from "./decor.js";
import { KIND, lossAt } from "./grid.js";
import { axisTicks, projection } from "./plane.js";
import { scaleLabels } from "./scale.js";

const ROOM = 0.05;

/** As `paintMap`; the y axis is the loss, by the scale. */
export function paintCurve(pen, { grid, payload, scale, settings, look, colour }) {
  const ticks = scale.ticks(Math.max(2, Math.floor((pen.height - 70) / 44)));
  const labels = scaleLabels(scale, ticks).map((label) => label.replace(/^-/, "−"));
  const margin = margins(pen, { scale, yTicks: labels, hasBar: false });
  const area = { left: margin.left, top: margin.top + 14, width: Math.max(20, pen.width - margin.left - margin.right), height: Math.max(20, pen.height - margin.top - 14 - margin.bottom) };
  const xDomain = [grid.x[0], grid.x[grid.cols - 1]];
  const plot = { area, ...projection(area, xDomain, [0, 1]) };
  plot.py = (loss) => area.top + area.height * (1 - ROOM - scale.share(loss) * (1 - 2 * ROOM));
  const yTicks = ticks.map((value, i) => ({ value, label: labels[i] }));
  const xTicks = axisTicks(xDomain, area.width, 64);
  for (const { value } of yTicks) pen.line([area.left, plot.py(value), area.left + area.width, plot.py(value)], { stroke: look.grid });
  for (const { value } of xTicks) pen.line([plot.px(value), area.top, plot.px(value), area.top + area.height], { stroke: look.grid });
  pen.clipped(area, () => {
    const empty = emptyRects(grid, plot);
    if (empty.length) pen.hatched(empty, { back: look.back, ink: look.hatch });
    const points = new Float64Array(grid.cols * 2);
    for (let c = 0; c < grid.cols; c++) points.set([plot.px(grid.x[c]), grid.kind[c] === KIND.value ? plot.py(grid.z[c]) : NaN], c * 2);
    pen.line(points, { stroke: colour, width: 2 });
    for (let c = 0; c < grid.cols; c++) {
      if (grid.kind[c] !== KIND.value) continue;
      const isAlone = (c === 0 || grid.kind[c - 1] !== KIND.value) && (c + 1 === grid.cols || grid.kind[c + 1] !== KIND.value);
      if (isAlone || (settings.dots && grid.measured[c])) pen.circle(points[2 * c], points[2 * c + 1], 3, { fill: colour, stroke: look.back, width: 1 });
    }
  });
  if (settings.marks) drawNames(pen, plot, { grid, payload, look });
  drawAxes(pen, plot, { xTicks, yTicks, xLabel: payload.x_label ?? "x", yLabel: scale.title, look });
  return plot;
}

/** Named points: a line down to the axis, and the point on the curve. */
function drawNames(pen, plot, { grid, payload, look }) {
  const { area } = plot;
  const inside = (payload.marks ?? []).filter(({ x }) => x >= plot.xDomain[0] && x <= plot.xDomain[1]);
  const points = inside.map(({ label, x }) => {
    const loss = lossAt(grid, x, 0);
    return { label, px: plot.px(x), py: Number.isFinite(loss) ? Math.max(area.top, Math.min(area.top + area.height, plot.py(loss))) : area.top + area.height / 2 };
  });
  for (const { px } of points) pen.line([px, area.top, px, area.top + area.height], { stroke: look.muted, dash: [3, 3] });
  drawMarks(pen, points, { look, area });
}

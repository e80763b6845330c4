// The surface in its box: walls with ticks behind it, names of axes, marks and the path on it.

import { lens } from "./camera.js";
import { cut, drawBar, drawMarks, drawPath, margins } from "./decor.js";
import { lossAt } from "./grid.js";
import { axisTicks, isSameKind } from "./plane.js";
import { boxOf, isSeen } from "./relief.js";
import { scaleLabels } from "./scale.js";

const LEAST_AXIS_PX = 44;

/** Which surfaces hold which points, so that a turn of the camera fills no buffer. */
const filled = new WeakMap();

/**
 * As `paintMap`; besides, it needs the surface and the camera.
 * @returns {object} the plot: its box and its lens.
 */
export function paintSurface(pen, picture) {
  const { grid, payload, scale, colours, settings, look, surface, camera } = picture;
  const margin = margins(pen, { scale, yTicks: [], hasBar: true });
  const area = { left: 4, top: 30, width: Math.max(40, pen.width - margin.right - 8), height: Math.max(40, pen.height - 34) };
  const isEqual = settings.axes !== "fill" && (settings.axes === "equal" || isSameKind(payload.x_label ?? "x", payload.y_label ?? "y"));
  const box = boxOf(grid, scale, isEqual);
  const view = lens(camera, area);
  const scales = drawBox(pen, { box, view, scale, payload, look });
  const key = [scale, colours, settings.wire, settings.dots, isEqual];
  const known = filled.get(surface);
  if (known?.grid !== grid || known.key.some((value, i) => value !== key[i])) {
    surface.update({ grid, box, scale, colours, isNet: settings.wire, hasDots: settings.dots });
    filled.set(surface, { grid, key });
  }
  pen.picture(surface.draw(view, pen.ratio ?? 2), area.left, area.top, area.width, area.height);
  for (const draw of scales) draw();
  const place = (x, y) => {
    const loss = lossAt(grid, x, y);
    const point = [box.toX(x), box.toY(y), Number.isFinite(loss) ? box.toZ(loss) : -box.halfZ];
    return { ...view.project(point), point, isSeen: settings.wire || isSeen(grid, box, view.eye, point) };
  };
  if (settings.marks) drawNamed(pen, { grid, payload, place, view, box, look, area });
  drawBar(pen, { ...area, height: area.height - 12 }, { scale, colours, levels: [], look });
  return { area, box, lens: view, place };
}

function drawNamed(pen, { grid, payload, place, view, box, look, area }) {
  const isInside = (x, y) => x >= grid.x[0] && x <= grid.x[grid.cols - 1] && y >= grid.y[0] && y <= grid.y[grid.rows - 1];
  const { path } = payload;
  const way = (path?.x ?? []).map((x, i) => ({ x, y: path.y[i], label: path.labels?.[i] ?? "" })).filter(({ x, y }) => isInside(x, y));
  drawPath(pen, way.map(({ x, y, label }) => ({ ...place(x, y), label })), { look, area, marks: payload.marks });
  const marks = (payload.marks ?? []).filter(({ x, y }) => isInside(x, y)).map(({ label, x, y }) => ({ label, ...place(x, y) }));
  for (const { point } of marks) {
    const [from, to] = [view.project([point[0], point[1], -box.halfZ]), view.project(point)];
    pen.line([from.px, from.py, to.px, to.py], { stroke: look.text, dash: [2, 3], alpha: 0.6 });
  }
  drawMarks(pen, marks.map((mark) => ({ ...mark, alpha: mark.isSeen ? 1 : 0.45 })), { look, area });
}

/**
 * The three sides of the box that lie behind the surface.
 * @returns {(() => void)[]} what draws the labels of the axes, which stand before it.
 */
function drawBox(pen, { box, view, scale, payload, look }) {
  const { halfX, halfY, halfZ } = box;
  const far = [view.back[0] > 0 ? -halfX : halfX, view.back[1] > 0 ? -halfY : halfY, view.back[2] >= 0 ? -halfZ : halfZ];
  const at = (x, y, z) => {
    const { px, py } = view.project([x, y, z]);
    return [px, py];
  };
  const side = (corners) => pen.line([...corners.flatMap((corner) => at(...corner)), ...at(...corners[0])], { fill: look.wall, stroke: look.line });
  side([[-halfX, -halfY, far[2]], [halfX, -halfY, far[2]], [halfX, halfY, far[2]], [-halfX, halfY, far[2]]]);
  side([[far[0], -halfY, -halfZ], [far[0], halfY, -halfZ], [far[0], halfY, halfZ], [far[0], -halfY, halfZ]]);
  side([[-halfX, far[1], -halfZ], [halfX, far[1], -halfZ], [halfX, far[1], halfZ], [-halfX, far[1], halfZ]]);
  const scales = [];
  for (const axis of axes(box, view, scale, payload, far)) {
    const [from, to] = [at(...axis.edge(-1)), at(...axis.edge(1))];
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    if (length < LEAST_AXIS_PX) continue;
    const ticks = axis.ticks(length);
    for (const { share } of ticks) for (const [a, b] of axis.grid(share)) pen.line([...at(...a), ...at(...b)], { stroke: look.line });
    scales.push(() => drawScale(pen, { axis, at, from, to, ticks, look, centre: at(0, 0, 0) }));
  }
  return scales;
}

function axes(box, view, scale, payload, far) {
  const { halfX, halfY, halfZ } = box;
  const near = [-far[0], -far[1]];
  const share = (value, [low, high]) => ((value - low) / (high - low)) * 2 - 1;
  const plain = (domain) => (length) => axisTicks(domain, length, 46).map((tick) => ({ ...tick, share: share(tick.value, domain) }));
  const heights = (length) => {
    const ticks = scale.ticks(Math.max(2, Math.floor(length / 30)));
    return scaleLabels(scale, ticks).map((label, i) => ({ label: label.replace(/^-/, "−"), share: scale.share(ticks[i]) * 2 - 1 }));
  };
  // Of the two upright edges at the outline, the left one.
  const upright = [[far[0], near[1]], [near[0], far[1]]].sort((a, b) => view.project([...a, 0]).px - view.project([...b, 0]).px)[0];
  return [
    { name: payload.x_label ?? "x", ticks: plain(box.xDomain), edge: (s) => [s * halfX, near[1], -halfZ], grid: (s) => [[[s * halfX, -halfY, far[2]], [s * halfX, halfY, far[2]]], [[s * halfX, far[1], -halfZ], [s * halfX, far[1], halfZ]]] },
    { name: payload.y_label ?? "y", ticks: plain(box.yDomain), edge: (s) => [near[0], s * halfY, -halfZ], grid: (s) => [[[-halfX, s * halfY, far[2]], [halfX, s * halfY, far[2]]], [[far[0], s * halfY, -halfZ], [far[0], s * halfY, halfZ]]] },
    { name: scale.title, ticks: heights, isUpright: true, edge: (s) => [...upright, s * halfZ], grid: (s) => [[[-halfX, far[1], s * halfZ], [halfX, far[1], s * halfZ]], [[far[0], -halfY, s * halfZ], [far[0], halfY, s * halfZ]]] },
  ];
}

/** The labels of one axis, on the side of its edge that points away from the box. */
function drawScale(pen, { axis, at, from, to, ticks, look, centre }) {
  const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  let out = [(to[1] - from[1]) / length, (from[0] - to[0]) / length];
  if ((middle[0] - centre[0]) * out[0] + (middle[1] - centre[1]) * out[1] < 0) out = out.map((value) => -value);
  const align = out[0] < -0.5 ? "right" : out[0] > 0.5 ? "left" : "center";
  pen.line([...from, ...to], { stroke: look.axis });
  let widest = 0;
  for (const { label, share } of ticks) {
    const [x, y] = at(...axis.edge(share));
    pen.line([x, y, x + out[0] * 4, y + out[1] * 4], { stroke: look.axis });
    pen.text(label, x + out[0] * 10, y + out[1] * 12, { fill: look.muted, halo: look.back, align });
    widest = Math.max(widest, pen.measure(label));
  }
  const gap = 29 + Math.abs(out[0]) * (widest - 4);
  let angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  if (Math.abs(angle) > Math.PI / 2) angle -= Math.sign(angle) * Math.PI;
  if (axis.isUpright && Math.abs(angle) > 1.4) angle = -Math.PI / 2;
  pen.text(cut(pen, axis.name, Math.max(90, length)), middle[0] + out[0] * gap, middle[1] + out[1] * gap, { size: 12, fill: look.text, halo: look.back, align: "center", angle });
}

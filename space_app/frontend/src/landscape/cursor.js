// The cursor: which cell is pointed at, how that is drawn, and what it says.

import { h } from "../dom.js";
import { ON_MAP } from "./decor.js";
import { cellAt, cellText, KIND, nearestTo } from "./grid.js";
import { hit } from "./relief.js";

const REACH_PX = 10;

/** The cell below a place of the picture: [column, row], or null. */
export function cellBelow(plot, grid, px, py) {
  if (plot.lens) {
    const point = hit(grid, plot.box, plot.lens.ray(px, py));
    return point ? [nearestTo(grid.x, plot.box.fromX(point[0])), nearestTo(grid.y, plot.box.fromY(point[1]))] : null;
  }
  const { left, top, width, height } = plot.area;
  if (px < left || px > left + width || py < top || py > top + height) return null;
  if (grid.isLine) return [nearestTo(grid.x, plot.x(px)), 0];
  const [c, r] = [cellAt(grid.edgesX, plot.x(px)), cellAt(grid.edgesY, plot.y(py))];
  return c < 0 || r < 0 ? null : [c, r];
}

/** The cell of a grid that holds a point of the plane; null outside, and for a line off it. */
export function cellOf(grid, { x, y }) {
  const c = cellAt(grid.edgesX, x);
  const r = grid.isLine ? 0 : cellAt(grid.edgesY, y);
  return c < 0 || r < 0 ? null : [c, r];
}

/** Where a cell is in the picture. */
function placeOf(plot, grid, [c, r]) {
  const i = r * grid.cols + c;
  if (plot.lens) return plot.place(grid.x[c], grid.y[r]);
  if (grid.isLine) return { px: plot.px(grid.x[c]), py: grid.kind[i] === KIND.value ? plot.py(grid.z[i]) : plot.area.top + plot.area.height / 2 };
  return { px: plot.px(grid.x[c]), py: plot.py(grid.y[r]) };
}

/** Draws the cursor of a cell; on a map it is a cross with the cell's outline. */
export function drawCursor(pen, plot, grid, cell, look) {
  const { px, py } = placeOf(plot, grid, cell);
  const { area } = plot;
  if (plot.lens) {
    const foot = plot.lens.project([plot.box.toX(grid.x[cell[0]]), plot.box.toY(grid.y[cell[1]]), -plot.box.halfZ]);
    pen.line([px, py, foot.px, foot.py], { stroke: look.text, dash: [2, 2] });
  } else {
    pen.line([px, area.top, px, area.top + area.height], { stroke: look.text, alpha: 0.55, dash: [3, 3] });
    if (!grid.isLine) {
      pen.line([area.left, py, area.left + area.width, py], { stroke: look.text, alpha: 0.55, dash: [3, 3] });
      const [c, r] = cell;
      const [left, right, top, bottom] = [plot.px(grid.edgesX[c]), plot.px(grid.edgesX[c + 1]), plot.py(grid.edgesY[r + 1]), plot.py(grid.edgesY[r])];
      pen.rect(left, top, right - left, bottom - top, { stroke: ON_MAP.edge, width: 3 });
      pen.rect(left, top, right - left, bottom - top, { stroke: ON_MAP.ink, width: 1.2 });
    }
  }
  if (plot.lens || grid.isLine) pen.circle(px, py, 4, { fill: ON_MAP.ink, stroke: ON_MAP.edge, width: 2 });
  return [px, py];
}

/** The name of the point of the path that is pointed at, "" where there is none. */
export function pathLabelAt(plot, payload, px, py) {
  let [best, label] = [REACH_PX, ""];
  (payload.path?.x ?? []).forEach((x, i) => {
    const y = payload.path.y[i];
    const at = plot.lens ? plot.place(x, y) : { px: plot.px(x), py: plot.py(y) };
    const away = Math.hypot(at.px - px, at.py - py);
    if (away < best) [best, label] = [away, payload.path.labels?.[i] ?? ""];
  });
  return label;
}

/** Without the last digits of a double, which are noise of how the axis was made. */
const coordinate = (value) => String(Number(value.toPrecision(13)));

/** What a cell says, as rows of a table, and as one sentence. */
export function cellRows(grid, payload, [c, r], pathLabel = "") {
  const { value, origin } = cellText(grid, r * grid.cols + c);
  const rows = [[payload.x_label || "x", coordinate(grid.x[c])]];
  if (!grid.isLine) rows.push([payload.y_label || "y", coordinate(grid.y[r])]);
  rows.push(["loss", value]);
  if (origin) rows.push(["", origin]);
  if (pathLabel) rows.push(["path", pathLabel]);
  return rows;
}

export const sentence = (rows) => rows.map(([label, text]) => (label ? `${label}: ${text}` : text)).join(", ");

/** Puts the tooltip beside a place, within the stage. */
export function placeTip(tip, rows, px, py, stage) {
  tip.replaceChildren(h("table", {}, h("tbody", {}, ...rows.map(([label, text]) => h("tr", {}, h("td.tl-muted", {}, label), h("td.tl-num", { data: { tip: label || "origin" } }, text))))));
  tip.hidden = false;
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  const x = px + 16 + width > stage.clientWidth ? px - width - 14 : px + 16;
  tip.style.left = `${Math.max(2, Math.min(stage.clientWidth - width - 2, x))}px`;
  tip.style.top = `${Math.max(2, Math.min(stage.clientHeight - height - 2, py + 14))}px`;
}

// What can be taken from a landscape: a picture, a drawing, and the numbers.

import { TL } from "../core.js";
import { download, h } from "../dom.js";
import { closeMenu, showMenu } from "../enlarge.js";
import { count } from "../format.js";
import { cut } from "./decor.js";
import { csvOf, jsonOf } from "./numbers.js";
import { CanvasPen } from "./pen.js";
import { SvgPen } from "./svg.js";

const HEAD_PX = 34;
const HEAD = { size: 14, weight: 600 };
const RATIO = 2;

const safe = (text) => text.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80) || "landscape";

/**
 * The menu of downloads of a panel.
 * @param {object} panel what is shown: `frame`, `grid`, and `paint(pen)`.
 */
export function openExports(panel, anchor) {
  const { frame, grid } = panel;
  if (!grid) return;
  const run = TL.store.runs.get(frame.run)?.name ?? frame.run;
  const base = `${safe(run)}-${safe(frame.name)}-step${frame.step}`;
  const title = `${run} · ${frame.name} · step ${count(frame.step)}`;
  const save = (kind, blob) => download(`${base}.${kind}`, blob);
  const item = (label, act) => h("button.tl-menu-item", { type: "button", on: { click: () => {
    closeMenu();
    act();
  } } }, label);
  showMenu(anchor,
    item("PNG, a picture", () => pngOf(panel, title).toBlob((blob) => save("png", blob), "image/png")),
    item("SVG, a drawing", () => save("svg", new Blob([svgOf(panel, title)], { type: "image/svg+xml" }))),
    item("JSON, grid and details", () => save("json", new Blob([jsonOf(grid, frame, run)], { type: "application/json" }))),
    item("CSV, one row a cell", () => save("csv", new Blob([csvOf(grid)], { type: "text/csv" }))));
}

/** Shifts everything that is painted down, for a title above. */
function below(pen, panel, title, look) {
  pen.text(cut(pen, title, pen.width - 28, HEAD), 14, HEAD_PX / 2, { ...HEAD, fill: look.text });
  if (panel.note) pen.text(panel.note, 14, pen.height - 9, { size: 10.5, fill: look.muted });
}

function pngOf(panel, title) {
  const { width, height } = panel.pictureSize;
  const inner = new CanvasPen(h("canvas"), width, height, RATIO, panel.family);
  panel.paint(inner);
  const outer = new CanvasPen(h("canvas"), width, height + HEAD_PX + (panel.note ? 18 : 0), RATIO, panel.family);
  const { look } = panel;
  outer.rect(0, 0, outer.width, outer.height, { fill: look.back });
  outer.picture({ canvas: inner.canvas, x: 0, y: 0, width: inner.canvas.width, height: inner.canvas.height }, 0, HEAD_PX, width, height);
  below(outer, panel, title, look);
  return outer.canvas;
}

function svgOf(panel, title) {
  const { width, height } = panel.pictureSize;
  const ruler = new CanvasPen(h("canvas"), 1, 1, 1, panel.family);
  const pen = new SvgPen(width, height + HEAD_PX + (panel.note ? 18 : 0), panel.family, (text, style) => ruler.measure(text, style));
  const { look } = panel;
  pen.rect(0, 0, pen.width, pen.height, { fill: look.back });
  pen.parts.push(`<g transform="translate(0 ${HEAD_PX})">`);
  const full = pen.height;
  pen.height = height;
  panel.paint(pen);
  pen.height = full;
  pen.parts.push("</g>");
  below(pen, panel, title, look);
  return pen.toString(title);
}


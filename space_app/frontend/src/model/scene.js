// Everything that is drawn, in the coordinates of the whole picture. Pure.

import { TOP } from "./document.js";
import { refOf } from "./ids.js";

/**
 * @typedef {object} Item
 * @property {string} id
 * @property {"box" | "frame" | "joint" | "pill" | "rest"} what
 * @property {number} index of its module or operation.
 * @property {number} x
 * @property {number} y
 * @property {number} width
 * @property {number} height
 * @property {number} container the open module that it is in, or TOP.
 *
 * @typedef {object} Line
 * @property {number[]} points
 * @property {string} kind
 * @property {number} bytes
 * @property {number[]} links
 * @property {string} label of a router's choice, where no other says the same beside it.
 * @property {boolean} hasHead whether it ends at what it leads to, and not at a border.
 */

/**
 * @param {Map<number, import("./lift.js").Frame>} frames
 * @param {Map<number, import("./layout.js").Laid>} laid
 * @returns {{items: Item[], byId: Map<string, Item>, lines: Line[], width: number, height: number}} items before what is in them.
 */
export function sceneOf(graph, frames, laid, links) {
  const items = [];
  const lines = [];
  const visit = (container, x, y) => {
    const frame = frames.get(container);
    const { places, lines: own } = laid.get(container);
    frame.pieces.forEach((piece, i) => {
      const points = own[i].map((value, at) => value + (at % 2 ? y : x));
      lines.push({ points, kind: piece.kind, bytes: piece.bytes, links: [...piece.links], hasHead: piece.to.id !== "" && piece.to.door === "", container });
    });
    for (const id of frame.members) {
      const place = places.get(id);
      const item = { id, ...whatOf(graph, frames, id), x: x + place.x, y: y + place.y, width: place.width, height: place.height, container };
      items.push(item);
      if (item.what === "frame") visit(item.index, item.x, item.y);
    }
  };
  visit(TOP, 0, 0);
  label(lines, links);
  const { width, height } = laid.get(TOP);
  return { items, byId: new Map(items.map((item) => [item.id, item])), lines, width, height };
}

const LABEL_APART = 260;

/** Writes what a router chose on its lines; lines side by side say it once. */
function label(lines, links) {
  const said = [];
  for (const line of lines) {
    line.label = "";
    const text = line.kind === "routing" && line.hasHead ? line.links.map((i) => links[i].label).find(Boolean) : "";
    const { x, y } = middleOf(line.points);
    if (!text || said.some((other) => other.text === text && Math.hypot(other.x - x, other.y - y) < LABEL_APART)) continue;
    said.push({ text, x, y });
    line.label = text;
  }
}

function whatOf(graph, frames, id) {
  const index = refOf(id);
  if (id[0] === "m") return { what: frames.has(index) ? "frame" : "box", index };
  if (id[0] === "r") return { what: "rest", index, isAfter: id.endsWith(":1") };
  const { kind } = graph.ops[index];
  return { what: kind === "input" || kind === "output" ? "pill" : "joint", index };
}

/** A path with rounded corners through the points of a line. */
export function pathOf(points, radius = 7) {
  const at = (i) => [points[2 * i], points[2 * i + 1]];
  const num = points.length / 2;
  const show = (value) => String(Math.round(value * 10) / 10);
  let d = `M${show(points[0])} ${show(points[1])}`;
  for (let i = 1; i < num - 1; i++) {
    const [[ax, ay], [x, y], [bx, by]] = [at(i - 1), at(i), at(i + 1)];
    const [before, after] = [Math.hypot(x - ax, y - ay), Math.hypot(bx - x, by - y)];
    const r = Math.min(radius, before / 2, after / 2);
    if (r < 0.5) {
      d += `L${show(x)} ${show(y)}`;
      continue;
    }
    d += `L${show(x - ((x - ax) / before) * r)} ${show(y - ((y - ay) / before) * r)}Q${show(x)} ${show(y)} ${show(x + ((bx - x) / after) * r)} ${show(y + ((by - y) / after) * r)}`;
  }
  const [x, y] = at(num - 1);
  return `${d}L${show(x)} ${show(y)}`;
}

/** Where a line's label stands: in the middle of its longest part. */
export function middleOf(points) {
  let best = { length: -1, x: points[0], y: points[1] };
  for (let i = 0; i + 3 < points.length; i += 2) {
    const [ax, ay, bx, by] = points.slice(i, i + 4);
    const length = Math.hypot(bx - ax, by - ay);
    if (length > best.length) best = { length, x: (ax + bx) / 2, y: (ay + by) / 2 };
  }
  return best;
}

/** Width of a line that carries so many bytes: thin for a scalar, thick for gigabytes. */
export function strokeOf(bytes) {
  if (bytes <= 0) return 1.3;
  return Math.min(4.4, Math.max(1.1, 0.55 * Math.log10(bytes) - 0.6));
}

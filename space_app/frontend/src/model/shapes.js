// The picture as plain shapes: what the page shows and what is exported are the same. Pure.

import { count } from "../format.js";
import { DIFFS, EDGES, mix } from "./colouring.js";
import { jointText } from "./facts.js";
import { visitOf } from "./ids.js";
import { middleOf, pathOf, strokeOf } from "./scene.js";
import { boxTexts, fitted, FONT, HEAD_PX, pillTexts } from "./sizes.js";

const shape = (tag, attributes, text) => ({ tag, attributes, text });
const write = (text, x, y, size, fill, more = {}) => shape("text", { x, y, "font-size": size, fill, ...more }, text);

/**
 * @typedef {object} Look
 * @property {string} text colours of the page; so are `muted`, `card`, `page`, `line`, `accent`, `bad`.
 * @property {boolean} isDark
 * @property {(text: string, size: number, weight: number) => number} measure
 *
 * @typedef {object} Picture what is shown: `graph`, `colouring`, `marks` (differences by module), `loops`.
 */

/** Shapes of an item, in its own coordinates. */
export function shapesOf(item, picture, look) {
  switch (item.what) {
    case "box": return boxShapes(item, picture, look);
    case "frame": return frameShapes(item, picture, look);
    case "pill": return pillShapes(item, picture, look);
    case "rest": return restShapes(item, picture, look);
    default: return jointShapes(item, picture, look);
  }
}

function boxShapes({ id, index, width, height }, picture, look) {
  const { graph } = picture;
  const module = graph.modules[index];
  const { strip, fill } = picture.colouring.of(module);
  const texts = boxTexts(graph, index, visitOf(id));
  const isContainer = module.children.length > 0;
  const idle = graph.isTraced && module.calls === 0 && module.inside === 0 && !module.sameAs && index > 0;
  const border = module.isFailed ? look.bad : mix(strip, look.card, 0.35);
  const found = [];
  if (module.count > 1) found.push(...[6, 3].map((by) => shape("rect", { x: by, y: -by, width, height, rx: 7, fill: mix(fill, look.card, 0.3), stroke: border, "stroke-width": 1 })));
  found.push(shape("rect", { width, height, rx: 7, fill, stroke: border, "stroke-width": module.isFailed ? 2 : 1, "stroke-dasharray": module.isGroup ? "5 3" : idle ? "3 3" : null, class: "tl-model-edge" }));
  found.push(shape("rect", { x: 5, y: 8, width: 4, height: height - 16, rx: 2, fill: strip }));
  const badges = badgesOf(id, module, picture, look);
  const chip = texts.times ? look.measure(texts.times, FONT.small, 600) + 12 : 0;
  const left = 14;
  const lines = [texts.cls, texts.facts].filter(Boolean);
  const inside = isContainer ? 38 : 0;
  found.push(write(fitted(texts.name, width - left - 10 - (chip ? chip + 4 : 0), look.measure, FONT.name, 600), left, 18, FONT.name, look.text, { "font-weight": 600 }));
  lines.forEach((line, i) => {
    const room = width - left - 8 - (i === lines.length - 1 ? inside : 0);
    found.push(write(fitted(line, room, look.measure, FONT.small), left, 33 + 15 * i, FONT.small, picture.colouring.isStrong || (i === lines.length - 1 && texts.facts) ? look.text : look.muted));
  });
  if (chip) found.push(...chipShapes(texts.times, width - chip - 6, 6, chip, strip, look));
  if (isContainer) found.push(...openerShapes(width - 36, height - 21, `+${module.inside > 999 ? "999" : module.inside}`, look));
  return [...found, ...badges(width)];
}

function chipShapes(text, x, y, width, colour, look) {
  return [
    shape("rect", { x, y, width, height: 16, rx: 8, fill: mix(look.card, colour, look.isDark ? 0.34 : 0.2) }),
    write(text, x + width / 2, y + 11.5, FONT.small, look.text, { "text-anchor": "middle", "font-weight": 600 }),
  ];
}

/** The button that opens or closes a module. */
function openerShapes(x, y, text, look) {
  return [
    shape("rect", { x, y, width: 31, height: 16, rx: 4, fill: look.card, stroke: look.line, "stroke-width": 1, class: "tl-model-opener" }),
    write(text, x + 15.5, y + 11.5, FONT.small, look.muted, { "text-anchor": "middle", class: "tl-model-opener" }),
  ];
}

/** Marks at the corner of a box: differences, a failed trace, a module that feeds itself. */
function badgesOf(id, module, picture, look) {
  const found = [];
  const mark = picture.marks?.get(module.index);
  if (mark && DIFFS[mark]) found.push([DIFFS[mark][2], DIFFS[mark][look.isDark ? 1 : 0]]);
  if (module.isFailed) found.push(["!", look.bad]);
  if (picture.loops.has(id)) found.push(["↻", EDGES.loop[look.isDark ? "dark" : "light"]]);
  return (width) => found.flatMap(([text, colour], i) => [
    shape("circle", { cx: width - 12 - 19 * i, cy: 0, r: 8.5, fill: colour, stroke: look.card, "stroke-width": 1.5 }),
    write(text, width - 12 - 19 * i, 4, 11, look.isDark ? "#10141b" : "#ffffff", { "text-anchor": "middle", "font-weight": 700 }),
  ]);
}

function frameShapes({ id, index, width, height }, picture, look) {
  const { graph } = picture;
  const module = graph.modules[index];
  const { strip } = picture.colouring.of(module);
  const texts = boxTexts(graph, index);
  const border = module.isFailed ? look.bad : mix(strip, look.line, 0.45);
  const found = [];
  if (module.count > 1) found.push(...[6, 3].map((by) => shape("rect", { x: by, y: -by, width, height, rx: 10, fill: look.card, stroke: border, "stroke-width": 1 })));
  found.push(shape("rect", { width, height, rx: 10, fill: module.depth % 2 ? look.frame : look.card, stroke: border, "stroke-width": module.isFailed ? 2 : 1.2, "stroke-dasharray": module.isGroup ? "6 4" : null, class: "tl-model-edge" }));
  found.push(shape("path", { d: `M0.6 ${HEAD_PX}V10A9.4 9.4 0 0 1 10 0.6H${width - 10}A9.4 9.4 0 0 1 ${width - 0.6} 10V${HEAD_PX}z`, fill: mix(look.card, strip, look.isDark ? 0.2 : 0.12) }));
  return [...found, ...headShapes(module, texts, width, strip, look), ...badgesOf(id, module, picture, look)(width)];
}

/** The head of an open module; lines that enter it pass below. */
function headShapes(module, texts, width, strip, look) {
  const found = openerShapes(8, 7, "−", look);
  let x = 47;
  const name = fitted(texts.name, width - x - 12, look.measure, FONT.head, 600);
  found.push(write(name, x, 19.5, FONT.head, look.text, { "font-weight": 600 }));
  x += look.measure(name, FONT.head, 600) + 7;
  const chip = texts.times ? look.measure(texts.times, FONT.small, 600) + 12 : 0;
  if (chip && x + chip < width - 6) {
    found.push(...chipShapes(texts.times, x, 7, chip, strip, look));
    x += chip + 7;
  }
  const cls = texts.cls && width - x > 30 ? fitted(texts.cls, width - x - 14, look.measure, FONT.small) : "";
  if (cls) found.push(write(cls, x, 19.5, FONT.small, look.muted));
  return found;
}

function pillShapes({ index, width, height }, { graph }, look) {
  const op = graph.ops[index];
  const { name, shape: size } = pillTexts(op);
  const colour = op.kind === "input" ? look.good : look.accent;
  return [
    shape("rect", { width, height, rx: height / 2, fill: mix(look.card, colour, look.isDark ? 0.2 : 0.12), stroke: mix(colour, look.card, 0.25), "stroke-width": 1.2, class: "tl-model-edge" }),
    write(fitted(name, width - 20, look.measure, FONT.name, 600), width / 2, size ? 16.5 : height / 2 + 4, FONT.name, look.text, { "text-anchor": "middle", "font-weight": 600 }),
    ...(size ? [write(fitted(size, width - 20, look.measure, FONT.small), width / 2, 30, FONT.small, look.muted, { "text-anchor": "middle" })] : []),
  ];
}

function jointShapes({ id, index, width, height }, { graph, loops }, look) {
  const op = graph.ops[index];
  const isAdd = op.kind === "add" || op.kind === "combine";
  const kind = op.kind === "router" || op.kind === "combine" ? "routing" : isAdd ? "residual" : op.kind === "cat" ? "skip" : op.kind === "attention" ? "cross" : loops.has(id) || op.kind === "loop" ? "loop" : "tensor";
  const colour = EDGES[kind][look.isDark ? "dark" : "light"];
  const text = jointText(op);
  const isSign = text.length === 1;
  return [
    shape("rect", { width, height, rx: Math.min(width, height) / 2, fill: mix(look.card, colour, look.isDark ? 0.16 : 0.09), stroke: colour, "stroke-width": 1.3, class: "tl-model-edge" }),
    write(isSign ? text : fitted(text, width - 12, look.measure, FONT.small, 600), width / 2, isSign ? height / 2 + 5 : height / 2 + 3.7, isSign ? 15 : FONT.small, look.text, { "text-anchor": "middle", "font-weight": 600 }),
  ];
}

function restShapes({ index, isAfter, width, height }, { graph, rests }, look) {
  const num = rests.get(index)?.[isAfter ? "after" : "before"] ?? 0;
  return [
    shape("rect", { width, height, rx: 6, fill: look.card, stroke: look.line, "stroke-width": 1, "stroke-dasharray": "3 3", class: "tl-model-edge" }),
    write(`${isAfter ? "↓" : "↑"} ${count(num)} more`, width / 2, height / 2 + 4, FONT.small, look.text, { "text-anchor": "middle" }),
  ];
}

/** Shapes of a line: itself and its head. */
export function lineShapes(line, look) {
  const { light, dark, dash } = EDGES[line.kind] ?? EDGES.tensor;
  const colour = look.isDark ? dark : light;
  const width = strokeOf(line.bytes);
  const { points } = line;
  const size = 4 + width;
  const found = [];
  let drawn = points;
  if (line.hasHead) {
    const [ax, ay, x, y] = points.slice(-4);
    const length = Math.hypot(x - ax, y - ay) || 1;
    const [ux, uy] = [(x - ax) / length, (y - ay) / length];
    drawn = [...points.slice(0, -2), x - ux * size * 0.8, y - uy * size * 0.8];
    const [bx, by] = [x - ux * size * 1.5, y - uy * size * 1.5];
    found.push(shape("path", { d: `M${r(x)} ${r(y)}L${r(bx - uy * size * 0.62)} ${r(by + ux * size * 0.62)}L${r(bx + uy * size * 0.62)} ${r(by - ux * size * 0.62)}z`, fill: colour }));
  }
  found.unshift(shape("path", { d: pathOf(drawn), fill: "none", stroke: colour, "stroke-width": r(width), "stroke-dasharray": dash.length ? dash.join(" ") : null, "stroke-linejoin": "round" }));
  return found;
}

/** What is written on a line: over all lines. */
export function labelShapes(line, look) {
  const { light, dark } = EDGES[line.kind] ?? EDGES.tensor;
  const at = middleOf(line.points);
  return line.label ? [write(line.label, at.x, at.y + 3.5, FONT.small, look.isDark ? dark : light, { "text-anchor": "middle", "font-weight": 600, stroke: look.card, "stroke-width": 4, "paint-order": "stroke", "stroke-linejoin": "round" })] : [];
}

const r = (value) => Math.round(value * 10) / 10;

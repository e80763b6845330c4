// Places of what needs no layout: one thing after another, and things that nothing joins. Pure.

import { TOP } from "./document.js";
import { refOf } from "./ids.js";

const GAP = 30;
const GRID_GAP = 22;
const MOST_IN_COLUMN = 8;

/** Width, height and doors of a member. */
function partOf(id, sizes, inner) {
  const laid = id[0] === "m" ? inner.get(refOf(id)) : undefined;
  return laid ? { ...laid, inX: [...laid.doors].find(([name]) => name[0] === ">")?.[1], outX: [...laid.doors].find(([name]) => name[0] === "<")?.[1] } : sizes.of(id);
}

/**
 * @returns {object | null} as the worker would answer; null where there is something to be laid out.
 */
export function stacked(frame, sizes, inner) {
  const parts = frame.members.map((id) => partOf(id, sizes, inner));
  if (frame.pieces.length === 0) return frame.container === TOP || parts.length ? gridOf(parts) : null;
  const order = chainOf(frame);
  return order && columnOf(frame, order, parts);
}

/** Things that nothing joins: a column, or rows of several. */
function gridOf(parts) {
  const num = parts.length <= MOST_IN_COLUMN ? 1 : Math.ceil(Math.sqrt(parts.length / 2));
  const widths = new Array(num).fill(0);
  parts.forEach(({ width }, i) => { widths[i % num] = Math.max(widths[i % num], width); });
  const lefts = widths.map((_, i) => widths.slice(0, i).reduce((sum, width) => sum + width + GRID_GAP, 0));
  const children = [];
  for (let row = 0, y = 0; row * num < parts.length; row++) {
    const line = parts.slice(row * num, row * num + num);
    line.forEach(({ width, height }, c) => children.push({ x: lefts[c] + (widths[c] - width) / 2, y, width, height }));
    y += Math.max(...line.map(({ height }) => height)) + GRID_GAP;
  }
  return { children, edges: [] };
}

/** The members in their order where each leads to the next and nothing else is joined; null elsewhere. */
function chainOf({ members, pieces, ins, outs }) {
  if (ins.length > 1 || outs.length > 1 || pieces.length !== members.length - 1 + ins.length + outs.length) return null;
  const next = new Map();
  const met = new Set();
  for (const { from, to } of pieces) {
    if (next.has(from.id) || met.has(to.id)) return null;
    next.set(from.id, to.id);
    met.add(to.id);
  }
  const order = [];
  let at = ins.length ? next.get("") : members.find((id) => !met.has(id));
  for (; at && !order.includes(at); at = next.get(at)) order.push(at);
  return order.length === members.length ? order : null;
}

/** One below the other, with straight lines from door to door. */
function columnOf(frame, order, parts) {
  const part = new Map(frame.members.map((id, i) => [id, parts[i]]));
  const place = new Map();
  let [x, y] = [0, 0];
  for (const id of order) {
    const { width, height, inX = width / 2, outX = width / 2 } = part.get(id);
    place.set(id, { x: x - inX, y, width, height, inX: x, outX: x - inX + outX });
    x += outX - inX;
    y += height + GAP;
  }
  const bottom = y - GAP;
  const door = (at) => ({ x: at - 0.5, y: 0, width: 1, height: 1 });
  const [first, last] = [place.get(order[0]), place.get(order.at(-1))];
  const edges = frame.pieces.map(({ from, to }) => {
    const start = from.id === "" ? { x: first.inX, y: -GAP } : { x: place.get(from.id).outX, y: place.get(from.id).y + place.get(from.id).height };
    const end = to.id === "" ? { x: last.outX, y: bottom + GAP } : { x: place.get(to.id).inX, y: place.get(to.id).y };
    return { sections: [{ startPoint: start, endPoint: end }] };
  });
  return { children: [...frame.ins.map(() => door(first.inX)), ...frame.outs.map(() => door(last.outX)), ...frame.members.map((id) => place.get(id))], edges };
}

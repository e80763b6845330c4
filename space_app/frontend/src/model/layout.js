// Where everything is drawn: each open module is laid out by itself, the innermost first, and kept as long as it is the same.

import { TOP } from "./document.js";
import { refOf } from "./ids.js";
import { HEAD_PX, PAD } from "./sizes.js";
import { stacked } from "./stack.js";

const MOST_KEPT = 600;
const ASIDE_GAP = 22;
const FEW_MEMBERS = 24;
const FEW_EDGES = 36;

const OPTIONS = {
  "elk.algorithm": "layered", "elk.direction": "DOWN", "elk.edgeRouting": "ORTHOGONAL", "elk.layered.mergeEdges": "true",
  "elk.spacing.nodeNode": "26", "elk.layered.spacing.nodeNodeBetweenLayers": "30", "elk.spacing.edgeNode": "16", "elk.spacing.edgeEdge": "12",
  "elk.layered.spacing.edgeNodeBetweenLayers": "12", "elk.layered.spacing.edgeEdgeBetweenLayers": "9", "elk.separateConnectedComponents": "false",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
};

/**
 * @typedef {object} Laid
 * @property {number} width
 * @property {number} height
 * @property {Map<string, {x: number, y: number, width: number, height: number}>} places of the members.
 * @property {number[][]} lines [x, y, x, y, ...] of each piece.
 * @property {Map<string, number>} doors x of each.
 */

/** What the worker gets: short ids in the order of the members, so that alike modules are one question. */
export function question(frame, sizes, inner) {
  const joined = joinedOf(frame);
  const ids = new Map(joined.map((id, i) => [id, `n${i}`]));
  const children = joined.map((id) => childOf(id, ids.get(id), frame, sizes, inner));
  const door = (name, isIn) => `${isIn ? "i" : "x"}${(isIn ? frame.ins : frame.outs).indexOf(name)}`;
  const doors = [...frame.ins.map((name) => ({ id: door(name, true), side: "FIRST_SEPARATE" })), ...frame.outs.map((name) => ({ id: door(name, false), side: "LAST_SEPARATE" }))];
  const ports = new Map(children.flatMap((child) => (child.ports ?? []).map((port) => [`${child.id} ${port.name}`, port.id])));
  const end = ({ id, door: name }, isFrom) => (id === "" ? door(name, isFrom) : ports.get(`${ids.get(id)} ${name}`) ?? ids.get(id));
  const edges = frame.pieces.map((piece, i) => ({ id: `e${i}`, sources: [end(piece.from, true)], targets: [end(piece.to, false)], layoutOptions: importance(piece.kind) }));
  for (const child of children) for (const port of child.ports ?? []) delete port.name;
  // The straightest placing takes seconds where much is joined with much.
  const isLarge = joined.length > FEW_MEMBERS || edges.length > FEW_EDGES;
  return {
    id: "root", layoutOptions: { ...OPTIONS, "elk.layered.nodePlacement.strategy": isLarge ? "BRANDES_KOEPF" : "NETWORK_SIMPLEX", "elk.layered.thoroughness": isLarge ? "4" : "9" }, edges,
    children: [...doors.map(({ id, side }) => ({ id, width: 1, height: 1, layoutOptions: { "elk.layered.layering.layerConstraint": side } })), ...children],
  };
}

/** Members that an edge leads to or from; the others stand aside. */
function joinedOf({ members, pieces }) {
  const met = new Set(pieces.flatMap(({ from, to }) => [from.id, to.id]));
  return pieces.length ? members.filter((id) => met.has(id)) : members;
}

/** Things that nothing joins, in columns beside the rest. */
function aside(frame, joined, box, sizes, inner) {
  const found = new Map();
  let [x, y, widest] = [box.right + ASIDE_GAP, box.top, 0];
  for (const id of frame.members.filter((each) => !joined.includes(each))) {
    const { width, height } = (id[0] === "m" && inner.get(refOf(id))) || sizes.of(id);
    if (y > box.top && y + height > box.bottom) [x, y, widest] = [x + widest + ASIDE_GAP, box.top, 0];
    found.set(id, { x, y, width, height });
    y += height + ASIDE_GAP;
    widest = Math.max(widest, width);
    box.right = Math.max(box.right, x + width);
    box.bottom = Math.max(box.bottom, y - ASIDE_GAP);
  }
  return found;
}

/** What runs on goes straight down; what goes around may bend. */
function importance(kind) {
  const isMain = kind === "tensor" || kind === "routing";
  return { "elk.layered.priority.direction": kind === "loop" ? "0" : "10", "elk.layered.priority.straightness": isMain ? "10" : "1" };
}

function childOf(id, short, frame, sizes, inner) {
  const laid = id[0] === "m" ? inner.get(refOf(id)) : undefined;
  if (!laid) return { id: short, ...sizes.of(id) };
  const ports = [...laid.doors].map(([name, x], i) => {
    const isIn = name[0] === ">";
    return { id: `${short}p${i}`, name, x, y: isIn ? 0 : laid.height, width: 0, height: 0, layoutOptions: { "elk.port.side": isIn ? "NORTH" : "SOUTH" } };
  });
  return { id: short, width: laid.width, height: laid.height, ports, layoutOptions: ports.length ? { "elk.portConstraints": "FIXED_POS" } : {} };
}

/** The worker's answer, in the coordinates of the frame: heads and borders are added here. */
export function answerOf(frame, result, least, sizes, inner) {
  const isTop = frame.container === TOP;
  const pad = isTop ? { top: 0, side: 0, bottom: 0 } : PAD;
  const numDoors = frame.ins.length + frame.outs.length;
  const doors = result.children.slice(0, numDoors);
  const own = result.children.slice(numDoors);
  // Doors take room of their own in the first and in the last layer; the lines to them are drawn to the border instead.
  const box = bounds(own, result.edges, frame);
  const joined = joinedOf(frame);
  const others = aside(frame, joined, box, sizes, inner);
  const width = Math.max(box.right - box.left + 2 * pad.side, isTop ? 0 : least);
  const dx = (width - (box.right - box.left)) / 2 - box.left;
  const dy = pad.top - box.top;
  const height = box.bottom - box.top + pad.top + pad.bottom;
  joined.forEach((id, i) => others.set(id, own[i]));
  const places = new Map(frame.members.map((id) => {
    const { x, y, width: wide, height: high } = others.get(id);
    return [id, { x: x + dx, y: y + dy, width: wide, height: high }];
  }));
  const lines = result.edges.map((edge, i) => {
    const points = pointsOf(edge).map(([x, y]) => [x + dx, y + dy]);
    const { from, to } = frame.pieces[i];
    if (from.id === "") points[0][1] = HEAD_PX; // behind the head, where the line outside ends
    if (to.id === "") points.at(-1)[1] = height;
    return points.flat();
  });
  const at = new Map([...frame.ins, ...frame.outs].map((name, i) => [name, doors[i].x + doors[i].width / 2 + dx]));
  lines.forEach((line, i) => {
    const { from, to } = frame.pieces[i];
    if (from.id === "") at.set(from.door, line[0]);
    if (to.id === "") at.set(to.door, line.at(-2));
  });
  return { width, height, places, lines, doors: at };
}

function pointsOf(edge) {
  const [section] = edge.sections ?? [];
  if (!section) return [[0, 0], [0, 0]];
  return [section.startPoint, ...(section.bendPoints ?? []), section.endPoint].map(({ x, y }) => [x, y]);
}

function bounds(own, edges, { pieces }) {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  const add = (x, y, w = 0, h = 0) => {
    box.left = Math.min(box.left, x);
    box.top = Math.min(box.top, y);
    box.right = Math.max(box.right, x + w);
    box.bottom = Math.max(box.bottom, y + h);
  };
  for (const { x, y, width, height } of own) add(x, y, width, height);
  edges.forEach((edge, i) => {
    const points = pointsOf(edge);
    if (pieces[i].from.id === "") points.shift();
    if (pieces[i].to.id === "") points.pop();
    for (const [x, y] of points) add(x, y);
  });
  return Number.isFinite(box.left) ? box : { left: 0, top: 0, right: 0, bottom: 0 };
}

export class Layout {
  /** @param {{layout: (graph: object) => Promise<object>}} engine */
  constructor(engine) {
    this.engine = engine;
    this.known = new Map();
    this.num = { asked: 0, kept: 0 };
  }

  /**
   * @param {import("./lift.js").Frame[]} frames
   * @param {import("./sizes.js").Sizes} sizes
   * @returns {Promise<Map<number, Laid>>}
   */
  async all(frames, sizes, depthOf) {
    const laid = new Map();
    const levels = new Map();
    for (const frame of frames.values()) {
      const depth = frame.container === TOP ? -1 : depthOf(frame.container);
      if (!levels.has(depth)) levels.set(depth, []);
      levels.get(depth).push(frame);
    }
    for (const depth of [...levels.keys()].sort((a, b) => b - a)) {
      const found = await Promise.all(levels.get(depth).map((frame) => this.one(frame, sizes, laid)));
      levels.get(depth).forEach((frame, i) => laid.set(frame.container, found[i]));
    }
    return laid;
  }

  async one(frame, sizes, inner) {
    const least = frame.container === TOP ? 0 : sizes.head(frame.container);
    const simple = stacked(frame, sizes, inner);
    if (simple) return answerOf(frame, simple, least, sizes, inner);
    const asked = question(frame, sizes, inner);
    const id = JSON.stringify([asked.children, asked.edges]);
    let result = this.known.get(id);
    if (result) {
      this.num.kept++;
      this.known.delete(id);
    } else {
      this.num.asked++;
      result = this.engine.layout(asked);
    }
    this.known.set(id, result);
    if (this.known.size > MOST_KEPT) this.known.delete(this.known.keys().next().value);
    try {
      return answerOf(frame, await result, least, sizes, inner);
    } catch (error) {
      this.known.delete(id);
      throw error;
    }
  }
}

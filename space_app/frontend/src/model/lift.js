// What joins what is to be seen: edges of operations, lifted to the innermost visible modules. Pure.
//
// A link joins two things that are to be seen, through all frames between them. Each frame is laid out by itself, so a
// link is drawn in pieces: one in each frame that it goes through, joined at the frames' doors. A door depends on what lies
// behind it alone, and so a frame stays as it is when others open or close.

import { TOP } from "./document.js";
import { idOf, refOf } from "./ids.js";

/** What a piece is drawn as where several edges fall together: the one that says most. */
const RANK = ["routing", "cross", "skip", "tensor", "residual", "loop"];
const stronger = (a, b) => (RANK.indexOf(b) < RANK.indexOf(a) && RANK.includes(b) ? b : a);

/** Joints of one module, at most: beyond, edges go through its operations. */
export const MOST_JOINTS = 160;
const MOST_VISITS = 6;

/** Which operations have a joint of their own. */
export const JOINTS = ["main", "all", "none"];
const ALWAYS = new Set(["input", "output", "router", "combine"]);

/** Whether an operation is drawn where its module is open. */
export function isJoint(op, joints) {
  if (ALWAYS.has(op.kind) || joints === "all") return true;
  return joints === "main" && op.kind !== "other";
}

/**
 * @typedef {object} Link
 * @property {string} from as in ids.js.
 * @property {string} to
 * @property {string} kind
 * @property {number} bytes of the largest tensor.
 * @property {object} op the operation that gives it.
 * @property {number} num how many edges it stands for.
 * @property {string} label
 *
 * @typedef {object} Frame what is to be laid out in one open module, or in `TOP`.
 * @property {number} container
 * @property {string[]} members
 * @property {Piece[]} pieces
 * @property {string[]} ins doors at the top, `outs` at the bottom.
 *
 * @typedef {object} Piece
 * @property {{id: string, door: string}} from id "" is the frame itself.
 * @property {{id: string, door: string}} to
 * @property {string} kind
 * @property {number} bytes
 * @property {Set<number>} links
 */

/**
 * @param {import("./document.js").Graph} graph
 * @param {import("./opening.js").Opening} opening
 * @param {"main" | "all" | "none"} joints
 * @returns {{links: Link[], frames: Map<number, Frame>, loops: Map<string, number>, crowded: Set<number>}} loops: what is fed by
 *   itself, by id; crowded: modules with too many operations to draw.
 */
export function lift(graph, opening, joints = "main") {
  const places = new Places(graph, opening, joints);
  const { edges, loops } = ends(graph, places);
  const links = [...merged(edges).values()];
  return { links, loops, crowded: places.crowded, frames: framesOf(places, links) };
}

/** Where each operation is to be seen. */
class Places {
  constructor(graph, opening, joints) {
    Object.assign(this, { graph, opening });
    this.containers = [TOP];
    this.holders = new Array(graph.modules.length).fill(null);
    this.rests = new Map();
    this.visit(0);
    const isFree = (op) => op.kind !== "input" && op.kind !== "output" && this.holders[graph.homes[op.index]] === null;
    const num = new Map();
    for (const op of graph.ops) if (isFree(op) && isJoint(op, joints)) num.set(graph.homes[op.index], (num.get(graph.homes[op.index]) ?? 0) + 1);
    this.crowded = new Set([...num].filter(([, many]) => many > MOST_JOINTS).map(([index]) => index));
    const visits = visitsOf(graph);
    this.ofOp = graph.ops.map((op) => {
      if (op.kind === "input" || op.kind === "output") return `o${op.index}`;
      const home = graph.homes[op.index];
      if (this.holders[home] !== null) return this.holders[home] === idOf(home) && visits.get(op.index) ? `${idOf(home)}~${visits.get(op.index)}` : this.holders[home];
      return isJoint(op, this.crowded.has(home) ? "none" : joints) ? `o${op.index}` : null;
    });
    this.chains = new Map();
  }

  visit(index) {
    if (!this.opening.isContainer(index) || !this.opening.isOpen(index)) {
      this.fill(index, idOf(index));
      return;
    }
    this.containers.push(index);
    const children = this.graph.drawn(index);
    const { list, before, after } = this.opening.shown(index);
    if (before + after > 0) {
      const from = children.indexOf(list[0]);
      this.rests.set(index, [before && `r${index}:0`, after && `r${index}:1`].filter(Boolean));
      children.forEach((child, i) => {
        if (i < from) this.fill(child, `r${index}:0`);
        if (i >= from + list.length) this.fill(child, `r${index}:1`);
      });
    }
    for (const child of list) this.visit(child);
  }

  fill(index, id) {
    this.holders[index] = id;
    for (const child of this.graph.modules[index].children) this.fill(child, id);
  }

  /** The open module in which something is drawn. */
  containerOf(id) {
    if (id[0] === "r") return refOf(id);
    if (id[0] === "m") return this.graph.around(refOf(id));
    const op = this.graph.ops[refOf(id)];
    return op.kind === "input" || op.kind === "output" ? TOP : this.graph.homes[op.index];
  }

  /** What leads from the outside to something: in each frame, what is drawn there. */
  chain(id) {
    if (!this.chains.has(id)) {
      const steps = [];
      for (let member = id; ;) {
        const container = this.containerOf(member);
        steps.unshift({ container, member });
        if (container === TOP) break;
        member = idOf(container);
      }
      this.chains.set(id, steps);
    }
    return this.chains.get(id);
  }
}

/**
 * Which call an operation belongs to, where a module without insides is called a few times: each call is drawn, for
 * otherwise what follows the second would lead back to the first.
 */
function visitsOf(graph) {
  const own = new Map();
  for (const op of graph.ops) {
    const { children, calls } = graph.modules[op.module];
    if (children.length || calls < 2 || calls > MOST_VISITS || op.kind === "input" || op.kind === "output") continue;
    if (!own.has(op.module)) own.set(op.module, []);
    own.get(op.module).push(op.index);
  }
  const found = new Map();
  for (const [index, ops] of own) {
    const each = ops.length / graph.modules[index].calls;
    if (Number.isInteger(each)) ops.forEach((op, i) => found.set(op, Math.floor(i / each)));
  }
  return found;
}

/** Edges between things that are to be seen; what is not goes through. */
function ends(graph, { ofOp }) {
  const loops = new Map();
  const into = new Map();
  for (const edge of graph.edges) {
    if (!into.has(edge.target)) into.set(edge.target, []);
    into.get(edge.target).push(edge);
  }
  const known = new Map();
  const sources = (op) => {
    if (known.has(op)) return known.get(op);
    known.set(op, []); // a circle of hidden operations leads nowhere
    const found = new Map();
    for (const edge of into.get(op) ?? []) {
      if (edge.kind === "loop") continue;
      const through = ofOp[edge.source] === null ? sources(edge.source) : [{ source: edge.source, kind: edge.kind, bytes: edge.bytes, label: edge.label }];
      for (const item of through) {
        const kind = edge.kind === "tensor" ? item.kind : edge.kind;
        const old = found.get(item.source);
        found.set(item.source, { ...item, kind: old ? stronger(old.kind, kind) : kind, label: edge.label || item.label });
      }
    }
    known.set(op, [...found.values()]);
    return known.get(op);
  };
  const edges = [];
  for (const edge of graph.edges) {
    const to = ofOp[edge.target];
    if (edge.kind === "loop") {
      const own = loopOwner(graph, edge);
      const id = own >= 0 ? idOf(own) : ofOp[edge.source] === to && to !== null ? to : null;
      if (id) {
        loops.set(id, (loops.get(id) ?? 0) + 1);
        continue;
      }
    }
    if (to === null) continue;
    const found = ofOp[edge.source] === null ? sources(edge.source).map((item) => ({ ...item, kind: edge.kind === "tensor" ? item.kind : edge.kind, label: edge.label || item.label })) : [edge];
    for (const item of found) {
      const from = ofOp[item.source];
      if (from !== to) edges.push({ from, to, source: item.source, kind: item.kind, bytes: item.bytes, label: item.label, op: graph.ops[item.source] });
    }
  }
  return { edges, loops };
}

/** The innermost repeated module that both ends of an edge are in; -1 where there is none. */
function loopOwner(graph, { source, target }) {
  const other = graph.homes[target];
  for (let i = graph.homes[source]; i >= 0; i = graph.modules[i].parent) {
    if (graph.modules[i].count > 1 && graph.isInside(other, i)) return i;
  }
  return -1;
}

/** One link for each pair. */
function merged(edges) {
  const links = new Map();
  for (const edge of edges) {
    const id = `${edge.from} ${edge.to}`;
    const old = links.get(id);
    if (!old) links.set(id, { from: edge.from, to: edge.to, kind: edge.kind, bytes: edge.bytes, op: edge.op, label: edge.label, num: 1, sources: new Set([edge.source]) });
    else {
      old.num++;
      old.sources.add(edge.source);
      old.kind = stronger(old.kind, edge.kind);
      old.label ||= edge.label;
      if (edge.bytes > old.bytes) Object.assign(old, { bytes: edge.bytes, op: edge.op });
    }
  }
  return links;
}

// -- pieces ----------------------------------------------------------------------------------------------------------

function framesOf(places, links) {
  const frames = new Map(places.containers.map((container) => [container, { container, members: [], ins: [], outs: [], pieces: [], byId: new Map() }]));
  gather(places, frames);
  const routes = links.map((link) => routeOf(places, link));
  const doors = doorsOf(routes, links);
  links.forEach((link, i) => layPieces(frames, routes[i], link, i, doors));
  for (const frame of frames.values()) {
    const use = (door, kind) => door && !frame[kind].includes(door) && frame[kind].push(door);
    for (const { from, to } of frame.pieces) {
      if (from.id === "") use(from.door, "ins");
      if (to.id === "") use(to.door, "outs");
    }
    delete frame.byId;
  }
  return frames;
}

/** Members of each frame in the order in which they run. */
function gather(places, frames) {
  const { graph, opening } = places;
  const firsts = new Array(graph.modules.length).fill(Infinity);
  // Untraced, modules stand as they were declared.
  for (const op of graph.isTraced ? graph.ops : []) {
    if (op.kind === "input" || op.kind === "output") continue;
    for (let i = graph.homes[op.index]; i >= 0 && op.index < firsts[i]; i = graph.modules[i].parent) firsts[i] = op.index;
  }
  const place = new Map();
  for (const container of places.containers) {
    for (const child of opening.shown(container).list) place.set(idOf(child), [container, firsts[child]]);
    for (const id of places.rests.get(container) ?? []) place.set(id, [container, id.endsWith(":0") ? -1 : Infinity]);
  }
  places.ofOp.forEach((id, i) => {
    if (id === null || place.has(id) || !(id[0] === "o" || id.includes("~"))) return;
    place.set(id, [places.containerOf(id), graph.ops[i].kind === "input" ? -1 : i]);
  });
  for (const [id, [container]] of [...place].sort(([, a], [, b]) => (a[1] === b[1] ? 0 : a[1] - b[1]))) frames.get(container)?.members.push(id);
}

/** The frames that a link goes through: out of some, across one, into some. */
function routeOf(places, link) {
  const [a, b] = [places.chain(link.from), places.chain(link.to)];
  let k = 0;
  while (a[k].member === b[k].member) k++;
  return { out: a.slice(k), into: b.slice(k) };
}

/** Doors into each frame: sources that lead to the same things, through the same doors further in, share one. */
function doorsOf(routes, links) {
  const reached = new Map();
  routes.forEach(({ into }, i) => {
    into.forEach(({ container, member }, k) => {
      if (k === 0) return;
      if (!reached.has(container)) reached.set(container, new Map());
      for (const source of links[i].sources) {
        const ends = reached.get(container);
        if (!ends.has(source)) ends.set(source, new Map());
        ends.get(source).set(member, into[k + 1]?.container);
      }
    });
  });
  const doors = new Map();
  // A module stands after what is around it, so the innermost come first.
  for (const container of [...reached.keys()].sort((x, y) => y - x)) {
    const known = new Map();
    for (const [source, ends] of reached.get(container)) {
      const id = [...ends].map(([member, inner]) => `${member}${inner === undefined ? "" : doors.get(`${inner} ${source}`)}`).sort().join(" ");
      if (!known.has(id)) known.set(id, `>${known.size}`);
      doors.set(`${container} ${source}`, known.get(id));
    }
  }
  return (container, source) => doors.get(`${container} ${source}`);
}

function layPieces(frames, { out, into }, link, index, doors) {
  const put = (container, from, to) => {
    const frame = frames.get(container);
    const id = `${from.id}|${from.door}|${to.id}|${to.door}`;
    const old = frame.byId.get(id);
    if (old) {
      old.kind = stronger(old.kind, link.kind);
      old.bytes = Math.max(old.bytes, link.bytes);
      old.links.add(index);
      return;
    }
    const piece = { from, to, kind: link.kind, bytes: link.bytes, links: new Set([index]) };
    frame.byId.set(id, piece);
    frame.pieces.push(piece);
  };
  const leave = (k) => (k + 1 < out.length ? `<${out[k + 1].member}` : "");
  for (let k = out.length - 1; k > 0; k--) put(out[k].container, { id: out[k].member, door: leave(k) }, { id: "", door: `<${out[k].member}` });
  for (const source of link.sources) {
    const enter = (k) => (k + 1 < into.length ? doors(into[k + 1].container, source) : "");
    put(into[0].container, { id: out[0].member, door: leave(0) }, { id: into[0].member, door: enter(0) });
    for (let k = 1; k < into.length; k++) put(into[k].container, { id: "", door: doors(into[k].container, source) }, { id: into[k].member, door: enter(k) });
  }
}

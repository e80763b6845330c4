// In which module an operation is drawn. Pure.
//
// `for block in self.blocks: x = x + block(x)` runs additions outside of the list, between its modules. Drawn where they ran,
// they would lead out of the list and back into it, again and again. What lies between the modules of one list alone is drawn
// in the list.

/**
 * @param {import("./document.js").Graph} graph
 * @returns {number[]} for each operation, a module.
 */
export function homesOf(graph) {
  const homes = graph.ops.map((op) => op.module);
  const inside = graph.modules.map(() => []);
  graph.ops.forEach((op, i) => op.kind !== "input" && op.kind !== "output" && inside[op.module].push(i));
  for (const module of graph.modules) {
    // A list is called by nobody: it only holds modules, as a group does. Where there is none, nothing moves.
    if (inside[module.index].length === 0 || !module.children.some((child) => isList(graph.modules[child]))) continue;
    // What comes round again belongs to what is repeated, but not before the rest has its place: a loop holds it all together.
    for (const hasLoops of [false, true]) move(graph, circles(graph, module.index, homes, hasLoops), homes, inside);
    moveLast(graph, module.index, homes, inside);
  }
  return homes;
}

function move(graph, parts, homes, inside) {
  for (const part of parts) {
    const lists = part.filter((id) => id < 0);
    const [list] = lists.map((id) => -1 - id);
    if (lists.length !== 1 || !isList(graph.modules[list])) continue;
    for (const op of part.filter((id) => id >= 0)) {
      homes[op] = list;
      inside[list].push(op);
    }
  }
}

/**
 * Lists whose modules take turns with those of another list, as `for up, dec in zip(ups, decs)` has it. Drawn as two frames, edges
 * would lead from one to the other and back; their modules are drawn side by side instead, as if there were no lists.
 * @param {number[]} homes of `homesOf`; what is in such a list is put where the list is.
 * @returns {Set<number>}
 */
export function spreadOf(graph, homes) {
  const spread = new Set();
  for (const module of graph.modules) {
    if (module.children.filter((child) => isList(graph.modules[child])).length < 2) continue;
    for (const part of circles(graph, module.index, homes, false)) {
      const lists = part.filter((id) => id < 0).map((id) => -1 - id).filter((index) => isList(graph.modules[index]) && graph.modules[index].count === 1);
      if (lists.length > 1) for (const index of lists) spread.add(index);
    }
  }
  homes.forEach((home, op) => {
    while (spread.has(home)) home = graph.modules[home].parent;
    homes[op] = home;
  });
  return spread;
}

/** What follows the last module of a list, as the like of it follows the others: `x + block(x)` once more. */
function moveLast(graph, container, homes, inside) {
  const into = new Map();
  for (const { source, target, kind } of graph.edges) if (kind !== "loop" && homes[target] === container) into.set(target, [...(into.get(target) ?? []), source]);
  for (const [op, sources] of into) {
    const list = graph.modules[container].children.find((child) => isList(graph.modules[child]) && sources.every((source) => graph.isInside(homes[source], child)));
    if (list === undefined || !inside[list].some((other) => homes[other] === list && graph.ops[other].module === container && graph.ops[other].name === graph.ops[op].name)) continue;
    homes[op] = list;
    inside[list].push(op);
  }
}

const isList = (module) => module.children.length > 0 && module.calls === 0;

/** Things in a module that lead to each other: operations by their number, children as -1 - index. */
function circles(graph, container, homes, hasLoops) {
  const childOf = (index) => {
    let i = index;
    while (i > container && graph.modules[i].parent !== container) i = graph.modules[i].parent;
    return i > container ? i : -1;
  };
  const children = graph.modules.map((_, index) => (graph.isInside(index, container) ? childOf(index) : -1));
  const memberOf = (op) => (homes[op] === container && graph.ops[op].kind !== "input" && graph.ops[op].kind !== "output" ? op : children[homes[op]] >= 0 ? -1 - children[homes[op]] : null);
  const next = new Map();
  for (const { source, target, kind } of graph.edges) {
    if (kind === "loop" && !hasLoops) continue;
    const [from, to] = [memberOf(source), memberOf(target)];
    if (from === null || to === null || from === to) continue;
    if (!next.has(from)) next.set(from, new Set());
    next.get(from).add(to);
  }
  return strong(next);
}

/** Strongly connected parts of more than one member (Tarjan 1972), without recursion: chains may be long. */
export function strong(next) {
  const [order, low, onStack, stack, found] = [new Map(), new Map(), new Set(), [], []];
  for (const root of next.keys()) {
    if (order.has(root)) continue;
    const work = [[root, null]];
    while (work.length) {
      const frame = work.at(-1);
      const [node] = frame;
      if (frame[1] === null) {
        order.set(node, order.size);
        low.set(node, order.get(node));
        stack.push(node);
        onStack.add(node);
        frame[1] = [...(next.get(node) ?? [])];
      }
      const child = frame[1].pop();
      if (child !== undefined) {
        if (!order.has(child)) work.push([child, null]);
        else if (onStack.has(child)) low.set(node, Math.min(low.get(node), order.get(child)));
        continue;
      }
      work.pop();
      if (work.length) low.set(work.at(-1)[0], Math.min(low.get(work.at(-1)[0]), low.get(node)));
      if (low.get(node) !== order.get(node)) continue;
      const part = stack.splice(stack.indexOf(node));
      for (const member of part) onStack.delete(member);
      if (part.length > 1) found.push(part);
    }
  }
  return found;
}

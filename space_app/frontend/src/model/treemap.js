// Rectangles whose areas are amounts, as square as can be (Bruls, Huizing, van Wijk 2000). Pure.

/**
 * @param {number[]} amounts none below 0; those of 0 get no room.
 * @returns {{x: number, y: number, width: number, height: number}[]} in the order of the amounts.
 */
export function squarify(amounts, width, height) {
  const total = amounts.reduce((sum, value) => sum + value, 0);
  const found = amounts.map(() => ({ x: 0, y: 0, width: 0, height: 0 }));
  if (total <= 0 || width <= 0 || height <= 0) return found;
  const scale = (width * height) / total;
  const order = amounts.map((value, i) => ({ area: value * scale, i })).filter(({ area }) => area > 0).sort((a, b) => b.area - a.area || a.i - b.i);
  let room = { x: 0, y: 0, width, height };
  for (let at = 0; at < order.length;) {
    const side = Math.min(room.width, room.height);
    const row = [order[at]];
    while (at + row.length < order.length && worst([...row, order[at + row.length]], side) <= worst(row, side)) row.push(order[at + row.length]);
    room = place(row, room, found);
    at += row.length;
  }
  return found;
}

/** The worst ratio of sides in a row along a side of that length. */
function worst(row, side) {
  const sum = row.reduce((total, { area }) => total + area, 0);
  const thick = sum / side;
  return Math.max(...row.map(({ area }) => Math.max(area / thick / thick, (thick * thick) / area)));
}

function place(row, room, found) {
  const sum = row.reduce((total, { area }) => total + area, 0);
  const isColumn = room.width >= room.height;
  const thick = sum / (isColumn ? room.height : room.width);
  let at = isColumn ? room.y : room.x;
  for (const { area, i } of row) {
    const length = area / thick;
    found[i] = isColumn ? { x: room.x, y: at, width: thick, height: length } : { x: at, y: room.y, width: length, height: thick };
    at += length;
  }
  return isColumn ? { ...room, x: room.x + thick, width: room.width - thick } : { ...room, y: room.y + thick, height: room.height - thick };
}

const MOST_OF_IT = 0.9;

/**
 * Parts of a module by parameters: its children with all their repeats, and what it has itself. A part that is nearly all of it
 * is taken apart once more.
 * @returns {{index: number, label: string, path: string, amount: number}[]} the largest first; index -1 is what a module has itself.
 */
export function partsOf(graph, index) {
  let parts = childrenOf(graph, index, 1);
  const total = parts.reduce((sum, part) => sum + part.amount, 0);
  for (;;) {
    const [first, ...others] = parts;
    if (!first || first.index < 0 || first.amount < MOST_OF_IT * total) return parts;
    const inner = childrenOf(graph, first.index, first.times);
    if (inner.length === 0 || (inner.length === 1 && inner[0].index < 0)) return parts;
    parts = [...inner, ...others].sort(bySize);
  }
}

const bySize = (a, b) => b.amount - a.amount || a.index - b.index;

function childrenOf(graph, index, times) {
  const module = graph.modules[index];
  const parts = module.children.map((i) => {
    const child = graph.modules[i];
    const num = times * child.count;
    return { index: i, label: `${child.name}${num > 1 ? ` ×${num}` : ""}`, path: child.path, amount: child.sameAs ? 0 : child.params.unique * num, times: num };
  });
  parts.push({ index: -1, label: "own", path: `${graph.titleOf(index)} itself`, amount: module.params.own * times, times });
  return parts.filter(({ amount }) => amount > 0).sort(bySize);
}

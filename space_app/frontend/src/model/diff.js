// What two graphs differ in: modules are told apart by their fingerprints, and paired by their names. Pure.

import { covers, rangeOf } from "./document.js";
import { short } from "./facts.js";

/**
 * @typedef {object} Entry
 * @property {"added" | "removed" | "changed"} status
 * @property {number} before index in the first graph, -1 where it is new.
 * @property {number} after index in the second graph, -1 where it is gone.
 * @property {string} path
 * @property {{name: string, before: string, after: string}[]} fields what changed.
 *
 * @typedef {object} Diff
 * @property {Entry[]} entries in the order of the second graph, what is gone after what it stood with.
 * @property {Map<number, string>} after marks of the second graph's modules: added, changed, inside (something in it differs).
 * @property {Map<number, string>} before marks of the first one's: removed, changed, inside.
 */

/** @returns {Diff} from the first graph to the second. */
export function diffOf(first, second) {
  const diff = { entries: [], before: new Map(), after: new Map() };
  compare({ first, second, diff }, 0, 0);
  return diff;
}

/** @returns {boolean} whether anything differs. */
function compare(both, a, b) {
  const { first, second, diff } = both;
  const [x, y] = [first.modules[a], second.modules[b]];
  const isAlike = x.fingerprint !== "" && x.fingerprint === y.fingerprint;
  const fields = fieldsOf(x, y, isAlike);
  if (fields.length) {
    diff.entries.push({ status: "changed", before: a, after: b, path: y.path, fields });
    diff.before.set(a, "changed");
    diff.after.set(b, "changed");
  }
  if (isAlike) return fields.length > 0;
  const inner = compareChildren(both, x, y);
  if (inner && fields.length === 0) {
    diff.before.set(a, "inside");
    diff.after.set(b, "inside");
  }
  return inner || fields.length > 0;
}

function compareChildren(both, x, y) {
  const { first, second, diff } = both;
  const { pairs, added, removed } = pairUp(x.children.map((i) => first.modules[i]), y.children.map((i) => second.modules[i]));
  let isOther = false;
  for (const [a, b] of pairs) isOther = compare(both, a, b) || isOther;
  for (const b of added) {
    diff.entries.push({ status: "added", before: -1, after: b, path: second.modules[b].path, fields: [] });
    markAll(second, b, diff.after, "added");
  }
  for (const a of removed) {
    diff.entries.push({ status: "removed", before: a, after: -1, path: first.modules[a].path, fields: [] });
    markAll(first, a, diff.before, "removed");
  }
  return isOther || added.length > 0 || removed.length > 0;
}

function markAll(graph, index, marks, status) {
  marks.set(index, status);
  for (const child of graph.modules[index].children) markAll(graph, child, marks, status);
}

const lastOf = (module) => module.path.slice(module.path.lastIndexOf(".") + 1);

/**
 * Pairs children: those of one name, then those that one repeat stands for, then equal ones under other names.
 * @returns {{pairs: [number, number][], added: number[], removed: number[]}}
 */
function pairUp(before, after) {
  const pairs = [];
  const [left, right] = [new Set(before), new Set(after)];
  const pair = (a, b, isKept = false) => {
    pairs.push([a.index, b.index]);
    right.delete(b);
    if (!isKept) left.delete(a);
  };
  const match = (isPair) => {
    for (const b of [...right]) {
      const a = [...left].find((each) => isPair(each, b));
      if (a) pair(a, b);
    }
  };
  match((a, b) => lastOf(a) === lastOf(b) && (a.cls === b.cls || a.repeat || b.repeat));
  match((a, b) => lastOf(a) === lastOf(b));
  // A repeat that was split: its parts are paired with the one that stood for them, which is not gone.
  const numbers = (each) => rangeOf(each.repeat?.names ?? "")?.first ?? Number(lastOf(each));
  for (const b of [...right]) {
    const a = before.find((each) => covers(each, String(numbers(b))));
    if (a) pair(a, b, !left.has(a));
  }
  for (const a of [...left]) {
    const b = after.find((each) => covers(each, String(numbers(a))));
    if (b) left.delete(a);
  }
  match((a, b) => a.fingerprint !== "" && a.fingerprint === b.fingerprint);
  pairs.sort(([, a], [, b]) => a - b);
  return { pairs, added: [...right].map(({ index }) => index), removed: [...left].map(({ index }) => index) };
}

// -- what changed in a module ------------------------------------------------------------------------------------------

function fieldsOf(x, y, isAlike) {
  const fields = [];
  const add = (name, before, after) => before !== after && fields.push({ name, before, after });
  if (!isAlike) {
    add("class", x.cls, y.cls);
    if (x.children.length === 0 || y.children.length === 0 || x.params.own !== y.params.own) add("parameters", short(ownOf(x)), short(ownOf(y)));
    tensorFields(x, y, add);
    for (const name of new Set([...Object.keys(x.attrs), ...Object.keys(y.attrs)])) add(name, x.attrs[name] ?? "", y.attrs[name] ?? "");
  }
  add("repeats", String(x.count), String(y.count));
  return fields;
}

const ownOf = (module) => (module.children.length ? module.params.own : module.params.unique);
const tensorText = (tensor) => (tensor ? `${tensor.shape.join("×") || "number"} ${tensor.dtype}${tensor.trainable || tensor.isBuffer ? "" : ", frozen"}` : "");

function tensorFields(x, y, add) {
  const [before, after] = [x, y].map((module) => new Map(module.tensors.map((tensor) => [tensor.name, tensor])));
  for (const name of new Set([...before.keys(), ...after.keys()])) add(name, tensorText(before.get(name)), tensorText(after.get(name)));
}

/** "3 added, 1 removed, 2 changed". */
export function summaryOf({ entries }) {
  const parts = ["added", "removed", "changed"].map((status) => [entries.filter((entry) => entry.status === status).length, status]).filter(([num]) => num > 0);
  return parts.length ? parts.map(([num, status]) => `${num} ${status}`).join(", ") : "no difference";
}

// Numbers and shapes of a model as people say them. Pure.

import { bytes, count } from "../format.js";

const UNITS = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** Three digits and a unit, "6.74" and "G". */
function scaled(value) {
  for (let i = 0; i < UNITS.length; i++) {
    const [size, unit] = UNITS[i];
    if (value < size * 0.9995) continue;
    return [Number((value / size).toPrecision(3)), unit];
  }
  return [value, ""];
}

/** Parameters: "6.74 B", "124 M", "12.3 k", "640". */
export function short(value) {
  const [amount, unit] = scaled(value);
  return unit ? `${amount} ${unit === "G" ? "B" : unit}` : count(amount);
}

/** "848 GFLOP". */
export function flops(value, noun = "FLOP") {
  const [amount, unit] = scaled(value);
  return `${amount} ${unit}${noun}`;
}

/** Names of sizes that say more than the number: B, T, T2. */
export const isLetter = (name) => /^[A-Z][a-z]?\d*$/.test(name);

/** "2 × 128 × 4,096", with the names of sizes that stand for themselves: "B × T × 4096". */
export function shapeText({ shape, dims = [] }, join = " × ") {
  if (shape.length === 0) return "number";
  return shape.map((size, i) => (isLetter(dims[i] ?? "") ? dims[i] : String(size))).join(join);
}

/** Sizes of a tensor with what each of them is. */
export function dimsOf({ shape, dims = [] }) {
  return shape.map((size, i) => ({ size, name: dims[i] ?? "" }));
}

export const sharePercent = (part, whole) => (whole > 0 ? `${Number(((100 * part) / whole).toPrecision(3))} %` : "");

const KIND_NAMES = { mlp: "MLP", moe: "mixture of experts", act: "activation", norm: "norm", conv: "convolution" };

export const kindName = (kind) => KIND_NAMES[kind] ?? kind;

/** The mix of dtypes of a module, the most frequent first: [dtype, elements]. */
export const dtypeMix = (module) => Object.entries(module.dtypes).sort((a, b) => b[1] - a[1]);

/** What is said of a module in one line below its class. */
export function factsLine(module) {
  const parts = [];
  if (module.params.unique > 0) parts.push(module.count > 1 ? `${count(module.count)} × ${short(module.params.unique)}` : short(module.params.unique));
  if (module.outputs.length) parts.push(shapeText(module.outputs[0], "×"));
  return parts.join(" · ");
}

/** A module in a sentence, for readers of screens. */
export function sentenceOf(graph, module, isOpen) {
  const parts = [module.name || graph.titleOf(module.index), module.isGroup ? "group" : module.cls, kindName(module.kind)];
  if (module.count > 1) parts.push(`${count(module.count)} times`);
  if (module.params.unique > 0) parts.push(`${short(module.params.unique)} parameters`);
  if (module.outputs.length) parts.push(`gives ${shapeText(module.outputs[0], " by ")}`);
  if (module.isFailed) parts.push("the trace failed here");
  if (module.sameAs) parts.push(`the same as ${module.sameAs}`);
  if (module.children.length) parts.push(isOpen ? "open" : `closed, ${count(module.inside)} modules inside`);
  return parts.filter(Boolean).join(", ");
}

/** Words for an operation's joint: a symbol where one is known. */
export function jointText(op) {
  return { add: "+", mul: "×", combine: "Σ", cat: "cat", attention: "attention", loop: "↻" }[op.kind] ?? (op.name.replace(/^_+/, "") || op.name);
}

export { bytes, count };

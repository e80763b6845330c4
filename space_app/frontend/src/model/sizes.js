// How large things are drawn, from the widths of their texts. Pure but for what measures texts.

import { factsLine, jointText, shapeText } from "./facts.js";
import { refOf, visitOf } from "./ids.js";

export const FONT = { name: 12.5, small: 10.5, head: 12.5 };
export const HEAD_PX = 30;
export const PAD = { top: HEAD_PX + 14, side: 16, bottom: 16 };
const MOST_WIDTH = 236;
const LEAST_WIDTH = 104;
const LINE_PX = 15;

/** A text that fits, cut at its end. */
export function fitted(text, width, measure, size, weight = 400) {
  if (measure(text, size, weight) <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const at = Math.ceil((low + high) / 2);
    if (measure(`${text.slice(0, at)}…`, size, weight) <= width) low = at;
    else high = at - 1;
  }
  return `${text.slice(0, low)}…`;
}

/** What is written on a module's box: its name, its class, its facts, and badges. */
export function boxTexts(graph, index, visit = 0) {
  const module = graph.modules[index];
  const name = graph.nameOf(index) || graph.titleOf(index);
  const cls = module.isGroup ? `group of ${module.repeat?.period ?? module.children.length}` : module.sameAs ? `= ${module.sameAs}` : module.cls;
  const names = index === 0 ? [module.cls && name !== module.cls ? module.cls : ""] : [cls];
  return { name, cls: names[0], facts: factsLine(module), times: visit ? `call ${visit + 1}` : module.count > 1 ? `×${module.count}` : module.children.length && module.calls > 1 ? `${module.calls} calls` : "" };
}

export class Sizes {
  /** @param {(text: string, size: number, weight: number) => number} measure width of a text in CSS pixels. */
  constructor(graph, measure) {
    Object.assign(this, { graph, measure, known: new Map() });
  }

  /** @returns {{width: number, height: number}} */
  of(id) {
    if (!this.known.has(id)) this.known.set(id, this.make(id));
    return this.known.get(id);
  }

  make(id) {
    if (id[0] === "m") return this.box(refOf(id), visitOf(id));
    if (id[0] === "r") return { width: 128, height: 30 };
    return this.joint(this.graph.ops[refOf(id)]);
  }

  box(index, visit) {
    const texts = boxTexts(this.graph, index, visit);
    const { measure } = this;
    const badge = texts.times ? measure(texts.times, FONT.small, 600) + 20 : 0;
    const inside = this.graph.modules[index].children.length ? 38 : 0;
    const wide = Math.max(measure(texts.name, FONT.name, 600) + badge, measure(texts.cls, FONT.small, 400) + (texts.facts ? 0 : inside), measure(texts.facts, FONT.small, 400) + (texts.facts ? inside : 0));
    const lines = 1 + Number(Boolean(texts.cls)) + Number(Boolean(texts.facts));
    return { width: Math.round(Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, wide + 30))), height: 12 + lines * LINE_PX };
  }

  joint(op) {
    if (op.kind === "input" || op.kind === "output") {
      const { name, shape } = pillTexts(op);
      return { width: Math.round(Math.min(MOST_WIDTH, Math.max(60, this.measure(name, FONT.name, 600), this.measure(shape, FONT.small, 400)) + 28)), height: shape ? 38 : 26 };
    }
    const text = jointText(op);
    return text.length === 1 ? { width: 24, height: 24 } : { width: Math.round(Math.min(150, this.measure(text, FONT.small, 600) + 20)), height: 22 };
  }

  /** The least width of an open module: its head has to fit. */
  head(index) {
    const { name, cls, times } = boxTexts(this.graph, index);
    const { measure } = this;
    return Math.min(420, measure(name, FONT.head, 600) + measure(cls, FONT.small, 400) + (times ? measure(times, FONT.small, 600) + 19 : 0) + 78);
  }
}

export function pillTexts(op) {
  const port = op.port ?? { shape: op.shape, dims: [], name: "" };
  return { name: port.name || op.name, shape: port.shape.length || op.dtype ? [shapeText(port, "×"), port.dtype || op.dtype].filter(Boolean).join(" ") : "" };
}

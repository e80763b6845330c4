// Puts shapes into the page as SVG: each thing that is drawn keeps its node, so that it moves instead of flickering.
//
// SVG, not a canvas: at most 300 boxes are drawn, each can have the focus and be read out, and texts stay sharp and can be found.

import { setText } from "../dom.js";
import { sentenceOf } from "./facts.js";
import { visitOf } from "./ids.js";
import { pathOf } from "./scene.js";
import { labelShapes, lineShapes, shapesOf } from "./shapes.js";

const NS = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, text = undefined) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

const built = (shapes) => shapes.map(({ tag, attributes, text }) => svg(tag, attributes, text));

export class Drawing {
  constructor() {
    this.items = svg("g", { role: "tree", "aria-label": "Model graph" });
    this.lines = svg("g", { "aria-hidden": "true" });
    this.world = svg("g", { class: "tl-model-world" });
    this.world.append(this.items, this.lines);
    this.root = svg("svg", { class: "tl-model-svg" });
    this.root.append(this.world);
    this.nodes = new Map();
    this.lineNodes = [];
    this.focusable = null;
  }

  /**
   * Draws a scene.
   * @param {object} scene of `sceneOf`.
   * @param {object} picture what its colours and marks mean.
   */
  draw(scene, picture, look) {
    const old = this.nodes;
    this.nodes = new Map();
    let before = null;
    for (const item of scene.items) {
      const node = this.put(item, old.get(item.id), picture, look);
      old.delete(item.id);
      this.nodes.set(item.id, node);
      const wanted = before ? before.nextSibling : this.items.firstChild;
      if (node.element !== wanted) this.items.insertBefore(node.element, wanted);
      before = node.element;
    }
    for (const { element } of old.values()) element.remove();
    this.drawLines(scene, look);
    if (!this.nodes.has(this.focusable)) this.setFocusable(scene.items.find((item) => item.id === "m0")?.id ?? scene.items[0]?.id);
  }

  put(item, known, picture, look) {
    const shapes = shapesOf(item, picture, look);
    const text = JSON.stringify(shapes);
    const node = known ?? { element: svg("g", { role: "treeitem", tabindex: "-1", "data-node": item.id }), text: "" };
    node.item = item;
    const { element } = node;
    if (node.text !== text) {
      node.text = text;
      element.replaceChildren(...built(shapes));
    }
    element.style.transform = `translate(${item.x}px, ${item.y}px)`;
    element.classList.toggle("tl-model-open", item.what === "frame");
    this.tell(item, element, picture);
    return node;
  }

  /** What a reader of screens is told. */
  tell(item, element, { graph, marks }) {
    const isModule = item.what === "box" || item.what === "frame";
    const module = isModule ? graph.modules[item.index] : null;
    const mark = isModule && marks?.get(item.index);
    const text = module ? [mark && mark !== "same" ? mark : "", sentenceOf(graph, module, item.what === "frame"), visitOf(item.id) > 0 && `call ${visitOf(item.id) + 1}`].filter(Boolean).join(", ") : opSentence(item, graph);
    if (element.getAttribute("aria-label") !== text) element.setAttribute("aria-label", text);
    element.setAttribute("aria-level", String(item.container < 0 ? 1 : graph.modules[item.container].depth + 2));
    if (module?.children.length) element.setAttribute("aria-expanded", String(item.what === "frame"));
    else element.removeAttribute("aria-expanded");
  }

  drawLines(scene, look) {
    const found = scene.lines.map((line) => {
      const element = svg("g", { class: "tl-model-line", "data-kind": line.kind });
      // Wide and unseen below: what the pointer finds.
      element.append(svg("path", { d: pathOf(line.points), fill: "none", stroke: "transparent", "stroke-width": 12, class: "tl-model-touch" }), ...built(lineShapes(line, look)));
      element.line = line;
      return element;
    });
    const order = (element) => ({ tensor: 0, residual: 1 })[element.line.kind] ?? 2;
    this.lineNodes = found.sort((a, b) => order(a) - order(b));
    const labels = svg("g", { class: "tl-model-labels" });
    labels.append(...built(scene.lines.flatMap((line) => labelShapes(line, look))));
    this.lines.replaceChildren(...this.lineNodes, labels);
  }

  /** Which thing Tab leads to. */
  setFocusable(id) {
    this.nodes.get(this.focusable)?.element.setAttribute("tabindex", "-1");
    this.focusable = id;
    this.nodes.get(id)?.element.setAttribute("tabindex", "0");
  }

  select(id) {
    for (const [each, { element }] of this.nodes) {
      const isOn = each === id;
      if (element.getAttribute("aria-selected") === String(isOn)) continue;
      element.setAttribute("aria-selected", String(isOn));
      element.classList.toggle("tl-model-selected", isOn);
    }
    if (id && this.nodes.has(id)) this.setFocusable(id);
  }

  /** Lets what belongs to some links stand out. `null`: everything is as usual. */
  light(links, ids) {
    this.root.classList.toggle("tl-model-dim", links !== null);
    for (const element of this.lineNodes) element.classList.toggle("tl-model-lit", links !== null && element.line.links.some((i) => links.has(i)));
    for (const [id, { element }] of this.nodes) element.classList.toggle("tl-model-lit", links !== null && ids.has(id));
  }

  look(camera) {
    this.world.style.transform = `scale(${camera.k}) translate(${-camera.x}px, ${-camera.y}px)`;
  }

  say(text, live) {
    setText(live, text);
  }
}

function opSentence(item, graph) {
  if (item.what === "rest") return `more modules ${item.isAfter ? "after" : "before"} these`;
  const op = graph.ops[item.index];
  const kind = op.kind === "input" || op.kind === "output" ? `${op.kind} of the model` : `operation ${op.name}`;
  return [op.port?.name, kind, op.shape.length ? op.shape.join(" by ") : "", op.dtype].filter(Boolean).join(", ");
}

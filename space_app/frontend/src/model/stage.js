// The picture on the page: what is seen of it, what the pointer and the keys do to it.

import { button, h, setText } from "../dom.js";
import { EDGES } from "./colouring.js";
import { begin, between, fit, flyTo, isWhole, nudge, pack, pan, seenAt, unpack, zoomAt } from "./camera.js";
import { Drawing } from "./draw.js";
import { bytes, count, shapeText } from "./facts.js";
import { refOf } from "./ids.js";
import { Minimap } from "./minimap.js";
import { listen } from "./pointer.js";
import { following } from "./walking.js";

const FLIGHT_MS = 350;
const REST_MS = 400;
const STEP = 1.3;

export const isCalm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Stage {
  /** @param {object} host the tab. */
  constructor(host) {
    Object.assign(this, { host, scene: null, camera: null, picture: null });
    this.drawing = new Drawing();
    this.minimap = new Minimap((x, y) => this.move({ ...this.camera, x: x - this.view.width / 2 / this.camera.k, y: y - this.view.height / 2 / this.camera.k }));
    this.tip = h("div.tl-model-tip", { hidden: true, role: "tooltip" });
    this.message = h("div.tl-model-message", { hidden: true, role: "status" });
    this.legend = h("div.tl-model-legend", { role: "group", "aria-label": "Legend" });
    this.zoom = h("div.tl-model-zoom", { data: { over: "1" } },
      button("Zoom in", { text: "+", onClick: () => this.zoomBy(STEP) }), button("Zoom out", { text: "−", onClick: () => this.zoomBy(1 / STEP) }), button("Show all of it (0)", { text: "Fit", onClick: () => this.fit() }));
    this.root = h("div.tl-model-stage", {}, this.drawing.root, this.zoom, this.minimap.root, this.tip, this.message);
    listen(this.root, {
      zoom: (px, py, factor) => this.camera && this.move(zoomAt(this.camera, px, py, factor)),
      pan: (dx, dy) => this.camera && this.move(pan(this.camera, dx, dy)),
      click: (target, isDouble) => this.clicked(target, isDouble),
      hover: (target, px, py) => this.hover(target, px, py),
    });
    this.drawing.items.addEventListener("keydown", (event) => this.key(event));
    this.drawing.items.addEventListener("focusin", (event) => this.focused(event.target));
    new ResizeObserver(() => this.resized()).observe(this.root);
  }

  get view() {
    return { width: this.root.clientWidth, height: this.root.clientHeight };
  }

  say(text) {
    setText(this.message, text);
    this.message.hidden = !text;
  }

  /**
   * Shows a scene.
   * @param {string | null} anchor what stays where it is seen.
   */
  show(scene, picture, look, anchor = null) {
    const old = anchor && this.camera ? this.scene?.byId.get(anchor) : null;
    const now = anchor ? scene.byId.get(anchor) : null;
    Object.assign(this, { scene, picture, look });
    const started = performance.now();
    this.drawing.draw(scene, picture, look);
    this.drawing.select(this.host.selected);
    this.hover(null);
    if (old && now) {
      // The head of what was opened or closed stays below the pointer.
      const [sx, sy] = seenAt(this.camera, old.x + old.width / 2, old.y);
      this.move({ ...this.camera, x: now.x + now.width / 2 - sx / this.camera.k, y: now.y - sy / this.camera.k });
      this.fly(nudge(this.camera, now, this.view));
    } else if (!this.camera) this.home();
    else this.move(this.camera);
    this.minimap.draw(scene, picture, look);
    this.drawLegend();
    performance.measure("model-draw", { start: started });
  }

  // -- camera --------------------------------------------------------------------------------------------------------

  move(camera) {
    this.flight = null;
    this.put(camera);
  }

  put(camera) {
    this.camera = camera;
    this.drawing.look(camera);
    // Where everything is seen, there is nothing to be told.
    this.minimap.root.hidden = isWhole(camera, this.scene, this.view);
    this.minimap.look(camera, this.view);
    clearTimeout(this.resting);
    // The beginning is no choice of the reader's.
    const isHome = camera === this.homeCamera;
    this.resting = setTimeout(() => this.view.width && this.host.changeCamera(isHome ? null : pack(camera, this.view)), REST_MS);
  }

  /** Moves there in a moment; at once where the reader wants no motion. */
  fly(camera) {
    if (isCalm() || !this.camera) {
      this.move(camera);
      return;
    }
    const [from, started] = [this.camera, performance.now()];
    const flight = {};
    this.flight = flight;
    const tick = (now) => {
      if (this.flight !== flight) return;
      const share = Math.min(1, Math.max(0, (now - started) / FLIGHT_MS));
      this.put(share === 1 ? camera : between(from, camera, share, this.view));
      if (share < 1) requestAnimationFrame(tick);
      else this.flight = null;
    };
    requestAnimationFrame(tick);
  }

  /** All of it where it can be read then, else its beginning. */
  home(isFlight = false) {
    if (!this.scene || !this.view.width) return;
    this.homeCamera = begin(this.scene, this.view);
    this[isFlight ? "fly" : "move"](this.homeCamera);
  }

  /** Looks where a link does. */
  lookAt(camera) {
    if (this.view.width) this.move(unpack(camera, this.view));
  }

  fit() {
    if (this.scene) this.fly(fit(this.scene, this.view));
  }

  zoomBy(factor) {
    if (this.camera) this.fly(zoomAt(this.camera, this.view.width / 2, this.view.height / 2, factor));
  }

  flyTo(id, isAtOnce = false) {
    const item = this.scene?.byId.get(id);
    if (item) this[isAtOnce ? "move" : "fly"](flyTo(this.camera, item, this.view));
  }

  resized() {
    if (!this.scene || !this.view.width) return;
    if (!this.camera) this.home();
    else this.put(this.camera);
  }

  // -- pointer and keys ------------------------------------------------------------------------------------------------

  clicked(target, isDouble) {
    const id = target?.closest?.("[data-node]")?.dataset.node ?? null;
    const item = id && this.scene.byId.get(id);
    if (!item) {
      this.host.select(null);
      return;
    }
    if (item.what === "rest") this.host.turn(item);
    else if (target.classList.contains("tl-model-opener") || (isDouble && item.what !== "joint" && item.what !== "pill")) this.host.toggle(item.index);
    else this.host.select(id);
    this.drawing.nodes.get(id)?.element.focus({ preventScroll: true });
  }

  focused(target) {
    const id = target.closest("[data-node]")?.dataset.node;
    if (!id || !this.camera) return;
    this.drawing.setFocusable(id);
    // Reached by a key, it has to be seen.
    if (target.matches(":focus-visible")) this.fly(nudge(this.camera, this.scene.byId.get(id), this.view));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const id = event.target.closest("[data-node]")?.dataset.node;
    const item = this.scene.byId.get(id);
    if (!item) return;
    if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      const next = following(this.scene, this.picture.links, id, event.key);
      if (next) this.focus(next);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (item.what === "rest") this.host.turn(item);
      else if (item.what === "box" || item.what === "frame") this.host.enter(item.index);
      else this.host.select(id);
    } else if (event.key === "Home" || event.key === "End") {
      event.preventDefault();
      this.focus((event.key === "Home" ? this.scene.items[0] : this.scene.items.at(-1)).id);
    }
  }

  focus(id) {
    if (this.scene.byId.get(id).what !== "rest") this.host.select(id);
    this.drawing.nodes.get(id)?.element.focus({ preventScroll: true, focusVisible: true });
    this.fly(nudge(this.camera, this.scene.byId.get(id), this.view));
  }

  // -- hovering ----------------------------------------------------------------------------------------------------------

  hover(target, px, py) {
    const line = target?.closest?.(".tl-model-line")?.line ?? null;
    const id = target?.closest?.("[data-node]")?.dataset.node ?? null;
    const key = line ?? id;
    if (line) this.tellLine(line, px, py);
    else this.tip.hidden = true;
    if (key === this.hovered) return;
    this.hovered = key;
    const { links } = this.picture ?? { links: [] };
    const mine = line ? line.links : links.flatMap((link, i) => (link.from === id || link.to === id ? [i] : []));
    if (!line && (!id || this.scene.byId.get(id)?.what === "frame" || mine.length === 0)) {
      this.drawing.light(null);
      return;
    }
    this.drawing.light(new Set(mine), new Set([id, ...mine.flatMap((i) => [links[i].from, links[i].to])]));
  }

  tellLine(line, px, py) {
    const { links, graph } = this.picture;
    const told = line.links.map((i) => links[i]).sort((a, b) => b.bytes - a.bytes);
    const nameOf = (id) => (id[0] === "m" ? graph.titleOf(refOf(id)) : id[0] === "o" ? graph.ops[refOf(id)].port?.name || graph.ops[refOf(id)].name : "more modules");
    const { op } = told[0];
    const rows = [
      h("b", {}, EDGES[line.kind]?.name ?? line.kind, told[0].label && ` ${told[0].label}`),
      h("span", {}, [op.shape.length ? shapeText({ shape: op.shape }) : "", op.dtype, told[0].bytes ? bytes(told[0].bytes) : ""].filter(Boolean).join(" · ") || "of unknown shape"),
      ...told.slice(0, 4).map((link) => h("span.tl-muted", {}, `${nameOf(link.from)} → ${nameOf(link.to)}${link.num > 1 ? ` (${count(link.num)} tensors)` : ""}`)),
      told.length > 4 && h("span.tl-muted", {}, `and ${count(told.length - 4)} more`),
    ];
    this.tip.replaceChildren(...rows.filter(Boolean));
    this.tip.hidden = false;
    const left = px + 14 + this.tip.offsetWidth > this.view.width ? px - 14 - this.tip.offsetWidth : px + 14;
    Object.assign(this.tip.style, { left: `${Math.max(4, left)}px`, top: `${Math.max(4, Math.min(py + 12, this.view.height - this.tip.offsetHeight - 4))}px` });
  }

  // -- legend ------------------------------------------------------------------------------------------------------------

  drawLegend() {
    const { legend } = this.picture.colouring;
    const entry = (colour, word) => h("span.tl-model-key", {}, h("span.tl-swatch", { style: { background: colour } }), word);
    const boxes = legend.ramp
      ? [h("span.tl-muted", {}, legend.from), h("span.tl-model-ramp", { style: { background: `linear-gradient(90deg, ${legend.ramp.join(", ")})` } }), h("span.tl-muted", {}, legend.to)]
      : legend.entries.map(({ colour, word }) => entry(colour, word));
    const kinds = [...new Set(this.scene.lines.map((line) => line.kind))].filter((kind) => EDGES[kind]);
    const line = (kind) => {
      const { light, dark, name, dash } = EDGES[kind];
      const colour = this.look.isDark ? dark : light;
      const pattern = dash.length ? `repeating-linear-gradient(90deg, ${colour} 0 ${dash[0] / 1.6}px, transparent ${dash[0] / 1.6}px ${(dash[0] + dash[1]) / 1.6}px)` : colour;
      return h("span.tl-model-key", { data: { edge: kind } }, h("span.tl-model-dash", { style: { background: pattern } }), name);
    };
    const id = JSON.stringify([legend, kinds, this.look.isDark]);
    if (this.legendId === id) return;
    this.legendId = id;
    this.legend.replaceChildren(h("div", {}, h("span.tl-model-legend-title", {}, legend.title), ...boxes), ...(kinds.length ? [h("div", {}, h("span.tl-model-legend-title", {}, "Edges"), ...kinds.map(line))] : []));
  }
}

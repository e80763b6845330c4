// One landscape on the page: its picture, the cursor over it, its steps and what is known of it.

import { swatch } from "../colours.js";
import { TL } from "../core.js";
import { button, h, nameNode, setText } from "../dom.js";
import { count } from "../format.js";
import { pack, START, unpack } from "./camera.js";
import { lookButtons } from "./controls.js";
import { cellBelow, cellOf, cellRows, drawCursor, pathLabelAt, placeTip, sentence } from "./cursor.js";
import { paintCurve } from "./curve.js";
import { openExports } from "./exports.js";
import { infoOf } from "./info.js";
import { paintMap } from "./map.js";
import { CanvasPen } from "./pen.js";
import { Player } from "./player.js";
import { listen } from "./pointer.js";
import { paintSurface } from "./scene.js";

export class Panel {
  /** @param {object} host the tab: what is chosen, scales, grids at hand, the cursor and the camera of all panels. */
  constructor(host, side) {
    Object.assign(this, { host, side, series: null, frame: null, grid: null, plot: null, surface: null, isOpen: false, numDraws: 0 });
    this.base = h("canvas", { "aria-hidden": "true" });
    this.over = h("canvas", { "aria-hidden": "true" });
    this.tip = h("div.tl-land-tip", { hidden: true, role: "tooltip" });
    this.message = h("div.tl-land-message", { hidden: true, role: "status" });
    this.live = h("div.tl-unseen", { "aria-live": "polite", data: { role: "live" } });
    this.looks = lookButtons(host);
    this.stage = h("div.tl-land-stage", { tabIndex: 0, role: "application", data: { panel: side } }, this.base, this.over, this.looks, this.tip, this.message);
    this.pick = h("select.tl-input.tl-land-pick", { "aria-label": side === "a" ? "Landscape" : "Landscape to compare with", on: { change: () => host.choose(side, this.pick.value) } });
    this.export = button("Export", { iconName: "download", text: "Export", "aria-haspopup": "true", onClick: (event) => openExports(this, event.currentTarget) });
    this.name = h("span.tl-land-name");
    this.player = new Player({
      onStep: (step) => host.changeStep(side, step), onChange: (patch) => host.change(patch), isReady: (frame) => host.cache.has(frame), onState: () => host.playing(this),
    });
    this.note = "";
    this.noteNode = h("p.tl-land-note", { role: "status", hidden: true });
    this.info = h("div.tl-land-info");
    this.main = h("div.tl-land-main", {}, h("header.tl-land-head", {}, this.name, this.pick, h("span.tl-grow"), this.export), this.stage, this.noteNode, this.player.root, this.live);
    this.root = h("section.tl-land-panel", { "aria-label": side === "a" ? "Landscape" : "Compared landscape" }, this.main, this.info);
    listen(this.stage, this);
    new ResizeObserver(() => host.redraw()).observe(this.stage);
  }

  get isSurface() {
    return this.host.settings.view === "3d" && !this.grid?.isLine;
  }

  // -- what is shown -----------------------------------------------------------------------------------------------

  /** Takes what was chosen; the picture follows as soon as its grid is at hand. */
  set(series, index, { all, canPlay }) {
    this.series = series;
    this.wanted = series.frames[index] ?? null;
    this.index = index;
    this.player.set(series.frames, index, this.host.settings, canPlay);
    const hasChoice = all.length > 1 && this.host.settings.compare;
    this.pick.hidden = !hasChoice;
    this.name.hidden = hasChoice;
    const names = all.map((item) => [item.id, `${TL.store.runs.get(item.run)?.name ?? item.run} · ${item.name}`]);
    const text = JSON.stringify([names, series.id, TL.store.style(series.run).colour]);
    if (text !== this.pickText) {
      this.pickText = text;
      this.pick.replaceChildren(...names.map(([id, label]) => h("option", { value: id, selected: id === series.id }, label)));
      this.name.replaceChildren(h("span.tl-swatch", { style: { background: swatch(TL.store.style(series.run)) } }), nameNode(TL.store.runs.get(series.run)?.name ?? series.run), h("span.tl-muted", {}, "·"), nameNode(series.name));
    }
    this.show();
  }

  /** Shows the wanted frame where its grid is at hand, else goes on showing the old one and says so. */
  show() {
    const frame = this.wanted;
    if (!frame) return;
    const grid = this.host.cache.get(frame);
    if (grid) {
      Object.assign(this, { frame, grid });
      this.say("");
      this.draw();
      this.drawInfo();
      return;
    }
    const problem = this.host.cache.problem(frame);
    if (this.frame?.id !== frame.id) this.say(problem ? `Step ${count(frame.step)} cannot be read: ${problem}` : this.frame ? "" : "Reading…");
  }

  say(text) {
    setText(this.message, text);
    this.message.hidden = !text;
  }

  drawInfo() {
    // A replay shows step and picture; the table follows when it stands.
    const id = `${this.frame.id} ${TL.store.runs.get(this.frame.run)?.name} ${this.isDrawnDark}`;
    if (this.infoText === id || this.player.isPlaying) return;
    this.infoText = id;
    this.info.replaceChildren(...infoOf(this.frame, this.grid, this.isOpen, (isOpen) => { this.isOpen = isOpen; }));
  }

  // -- the picture -------------------------------------------------------------------------------------------------

  get family() {
    return this.host.family;
  }

  get look() {
    return this.host.look;
  }

  get pictureSize() {
    return { width: this.stage.clientWidth, height: this.stage.clientHeight };
  }

  /** Paints the frame with any pen; what it says of the place of things is the answer. */
  paint(pen) {
    const { host, grid, frame } = this;
    const picture = { ...host.pictureOf(this.series, frame), grid, payload: frame.payload, look: host.look };
    if (grid.isLine) return paintCurve(pen, picture);
    return this.isSurface ? paintSurface(pen, { ...picture, surface: this.surface, camera: host.camera }) : paintMap(pen, picture);
  }

  draw() {
    const { width, height } = this.pictureSize;
    if (!this.grid || !width || !height) return;
    const isSurface = this.isSurface;
    if (isSurface && !this.surface) {
      this.surface = this.host.newSurface();
      if (!this.surface) return;
    }
    if (!isSurface) this.dropSurface();
    try {
      this.pen = this.penOf(this.base, width, height, this.pen);
      this.plot = this.paint(this.pen);
    } catch (error) {
      if (!isSurface || !this.host.isWithoutGl(error)) throw error;
      this.dropSurface();
      this.host.noSurface();
      return;
    }
    const { scale } = this.host.pictureOf(this.series, this.frame);
    this.note = [scale.note, cutNote(scale, this.grid), flatNote(scale, this.frame.payload, this.host.settings)].filter(Boolean).join(" ");
    this.looks.hidden = !isSurface;
    setText(this.noteNode, this.note);
    this.noteNode.hidden = !this.note;
    this.drawOver();
    this.mark(isSurface);
  }

  /** Says in the document what is drawn. */
  mark(isSurface) {
    const step = this.frame.step;
    Object.assign(this.root.dataset, { ready: "1", step: String(step), view: this.grid.isLine ? "line" : isSurface ? "3d" : this.host.settings.view, draws: String(++this.numDraws) });
    const what = `Landscape ${this.frame.name}, step ${step}. ${isSurface ? "Arrow keys turn the surface, Shift and arrow keys move the cursor, plus and minus zoom." : "Arrow keys move the cursor."} Space plays.`;
    if (this.stage.getAttribute("aria-label") !== what) this.stage.setAttribute("aria-label", what);
  }

  penOf(canvas, width, height, old) {
    const ratio = Math.max(1, window.devicePixelRatio);
    const pen = new CanvasPen(canvas, width, height, ratio, this.host.family);
    pen.image = old?.image;
    return pen;
  }

  dropSurface() {
    this.surface?.dispose();
    this.surface = null;
  }

  // -- the cursor ----------------------------------------------------------------------------------------------------

  pointAt(px, py) {
    if (!this.plot || !this.grid) return;
    const cell = cellBelow(this.plot, this.grid, px, py);
    this.pathLabel = pathLabelAt(this.plot, this.frame.payload, px, py);
    this.host.setCursor(cell && this.pointOf(cell), this, false);
  }

  pointOf([c, r]) {
    return { x: this.grid.x[c], y: this.grid.y[r] };
  }

  /** Moves the cursor by cells; it begins at the centre. */
  moveCursor(dx, dy) {
    if (!this.grid) return;
    const { grid } = this;
    const centre = cellOf(grid, { x: 0, y: 0 }) ?? [grid.cols >> 1, grid.rows >> 1];
    const at = this.host.cursor && cellOf(grid, this.host.cursor);
    const next = at ? [Math.min(grid.cols - 1, Math.max(0, at[0] + dx)), Math.min(grid.rows - 1, Math.max(0, at[1] + dy))] : centre;
    this.pathLabel = "";
    this.host.setCursor(this.pointOf(next), this, true);
  }

  leave() {
    this.pathLabel = "";
    this.host.setCursor(null, this, false);
  }

  /** Draws the cursor that all panels share. */
  drawOver() {
    const { width, height } = this.pictureSize;
    if (!this.plot || !width) return;
    const pen = this.penOf(this.over, width, height, null);
    const { cursor } = this.host;
    const cell = cursor && cellOf(this.grid, cursor);
    if (!cell) {
      this.tip.hidden = true;
      return;
    }
    const [px, py] = drawCursor(pen, this.plot, this.grid, cell, this.host.look);
    const rows = cellRows(this.grid, this.frame.payload, cell, this.pathLabel);
    placeTip(this.tip, rows, px, py, this.stage);
    if (this.host.isSpoken && this.host.pointed === this) setText(this.live, sentence(rows));
  }

  // -- told by keys and pointers -------------------------------------------------------------------------------------

  moveCamera(change) {
    const { host } = this;
    host.camera = change ? unpack(pack(change(host.camera))) : { ...START };
    host.cameraMoved();
  }

  togglePlay() {
    this.host.playerOf(this).toggle();
  }

  step(by) {
    this.host.playerOf(this).move(by);
  }
}

/** Says where colours do not tell losses apart. */
function cutNote(scale, grid) {
  if (!scale.isCutLow && !scale.isCutHigh) return "";
  let [low, high] = [0, 0];
  for (const value of grid.z) {
    if (value < scale.low) low++;
    else if (value > scale.high) high++;
  }
  const parts = [high ? `${count(high)} ${high === 1 ? "cell" : "cells"} above the scale` : "", low ? `${count(low)} ${low === 1 ? "cell" : "cells"} below it` : ""].filter(Boolean);
  return parts.length ? `Colours are cut: ${parts.join(", ")}.` : "";
}

const FLAT = 0.04;

/** Says why a step looks flat: other steps have much larger losses. */
function flatNote(scale, { min, max }, { range }) {
  if (range !== "all" || min === null || max === min) return "";
  const share = scale.share(Math.min(max, scale.high)) - scale.share(Math.max(min, scale.low));
  return share < FLAT ? "The losses of this step fill little of the scale, which holds all steps; a log scale or the range of each step shows its shape." : "";
}

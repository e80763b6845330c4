// Small pictures of all landscapes to choose from, each with its newest step.

import { swatch } from "../colours.js";
import { TL } from "../core.js";
import { h, nameNode, setText } from "../dom.js";
import { plural } from "../format.js";
import { CanvasPen } from "./pen.js";
import { projection } from "./plane.js";

const SIZE_PX = 54;

export class Strip {
  /** @param {(series: object) => void} onPick */
  constructor(onPick) {
    this.onPick = onPick;
    this.cards = new Map();
    this.seen = new Set();
    this.root = h("div.tl-land-strip", { role: "group", "aria-label": "Landscapes" });
    this.watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) isIntersecting ? this.seen.add(target.dataset.series) : this.seen.delete(target.dataset.series);
      this.onSeen?.();
    });
  }

  /** Frames whose pictures are to be seen and are not drawn. */
  wanted() {
    return [...this.cards.values()].filter((card) => this.seen.has(card.series.id) && card.drawn !== card.series.frames.at(-1).id).map((card) => card.series.frames.at(-1));
  }

  set(list, chosen) {
    if (chosen !== this.chosen) this.isTurned = true;
    this.chosen = chosen;
    const keep = new Set(list.map((series) => series.id));
    for (const [id, card] of this.cards) {
      if (keep.has(id)) continue;
      this.watcher.unobserve(card.node);
      card.node.remove();
      this.cards.delete(id);
    }
    list.forEach((series, i) => {
      const card = this.cards.get(series.id) ?? this.add(series);
      card.series = series;
      const { colour, dash } = TL.store.style(series.run);
      card.swatch.style.background = swatch({ colour, dash });
      const run = TL.store.runs.get(series.run)?.name ?? series.run;
      if (card.runName !== run) {
        card.runName = run;
        card.run.replaceChildren(nameNode(run));
      }
      setText(card.about, plural(series.frames.length, "step"));
      card.node.setAttribute("aria-pressed", String(series.id === chosen));
      card.node.setAttribute("aria-label", `${series.name} of ${run}, ${plural(series.frames.length, "step")}`);
      if (this.root.children[i] !== card.node) this.root.insertBefore(card.node, this.root.children[i] ?? null);
    });
    this.turn();
  }

  /** Scrolls the chosen card into sight, once after it was chosen. */
  turn() {
    const { node } = this.cards.get(this.chosen) ?? {};
    if (!this.isTurned || !node?.offsetParent) return;
    this.isTurned = false;
    const [from, to] = [node.offsetLeft - this.root.offsetLeft, node.offsetLeft - this.root.offsetLeft + node.offsetWidth];
    if (from < this.root.scrollLeft || to > this.root.scrollLeft + this.root.clientWidth) this.root.scrollLeft = from - 40;
  }

  add(series) {
    const canvas = h("canvas", { "aria-hidden": "true" });
    const card = { series, canvas, swatch: h("span.tl-swatch"), run: h("span.tl-land-card-run"), about: h("span.tl-muted"), drawn: "" };
    card.node = h("button.tl-land-card", { type: "button", data: { series: series.id }, on: { click: () => this.onPick(card.series) } },
      canvas, h("span.tl-land-card-text", {}, h("span.tl-land-card-head", {}, card.swatch, card.run), nameNode(series.name), card.about));
    this.cards.set(series.id, card);
    this.watcher.observe(card.node);
    return card;
  }

  /** Draws what is at hand. */
  draw(gridOf, pictureOf) {
    for (const card of this.cards.values()) {
      const frame = card.series.frames.at(-1);
      const grid = this.seen.has(card.series.id) ? gridOf(frame) : null;
      if (!grid) continue;
      const picture = pictureOf(card.series, frame);
      if (card.drawn === frame.id && card.scale === picture.scale && card.colours === picture.colours) continue;
      Object.assign(card, { drawn: frame.id, scale: picture.scale, colours: picture.colours });
      const pen = new CanvasPen(card.canvas, SIZE_PX, SIZE_PX, Math.max(1, window.devicePixelRatio), "sans-serif");
      const area = { left: 0, top: 0, width: SIZE_PX, height: SIZE_PX };
      if (grid.isLine) thumbLine(pen, grid, picture, area);
      else pen.cells(grid, { area, ...projection(area, [grid.edgesX[0], grid.edgesX.at(-1)], [grid.edgesY[0], grid.edgesY.at(-1)]) }, picture.scale, picture.colours);
    }
  }

  /** All pictures have to be drawn anew: their colours changed. */
  forget() {
    for (const card of this.cards.values()) card.scale = null;
  }
}

function thumbLine(pen, grid, { scale, colour }, area) {
  const points = new Float64Array(grid.cols * 2);
  const { px } = projection(area, [grid.x[0], grid.x[grid.cols - 1]], [0, 1]);
  for (let c = 0; c < grid.cols; c++) points.set([px(grid.x[c]), area.height * (0.94 - 0.88 * scale.share(grid.z[c]))], 2 * c);
  pen.line(points, { stroke: colour, width: 1.5 });
}

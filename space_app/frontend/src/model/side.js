// The inspector beside the picture: as wide as the reader wants it.

import { keep, recall } from "../core.js";
import { h } from "../dom.js";
import { changeList, inspect } from "./inspector.js";
import { summaryOf } from "./diff.js";

const [LEAST, MOST, USUAL] = [250, 700, 340];

export class Side {
  constructor(host) {
    this.host = host;
    this.body = h("div.tl-model-inspector", { tabIndex: -1, "aria-label": "Inspector", role: "region" });
    this.handle = h("div.tl-model-handle", { role: "separator", tabIndex: 0, "aria-orientation": "vertical", "aria-label": "Width of the inspector", "aria-valuemin": LEAST, "aria-valuemax": MOST, on: { keydown: (event) => this.key(event), dblclick: () => this.resize(USUAL) } });
    this.root = h("aside.tl-model-side", {}, this.handle, this.body);
    this.handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.handle.setPointerCapture(event.pointerId);
    });
    this.handle.addEventListener("pointermove", (event) => this.handle.hasPointerCapture(event.pointerId) && this.resize(this.root.getBoundingClientRect().right - event.clientX));
    this.resize(recall("model-side", USUAL));
  }

  resize(width) {
    this.width = Math.round(Math.min(MOST, Math.max(LEAST, Number(width) || USUAL)));
    this.root.style.setProperty("--tl-model-side", `${this.width}px`);
    this.handle.setAttribute("aria-valuenow", String(this.width));
    keep("model-side", this.width);
  }

  key(event) {
    const by = { ArrowLeft: 20, ArrowRight: -20 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.resize(this.width + by);
  }

  draw() {
    const { host } = this;
    const scroll = this.shownFor === host.selected ? this.body.scrollTop : 0;
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.go : undefined;
    this.shownFor = host.selected;
    const changes = host.diff ? [h("details.tl-model-section", { open: this.isDiffOpen !== false, on: { toggle: (event) => { this.isDiffOpen = event.currentTarget.open; } } }, h("summary", { data: { role: "diff" } }, `Differences: ${summaryOf(host.diff)}`), changeList(host))] : [];
    this.body.replaceChildren(...changes, ...inspect(host));
    this.body.scrollTop = scroll;
    if (focused !== undefined) (this.body.querySelector(`[data-go="${focused}"]`) ?? this.body).focus({ preventScroll: true });
  }
}

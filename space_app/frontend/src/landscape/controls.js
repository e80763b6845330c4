// The bar above the pictures: how they are drawn.

import { button, h } from "../dom.js";
import { closeMenu, showMenu } from "../enlarge.js";
import { VIEWPOINTS } from "./camera.js";
import { MAPS } from "./colourmaps.js";

const VIEW_NAMES = [["heat", "Heat"], ["contours", "Contours"], ["both", "Both"], ["3d", "3D"]];

/** Buttons over a surface that turn it to a side. */
export const lookButtons = (host) => h("span.tl-segment.tl-land-looks", { role: "group", "aria-label": "Look from" },
  ...Object.entries(VIEWPOINTS).map(([name, viewpoint]) => h("button", { type: "button", data: { look: name }, on: { click: () => host.look3d(viewpoint) } }, name[0].toUpperCase() + name.slice(1))),
  h("button", { type: "button", data: { look: "reset" }, on: { click: () => host.look3d(null) } }, "Reset"));

export class Controls {
  /** @param {object} host the tab. */
  constructor(host) {
    this.host = host;
    this.views = h("span.tl-segment", { role: "group", "aria-label": "View" }, ...VIEW_NAMES.map(([view, label]) => h("button", { type: "button", data: { view }, on: { click: () => host.change({ view }) } }, label)));
    this.scale = this.select("Scale of the loss", "scale", [["auto", "auto scale"], ["linear", "linear"], ["log", "log"]]);
    this.range = this.select("Range of the colours", "range", [["all", "range of all steps"], ["frame", "range of each step"]]);
    this.map = this.select("Colours", "map", MAPS.map((name) => [name, name]));
    this.dots = this.toggle("Points", "dots", "Show which points were measured; the others are interpolated");
    this.marks = this.toggle("Marks", "marks", "Show named points and the path of training");
    this.wire = this.toggle("Wireframe", "wire", "Draw the surface as a net");
    this.compare = button("Compare two steps, runs or names", { text: "Compare", className: "tl-boxed", onClick: () => host.compare(), data: { role: "compare" } });
    this.together = this.toggle("Same step", "together", "Both sides move through their steps together");
    this.more = button("Axes, levels, colours", { iconName: "more", "aria-haspopup": "true", onClick: (event) => this.openMore(event.currentTarget) });
    this.root = h("div.tl-bar.tl-land-bar", {}, this.views, this.scale, this.range, this.map, this.dots, this.marks, this.wire, this.more, h("span.tl-grow"), this.together, this.compare);
  }

  select(label, name, options) {
    const node = h("select.tl-input", { "aria-label": label, title: label, on: { change: () => this.host.change({ [name]: node.value }) } }, ...options.map(([value, text]) => h("option", { value }, text)));
    return node;
  }

  toggle(label, name, title) {
    const box = h("input", { type: "checkbox", on: { change: () => this.host.change({ [name]: box.checked }) } });
    const node = h("label.tl-check", { title }, box, label);
    node.box = box;
    return node;
  }

  draw({ settings, isLine, hasGl }) {
    for (const item of this.views.children) item.setAttribute("aria-pressed", String(item.dataset.view === settings.view));
    for (const name of ["scale", "range", "map"]) if (this[name].value !== settings[name]) this[name].value = settings[name];
    for (const name of ["dots", "marks", "wire", "together"]) this[name].box.checked = settings[name];
    const is3d = settings.view === "3d" && !isLine;
    this.views.hidden = this.map.hidden = isLine;
    this.wire.hidden = !is3d || !hasGl;
    this.together.hidden = !settings.compare;
    this.compare.setAttribute("aria-pressed", String(settings.compare));
  }

  openMore(anchor) {
    const { host } = this;
    const { settings } = host;
    const pick = (label, name, options) => {
      const node = h("select.tl-input", { "aria-label": label, on: { change: () => host.change({ [name]: typeof settings[name] === "number" ? Number(node.value) : node.value }) } }, ...options.map(([value, text]) => h("option", { value, selected: settings[name] === value }, text)));
      return h("label.tl-field", {}, h("span", {}, label), node);
    };
    const limit = (name, label) => {
      const input = h("input.tl-input.tl-short", { type: "text", inputMode: "decimal", value: settings[name] ?? "", placeholder: "auto", "aria-label": label, on: { change: () => {
        const number = input.value.trim() === "" ? null : Number(input.value);
        const isGood = number === null || Number.isFinite(number);
        input.classList.toggle("tl-invalid", !isGood);
        if (isGood) host.change({ [name]: number });
      } } });
      return input;
    };
    const item = (label, act) => h("button.tl-menu-item", { type: "button", on: { click: () => {
      closeMenu();
      act();
    } } }, label);
    showMenu(anchor,
      pick("Axes", "axes", [["auto", "one unit where they are alike"], ["equal", "one unit of length"], ["fill", "fill the width"]]),
      pick("Contours", "levels", [[5, "few"], [10, "some"], [20, "many"]]),
      h("div.tl-field", {}, h("span", {}, "Colours"), limit("from", "Colours from"), h("span", {}, "to"), limit("to", "Colours to")),
      item("Leave out the highest 2 % of this step", () => host.cutTop(0.98)),
      item("Colours from the least to the largest loss", () => host.change({ from: null, to: null })));
  }
}

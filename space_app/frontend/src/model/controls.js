// The bar above the picture: which graph, what is open, how it is coloured.

import { TL } from "../core.js";
import { button, h, setText } from "../dom.js";
import { count } from "../format.js";
import { stepOf } from "../landscape/frames.js";
import { COLOURINGS } from "./colouring.js";

/** Which graph: of which run and name, at which step. */
export class Picker {
  constructor(host, side, label) {
    Object.assign(this, { host, side });
    this.pick = h("select.tl-input", { "aria-label": label, title: label, on: { change: () => host.choose(side, this.pick.value) } });
    this.slider = h("input.tl-slider", { type: "range", min: 0, step: 1, "aria-label": side === "a" ? "Step" : "Step to compare with", on: { input: () => host.changeStep(side, stepOf(this.frames, Number(this.slider.value))) } });
    this.output = h("output.tl-muted.tl-model-step");
    this.root = h("span.tl-model-picker", { data: { side } }, this.pick, this.slider, this.output);
  }

  draw(all, series, index) {
    this.frames = series.frames;
    const names = all.map((item) => [item.id, `${TL.store.runs.get(item.run)?.name ?? item.run} · ${item.name}`]);
    const text = JSON.stringify([names, series.id]);
    if (text !== this.text) {
      this.text = text;
      this.pick.replaceChildren(...names.map(([id, label]) => h("option", { value: id, selected: id === series.id }, label)));
    }
    this.slider.hidden = series.frames.length < 2;
    this.slider.max = String(series.frames.length - 1);
    if (Number(this.slider.value) !== index) this.slider.value = String(index);
    const step = `step ${count(series.frames[index].step)}`;
    this.slider.setAttribute("aria-valuetext", step);
    setText(this.output, step);
  }
}

export class Controls {
  constructor(host) {
    this.host = host;
    this.first = new Picker(host, "a", "Graph");
    this.second = new Picker(host, "b", "Graph to compare with");
    this.versus = h("span.tl-muted", {}, "against");
    const bulk = (label, title, act, role) => button(title, { text: label, className: "tl-boxed", onClick: act, data: { role } });
    this.bulk = h("span.tl-model-bulk", { role: "group", "aria-label": "Open and close" },
      bulk("Expand all", "Open all modules, as far as 300 are to be seen", () => host.expandAll(), "expand"),
      bulk("Collapse all", "Close all modules", () => host.collapseAll(), "collapse"),
      bulk("Expand 1 level", "Open whatever is closed, by one level", () => host.expandLevel(), "level"));
    this.by = this.select("Colour by", "by", COLOURINGS.map(([name, label]) => [name, `colour by ${label}`]));
    this.joints = this.select("Operations", "joints", [["main", "main operations"], ["all", "all operations"], ["none", "no operations"]]);
    this.compare = button("Compare two runs, names or steps", { text: "Compare", className: "tl-boxed", onClick: () => host.compare(), data: { role: "compare" } });
    this.swap = button("Swap the two graphs", { text: "⇄", className: "tl-boxed", onClick: () => host.swap(), data: { role: "swap" } });
    this.export = button("Export", { iconName: "download", text: "Export", "aria-haspopup": "true", onClick: (event) => host.export(event.currentTarget) });
    this.root = h("div.tl-bar.tl-model-bar", {}, this.first.root, this.versus, this.second.root, this.swap, this.bulk, this.by, this.joints, h("span.tl-grow"), this.compare, this.export);
  }

  select(label, name, options) {
    const node = h("select.tl-input", { "aria-label": label, title: label, on: { change: () => this.host.change({ [name]: node.value }) } }, ...options.map(([value, text]) => h("option", { value }, text)));
    return node;
  }

  draw({ settings, all, first, index, second, secondIndex }) {
    this.first.draw(all, first, index);
    const isComparing = second !== null;
    for (const part of [this.second.root, this.versus, this.swap]) part.hidden = !isComparing;
    if (isComparing) this.second.draw(all, second, secondIndex);
    this.compare.setAttribute("aria-pressed", String(isComparing));
    this.compare.hidden = !isComparing && all.length < 2 && first.frames.length < 2;
    for (const name of ["by", "joints"]) if (this[name].value !== settings[name]) this[name].value = settings[name];
  }
}

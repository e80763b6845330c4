// The search over the picture: up to eight hits as one types; Enter flies to the one that is marked.

import { h, icon } from "../dom.js";
import { search } from "./search.js";

export class SearchBox {
  /** @param {object} host `graph`, and `jump(index)`. */
  constructor(host) {
    this.host = host;
    this.hits = [];
    this.at = 0;
    this.input = h("input.tl-input", {
      type: "search", placeholder: "Find a module  ( / )", "aria-label": "Find a module by path or class", autocomplete: "off", spellcheck: false, role: "combobox", "aria-expanded": "false", "aria-controls": "tl-model-hits",
      on: { input: () => this.find(), keydown: (event) => this.key(event), focus: () => this.find(), blur: () => setTimeout(() => this.close(), 150) },
    });
    this.list = h("ul.tl-model-hits", { id: "tl-model-hits", role: "listbox", "aria-label": "Modules found", hidden: true });
    this.root = h("div.tl-search.tl-model-search", {}, icon("search"), this.input, this.list);
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  find() {
    this.hits = this.host.graph ? search(this.host.graph, this.input.value) : [];
    this.at = 0;
    this.draw();
  }

  draw() {
    const { graph } = this.host;
    const isAsked = this.input.value.trim() !== "";
    this.list.hidden = !isAsked || document.activeElement !== this.input;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.list.replaceChildren(...(this.hits.length ? this.hits.map(({ index, note }, i) => {
      const module = graph.modules[index];
      return h("li", { id: `tl-model-hit-${i}`, role: "option", "aria-selected": String(i === this.at), data: { hit: index }, on: { mousedown: (event) => {
        event.preventDefault();
        this.take(i);
      } } }, h("span.tl-model-hit-path", {}, graph.titleOf(index)), h("span.tl-muted", {}, note || module.cls));
    }) : [h("li.tl-muted", {}, "No module is called so.")]));
    if (this.hits.length) this.input.setAttribute("aria-activedescendant", `tl-model-hit-${this.at}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.hits.length) {
      event.preventDefault();
      this.at = (this.at + step + this.hits.length) % this.hits.length;
      this.draw();
    } else if (event.key === "Enter" && this.hits.length) this.take(this.at);
    else if (event.key === "Escape") {
      event.stopPropagation();
      this.input.value = "";
      this.close();
      this.host.focusPicture();
    }
  }

  take(i) {
    const { index } = this.hits[i];
    this.input.value = "";
    this.close();
    this.host.jump(index, true);
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
  }
}

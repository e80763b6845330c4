// The way from the model to what is chosen; each part leads there.

import { h } from "../dom.js";
import { refOf } from "./ids.js";

export class Crumbs {
  constructor(host) {
    this.host = host;
    this.root = h("nav.tl-model-crumbs", { "aria-label": "Where the chosen module is" });
  }

  draw() {
    const { graph, selected } = this.host;
    const op = selected?.[0] === "o" ? graph.ops[refOf(selected)] : null;
    const index = selected?.[0] === "m" ? refOf(selected) : op && !op.port ? op.module : 0;
    const chain = graph.chain(index);
    const parts = chain.flatMap((i, at) => {
      const module = graph.modules[i];
      const isLast = at === chain.length - 1 && !op;
      return [at > 0 && h("span.tl-muted", { "aria-hidden": "true" }, "›"), h("button.tl-model-crumb", { type: "button", data: { crumb: i }, "aria-current": isLast && selected ? "true" : null, on: { click: () => this.host.jump(i) } }, module.name || graph.titleOf(i))].filter(Boolean);
    });
    if (op) parts.push(h("span.tl-muted", { "aria-hidden": "true" }, "›"), h("span.tl-model-crumb", { "aria-current": "true" }, op.port?.name || op.name));
    this.root.replaceChildren(...parts);
  }
}

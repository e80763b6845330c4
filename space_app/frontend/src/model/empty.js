// What stands there before there is a graph: how to log one.

import { TL } from "../core.js";
import { button, copyText, h } from "../dom.js";
import { plural } from "../format.js";

const SNIPPET = `import trackio_like as trackio
trackio.log_model(model, input_shape=(1, 3, 224, 224), trace=True)`;

/** Fills the place of an empty tab. */
export function emptyState(root, problem) {
  const runs = TL.selectedRuns.length;
  const id = JSON.stringify([problem, runs, TL.source.isLive]);
  if (root.dataset.shown === id) return;
  root.dataset.shown = id;
  if (problem) {
    root.replaceChildren(h("p.tl-error", { role: "alert" }, problem));
    return;
  }
  const about = { 0: "No run is selected in the sidebar.", 1: "The selected run has none." }[runs] ?? `None of the ${plural(runs, "selected run")} has one.`;
  root.replaceChildren(...[
    h("h2", {}, "No model graph here yet"), h("p", {}, about),
    ...(TL.source.isLive ? [
      h("p", {}, "Two lines in the training script draw the network: its modules, what flows between them, and what each of them costs. Nothing is computed, and the model stays as it is:"),
      h("div.tl-code", {}, h("pre", {}, SNIPPET), button("Copy", { iconName: "copy", text: "Copy", onClick: (event) => void copyText(SNIPPET, event.currentTarget) })),
    ] : []),
  ]);
}

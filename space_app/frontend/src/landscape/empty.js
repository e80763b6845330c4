// What stands there before there is a landscape: how to log one.

import { TL } from "../core.js";
import { button, copyText, h } from "../dom.js";
import { plural } from "../format.js";

const SNIPPET = `import trackio_like as trackio
trackio.log_loss_landscape(model, loader, step=epoch)`;

const GRID = `trackio.log_loss_landscape(grid, x_range=(-1, 1), y_range=(-1, 1), step=epoch)  # rows are y`;

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
  const code = (text) => h("div.tl-code", {}, h("pre", {}, text), button("Copy", { iconName: "copy", text: "Copy", onClick: (event) => void copyText(text, event.currentTarget) }));
  root.replaceChildren(...[
    h("h2", {}, "No loss landscape here yet"), h("p", {}, about),
    ...(TL.source.isLive ? [
      h("p", {}, "Two lines in the training script draw the loss around the weights, and replay it over the steps:"), code(SNIPPET),
      h("p", {}, "A grid that you computed yourself is logged the same way:"), code(GRID),
    ] : []),
  ]);
}

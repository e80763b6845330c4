// What stands there before there is data, and the bar that says that the server is gone.

import { isCopying } from "./copying.js";
import { TL } from "./core.js";
import { button, copyText, h, setText } from "./dom.js";
import { mayChange, showDeleted } from "./manage.js";

/** What to type, with the bucket or dataset that the page shows. */
const snippet = (project, place) => `import trackio_like as trackio

trackio.init(project=${JSON.stringify(project)}${place}, config={"lr": 0.1})
for step in range(100):
    trackio.log({"loss": 1 / (step + 1)})
trackio.finish()`;

const MOST_PROJECTS = 60;

/** The page of a root without runs: what to type, and where the page looks. It goes away by itself. */
export class Welcome {
  constructor() {
    this.root = h("div.tl-welcome", { hidden: true, role: "status" });
    document.body.append(this.root);
    for (const topic of ["projects", "runs", "state", "data", "rights"]) TL.on(topic, () => this.draw());
  }

  draw() {
    const isMissing = Boolean(TL.store?.isMissing);
    const hasNone = TL.hasMeta && TL.projects.length === 0 && !TL.store;
    const isBare = Boolean(TL.store?.isLoaded) && TL.store.ordered.length === 0;
    const isEmpty = isMissing || hasNone || isBare;
    this.root.hidden = !isEmpty;
    document.body.classList.toggle("tl-is-empty", isEmpty);
    if (!isEmpty) {
      this.drawn = "";
      return;
    }
    const hasBin = isBare && mayChange();
    const others = TL.store ? TL.projects.map((project) => project.name).filter((name) => name !== TL.state.project) : [];
    const state = isMissing ? "missing" : isCopying(TL.mirror) ? "copying" : TL.mirror?.state === "waiting" ? "waiting" : "none";
    const kind = JSON.stringify([state, hasBin, isMissing && TL.state.project, others]);
    if (kind === this.drawn) return;
    this.drawn = kind;
    const { isLive } = TL.source;
    const what = TL.mirror?.what ?? "";
    const [, remote, id] = /^the (bucket|dataset) (\S+)$/.exec(what) ?? [];
    const text = snippet(isMissing ? TL.state.project : "my-project", remote ? `, ${remote}_id=${JSON.stringify(id)}` : "");
    const copy = button("Copy the example", { iconName: "copy", text: "Copy", onClick: (event) => void copyText(text, event.currentTarget) });
    this.root.replaceChildren(h("div.tl-welcome-box", {},
      h("h1", {}, {
        missing: `There is no project "${TL.state.project}" here${isLive ? " (yet)" : ""}`, copying: `Opening ${what}`, waiting: `Waiting for ${what}`, none: hasBin ? "No runs here" : "Waiting for the first run",
      }[state]),
      state === "copying" && h("p", {}, "Runs appear here as soon as their names have arrived, and their curves right after."),
      state === "waiting" && h("p", {}, "It cannot be read at the moment. This page goes on by itself when it can."),
      ...(isLive && (state === "none" || isMissing) ? [
        h("p", {}, `Run this ${remote ? "anywhere" : "anywhere on this machine"}, and the curves appear here by themselves:`),
        h("div.tl-code", {}, h("pre", {}, text), copy),
      ] : []),
      TL.config.root ? h("p.tl-muted", {}, "Watching ", h("code", { data: { role: "root" } }, TL.config.root)) : "",
      hasBin && h("p", {}, button("Deleted runs", { text: "Deleted runs", className: "tl-boxed", onClick: () => void showDeleted() })),
      others.length > 0 && h("p", {}, "Other projects: ", ...others.slice(0, MOST_PROJECTS).map((name) => h("button.tl-chip", { type: "button", on: { click: () => TL.choose(name) } }, name)))));
  }
}

/** Says that the server does not answer, and when it is asked again. */
export function watchHealth() {
  const text = h("span");
  const bar = h("div.tl-lost", { hidden: true, role: "alert" }, text, button("Try now", { text: "Try now", onClick: () => TL.poller.poke() }));
  document.body.append(bar);
  TL.on("health", (failures) => {
    bar.hidden = failures === 0;
    if (failures) setText(text, TL.source.isLive ? "Connection lost, retrying. What you see is what was known until then." : TL.poller.lastError.message);
  });
}

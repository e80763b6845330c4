// What the page says while it shows a copy of a bucket or dataset: how far it is, and what is wrong.

import { isCopying, mirrorText, percentDone } from "./copying.js";
import { TL } from "./core.js";
import { button, h, setText } from "./dom.js";

/** A bar at the foot of the page. A note can be put away, and is not shown again until it says something else. */
export function watchMirror() {
  let isPutAway = "";
  const text = h("span", { role: "status" });
  const done = h("i");
  const progress = h("span.tl-mirror-bar", { role: "progressbar", "aria-label": "Copied", "aria-valuemin": "0", "aria-valuemax": "100" }, done);
  const close = button("Hide this note", { iconName: "close", onClick: () => {
    isPutAway = text.textContent;
    bar.hidden = true;
  } });
  const bar = h("div.tl-mirror", { hidden: true }, text, progress, close);
  document.body.append(bar);
  TL.on("projects", () => {
    const { mirror } = TL;
    const line = mirrorText(mirror);
    if (line !== isPutAway) isPutAway = "";
    bar.hidden = line === "" || line === isPutAway;
    if (bar.hidden) return;
    const isUnderWay = isCopying(mirror);
    setText(text, line);
    text.ariaLive = isUnderWay ? "off" : "polite"; // numbers that run are not read out
    bar.classList.toggle("tl-bad", mirror.state === "waiting");
    close.hidden = isUnderWay;
    progress.hidden = !isUnderWay;
    const percent = percentDone(mirror);
    progress.classList.toggle("tl-unknown", percent === null);
    done.style.width = `${percent ?? 100}%`;
    if (percent === null) progress.removeAttribute("aria-valuenow");
    else progress.setAttribute("aria-valuenow", String(percent));
  });
}

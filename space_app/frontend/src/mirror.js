// What the page says while it shows a copy of a bucket or dataset: how far it is, and what is wrong.

import { isCopying, mirrorText } from "./copying.js";
import { TL } from "./core.js";
import { h, setText } from "./dom.js";

/** A bar at the foot of the page. */
export function watchMirror() {
  const text = h("span");
  const done = h("i");
  const bar = h("div.tl-mirror", { hidden: true, role: "status" }, text, h("span.tl-mirror-bar", {}, done));
  document.body.append(bar);
  TL.on("projects", () => {
    const { mirror } = TL;
    const line = mirrorText(mirror);
    bar.hidden = line === "";
    if (bar.hidden) return;
    setText(text, line);
    bar.classList.toggle("tl-bad", mirror.state === "waiting");
    done.parentElement.hidden = !isCopying(mirror);
    done.style.width = `${mirror.num_bytes ? (100 * mirror.num_bytes_done) / mirror.num_bytes : 0}%`;
  });
}

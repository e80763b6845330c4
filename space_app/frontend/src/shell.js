// The shell's sidebar on a narrow screen: closed at first, over the page when it is open, closed by a tap beside it.

import { h } from "./dom.js";

/** From here down the sidebar lies over the page instead of beside it. */
const NARROW = window.matchMedia("(max-width: 768px)");

/** Keeps the sidebar out of the way of a narrow page; called once, when Gradio has made it. */
export function watchSidebar() {
  const sidebar = document.getElementById("tl-sidebar");
  const close = () => sidebar.matches(".open") && sidebar.querySelector(".toggle-button")?.click();
  document.body.append(h("div.tl-side-shade", { "aria-hidden": "true", on: { click: close } }));
  document.addEventListener("keydown", (event) => event.key === "Escape" && NARROW.matches && sidebar.contains(event.target) && close());
  NARROW.addEventListener("change", () => NARROW.matches && close());
  begin(sidebar, close);
}

/**
 * Gradio opens the sidebar some time after it has made it. On a narrow page it is closed then, and only then shown; on a
 * wide one it is simply there. From then on it slides.
 */
function begin(sidebar, close) {
  let wasOpen = false;
  const settle = () => {
    if (sidebar.matches(".open") && NARROW.matches) {
      wasOpen = true;
      close();
    } else if (wasOpen || sidebar.matches(".open")) {
      watcher.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => document.body.classList.add("tl-sidebar-ready")));
    }
  };
  const watcher = new MutationObserver(settle);
  watcher.observe(sidebar, { attributes: true, attributeFilter: ["class"] });
  settle();
}

// Light and dark: the class on the body decides; canvases read their colours from the style sheet.

import { keep, recall, TL } from "./core.js";

let cached = null;

/** Colours that canvases draw with. */
export function colours() {
  if (cached) return cached;
  const style = getComputedStyle(document.body);
  const read = (name) => style.getPropertyValue(name).trim();
  cached = {
    text: read("--tl-text"), muted: read("--tl-muted"), grid: read("--tl-grid"), back: read("--tl-card"), line: read("--tl-line"),
    font: `11px ${read("--tl-font") || "sans-serif"}`,
  };
  return cached;
}

export const isDark = () => document.body.classList.contains("dark");

/** Shows the theme that the link asks for, else the one chosen here before, else leaves it to the system. */
export function applyTheme() {
  const theme = TL.state.theme || recall("theme", "");
  if (theme) document.body.classList.toggle("dark", theme === "dark");
}

export function setTheme(theme) {
  document.body.classList.toggle("dark", theme === "dark");
  keep("theme", theme);
  TL.set({ theme });
}

export function watchTheme() {
  let dark = isDark();
  new MutationObserver(() => {
    if (isDark() === dark) return;
    dark = isDark();
    cached = null;
    TL.emit("theme");
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
}

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

const FONTS = { cell: "13px", head: "600 12px", tick: "11px" };
const measured = new Map();
let ruler = null;

/**
 * Width of a text in CSS pixels.
 * @param {"cell" | "head" | "tick"} place what it is written in: a table's cell or head, a chart's axis.
 */
export function textWidth(text, place) {
  const id = `${place} ${text}`;
  const known = measured.get(id);
  if (known !== undefined) return known;
  ruler ??= document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).getPropertyValue("--tl-font").trim();
  ruler.font = `${FONTS[place]} ${family || "sans-serif"}`;
  const width = ruler.measureText(text.slice(0, 200)).width;
  if (measured.size > 20_000) measured.clear();
  measured.set(id, width);
  return width;
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

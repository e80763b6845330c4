// The page's colours and fonts as the picture needs them.

import { h } from "../dom.js";
import { isDark } from "../theme.js";

const MOST_MEASURED = 20_000;

export function lookOf() {
  const style = getComputedStyle(document.body);
  const read = (name) => style.getPropertyValue(name).trim();
  const family = read("--tl-font") || "sans-serif";
  const dark = isDark();
  return {
    isDark: dark, family, measure: ruler(family), text: read("--tl-text"), muted: read("--tl-muted"), card: read("--tl-card"), page: read("--tl-page"), line: read("--tl-line"),
    accent: read("--tl-accent"), bad: read("--tl-bad"), good: read("--tl-good"), frame: dark ? "#1d222b" : "#fafbfd", ramp: read("--tl-accent"),
  };
}

/** Width of a text in CSS pixels, remembered. */
function ruler(family) {
  const ctx = h("canvas").getContext("2d");
  const known = new Map();
  return (text, size, weight = 400) => {
    const id = `${size} ${weight} ${text}`;
    if (!known.has(id)) {
      if (known.size > MOST_MEASURED) known.clear();
      ctx.font = `${weight} ${size}px ${family}`;
      known.set(id, ctx.measureText(text).width);
    }
    return known.get(id);
  };
}

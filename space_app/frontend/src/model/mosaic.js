// The parameters of a module as a map of its parts; a click on one leads there.

import { h } from "../dom.js";
import { mix } from "./colouring.js";
import { count, sharePercent, short } from "./facts.js";
import { partsOf, squarify } from "./treemap.js";

const HEIGHT = 150;
const MOST_PARTS = 40;

export function treemap(host, index) {
  const all = partsOf(host.graph, index);
  const parts = all.slice(0, MOST_PARTS);
  const rest = all.slice(MOST_PARTS).reduce((sum, part) => sum + part.amount, 0);
  if (rest > 0) parts.push({ index: -1, label: `${count(all.length - MOST_PARTS)} more`, path: `${count(all.length - MOST_PARTS)} more`, amount: rest });
  const total = all.reduce((sum, part) => sum + part.amount, 0);
  const root = h("div.tl-model-mosaic", { role: "group", "aria-label": "Parameters by module", style: { height: `${HEIGHT}px` } });
  const draw = () => {
    const width = root.clientWidth;
    if (!width || root.dataset.width === String(width)) return;
    root.dataset.width = String(width);
    const focused = [...root.children].indexOf(document.activeElement);
    root.replaceChildren(...squarify(parts.map((part) => part.amount), width, HEIGHT).map((box, i) => cell(host, parts[i], box, total)));
    root.children[focused]?.focus();
  };
  new ResizeObserver(draw).observe(root);
  return root;
}

function cell(host, part, { x, y, width, height }, total) {
  const isPlace = part.index >= 0;
  const { strip, fill } = isPlace ? host.picture.colouring.of(host.graph.modules[part.index]) : { strip: host.look.muted, fill: host.look.card };
  const text = `${part.path}${part.times > 1 ? ` ×${count(part.times)}` : ""}: ${short(part.amount)} parameters, ${sharePercent(part.amount, total)}`;
  const style = { left: `${x}px`, top: `${y}px`, width: `${Math.max(1, width - 1.5)}px`, height: `${Math.max(1, height - 1.5)}px`, background: mix(fill, strip, 0.22), "border-color": strip };
  const words = width > 34 && height > 16 ? [h("b", {}, part.label), height > 30 && h("span", {}, short(part.amount))] : [];
  return isPlace
    ? h("button.tl-model-cell", { type: "button", title: text, "aria-label": text, style, data: { go: part.index, amount: part.amount }, on: { click: () => host.jump(part.index) } }, ...words.filter(Boolean))
    : h("span.tl-model-cell", { title: text, style, data: { amount: part.amount } }, ...words.filter(Boolean));
}

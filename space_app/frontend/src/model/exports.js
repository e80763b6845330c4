// What can be taken from a graph: pictures, the document, and texts.

import { TL } from "../core.js";
import { toast } from "../dialog.js";
import { download, h } from "../dom.js";
import { closeMenu, showMenu } from "../enlarge.js";
import { count } from "../format.js";
import { svgOf } from "./svgtext.js";
import { dotOf, mermaidOf, tableOf } from "./texts.js";

const RATIO = 2;
/** Browsers make no larger canvas. */
const MOST_PX = 16_000;
const MOST_AREA = 120e6;

const safe = (text) => text.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80) || "model";

/**
 * The menu of downloads.
 * @param {object} shown `frame`, `graph`, `scene`, `picture`, `look`.
 */
export function openExports(shown, anchor) {
  const { frame, graph, scene, picture } = shown;
  const run = TL.store.runs.get(frame.run)?.name ?? frame.run;
  const base = `${safe(run)}-${safe(frame.name)}-step${frame.step}`;
  const title = `${run} · ${frame.name} · step ${count(frame.step)}`;
  const save = (kind, text, type) => download(`${base}.${kind}`, new Blob([text], { type }));
  const drawn = () => svgOf(scene, picture, shown.look, { title, family: shown.look.family });
  const item = (label, act) => h("button.tl-menu-item", { type: "button", on: { click: () => {
    closeMenu();
    act();
  } } }, label);
  showMenu(anchor,
    item("SVG, a drawing", () => save("svg", drawn().text, "image/svg+xml")),
    item("PNG, a picture", () => void savePng(drawn(), `${base}.png`)),
    item("JSON, the whole graph", () => save("json", `${JSON.stringify(graph.document)}\n`, "application/json")),
    item("DOT, for Graphviz", () => save("dot", dotOf(graph, scene, picture.links), "text/vnd.graphviz")),
    item("Mermaid, for Markdown", () => save("mmd", mermaidOf(graph, scene, picture.links), "text/plain")),
    item("Text, a table of all modules", () => save("txt", tableOf(graph), "text/plain")));
}

async function savePng({ text, width, height }, name) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  try {
    await image.decode();
  } catch {
    toast("This browser cannot turn the drawing into a picture; the SVG has the same content.", null, true);
    return;
  }
  const ratio = Math.min(RATIO, MOST_PX / width, MOST_PX / height, Math.sqrt(MOST_AREA / width / height));
  const canvas = h("canvas", { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  if (ratio < RATIO) toast("The picture is smaller than usual, for browsers make none as large; the SVG is sharp at any size.");
  canvas.toBlob((blob) => blob ? download(name, blob) : toast("This browser makes no picture of this size; take the SVG.", null, true), "image/png");
}

// The picture as an SVG file: the very shapes that the page shows, with its title. Pure.

import { EDGES } from "./colouring.js";
import { labelShapes, lineShapes, shapesOf } from "./shapes.js";

const MARGIN = 24;
const HEAD = 34;
const FOOT = 26;

const escaped = (text) => String(text).replace(/[&<>"']/g, (char) => `&#${char.codePointAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "");
const short = (value) => String(Math.round(value * 100) / 100);

function written({ tag, attributes, text }) {
  const parts = Object.entries(attributes).filter(([name, value]) => value !== null && value !== undefined && name !== "class").map(([name, value]) => ` ${name}="${escaped(typeof value === "number" ? short(value) : value)}"`).join("");
  return text === undefined ? `<${tag}${parts}/>` : `<${tag}${parts}>${escaped(text)}</${tag}>`;
}

/**
 * @param {string} title
 * @param {string} family of fonts.
 * @returns {{text: string, width: number, height: number}}
 */
export function svgOf(scene, picture, look, { title, family }) {
  const kinds = [...new Set(scene.lines.map((line) => line.kind))].filter((kind) => EDGES[kind]);
  const width = Math.max(scene.width + 2 * MARGIN, look.measure(title, 15, 600) + 2 * MARGIN, kinds.length * 120 + 2 * MARGIN);
  const height = scene.height + 2 * MARGIN + HEAD + (kinds.length ? FOOT : 0);
  const at = (x, y, shapes) => `<g transform="translate(${short(x)} ${short(y)})">${shapes.map(written).join("")}</g>`;
  const parts = [
    written({ tag: "rect", attributes: { width, height, fill: look.card } }),
    written({ tag: "text", attributes: { x: MARGIN, y: MARGIN + 6, "font-size": 15, "font-weight": 600, fill: look.text }, text: title }),
    `<g transform="translate(${short((width - scene.width) / 2)} ${MARGIN + HEAD - 10})">`,
    ...scene.items.map((item) => at(item.x, item.y, shapesOf(item, picture, look))),
    ...scene.lines.map((line) => lineShapes(line, look).map(written).join("")),
    ...scene.lines.map((line) => labelShapes(line, look).map(written).join("")),
    "</g>",
    ...kinds.map((kind, i) => {
      const { name, light, dark, dash } = EDGES[kind];
      const colour = look.isDark ? dark : light;
      return at(MARGIN + 120 * i, height - 20, [
        { tag: "path", attributes: { d: "M0 0H24", stroke: colour, "stroke-width": 2, "stroke-dasharray": dash.length ? dash.join(" ") : null } },
        { tag: "text", attributes: { x: 30, y: 4, "font-size": 11, fill: look.muted }, text: name },
      ]);
    }),
  ];
  return { width, height, text: `<svg xmlns="http://www.w3.org/2000/svg" width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}" font-family="${escaped(family)}" role="img"><title>${escaped(title)}</title>${parts.join("\n")}</svg>\n` };
}

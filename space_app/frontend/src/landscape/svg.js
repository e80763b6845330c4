// Writes SVG with the methods of `CanvasPen`: shapes and texts stay what they are.

import { colourAt, css } from "./colourmaps.js";
import { KIND } from "./grid.js";

const escaped = (text) => String(text).replace(/[&<>"']/g, (char) => `&#${char.codePointAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "");
const short = (value) => String(Math.round(value * 100) / 100);

export class SvgPen {
  /** @param {(text: string, style: object) => number} measure width of a text, as a canvas has it. */
  constructor(width, height, family, measure) {
    Object.assign(this, { width, height, family, measure });
    this.parts = [];
    this.clips = 0;
  }

  add(tag, attributes, content = null) {
    const text = Object.entries(attributes).filter(([, value]) => value !== null && value !== undefined && value !== false).map(([name, value]) => ` ${name}="${escaped(typeof value === "number" ? short(value) : value)}"`).join("");
    this.parts.push(content === null ? `<${tag}${text}/>` : `<${tag}${text}>${escaped(content)}</${tag}>`);
  }

  text(text, x, y, { size = 11, weight = 400, fill, align = "left", angle = 0, halo = null, alpha = 1 }) {
    this.add("text", {
      x, y, "font-size": size, "font-weight": weight === 400 ? null : weight, fill, opacity: alpha === 1 ? null : alpha, "dominant-baseline": "central", "text-anchor": { left: null, center: "middle", right: "end" }[align],
      transform: angle ? `rotate(${short((angle * 180) / Math.PI)} ${short(x)} ${short(y)})` : null,
      ...(halo ? { stroke: halo, "stroke-width": 3, "stroke-linejoin": "round", "paint-order": "stroke" } : {}),
    }, text);
  }

  line(points, { stroke, width = 1, dash = [], alpha = 1, fill = null }) {
    let d = "";
    let isDown = false;
    for (let i = 0; i + 1 < points.length; i += 2) {
      if (Number.isNaN(points[i + 1])) isDown = false;
      else {
        d += `${isDown ? "L" : "M"}${short(points[i])} ${short(points[i + 1])}`;
        isDown = true;
      }
    }
    if (d) this.add("path", { d, fill: fill ?? "none", stroke, "stroke-width": width, "stroke-dasharray": dash.length ? dash.join(" ") : null, "stroke-linejoin": "round", opacity: alpha === 1 ? null : alpha });
  }

  rect(x, y, w, h, { fill = null, stroke = null, width = 1, alpha = 1 }) {
    this.add("rect", { x, y, width: w, height: h, fill: fill ?? "none", stroke, "stroke-width": stroke ? width : null, opacity: alpha === 1 ? null : alpha });
  }

  circle(x, y, r, { fill = null, stroke = null, width = 1, alpha = 1 }) {
    this.add("circle", { cx: x, cy: y, r, fill: fill ?? "none", stroke, "stroke-width": stroke ? width : null, opacity: alpha === 1 ? null : alpha });
  }

  clipped({ left, top, width, height }, draw) {
    const id = `clip${++this.clips}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${short(left)}" y="${short(top)}" width="${short(width)}" height="${short(height)}"/></clipPath><g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }

  hatched(rects, { back, ink }) {
    const d = rects.map(([x, y, w, h]) => `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}z`).join("");
    this.parts.push(`<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect width="6" height="6" fill="${escaped(back)}"/><path d="M0 3h6" stroke="${escaped(ink)}"/></pattern>`);
    if (d) this.add("path", { d, fill: "url(#hatch)" });
  }

  /** The cells of a grid; neighbours of one colour in a row are one rectangle. */
  cells(grid, plot, scale, colours) {
    this.parts.push('<g shape-rendering="crispEdges">');
    for (let r = 0; r < grid.rows; r++) {
      const [bottom, top] = [plot.py(grid.edgesY[r]), plot.py(grid.edgesY[r + 1])];
      const colour = (c) => (c < grid.cols && grid.kind[r * grid.cols + c] === KIND.value ? css(colourAt(colours, scale.share(grid.z[r * grid.cols + c]))) : "");
      for (let c = 0, from = 0; c < grid.cols; c++) {
        if (colour(c + 1) === colour(c) && c + 1 < grid.cols) continue;
        const [left, right] = [plot.px(grid.edgesX[from]), plot.px(grid.edgesX[c + 1])];
        if (colour(c)) this.rect(left, top, right - left, bottom - top, { fill: colour(c) });
        from = c + 1;
      }
    }
    this.parts.push("</g>");
  }

  picture({ canvas, x: fromX, y: fromY, width, height }, x, y, w, h) {
    const copy = Object.assign(document.createElement("canvas"), { width, height });
    copy.getContext("2d").drawImage(canvas, fromX, fromY, width, height, 0, 0, width, height);
    this.add("image", { href: copy.toDataURL("image/png"), x, y, width: w, height: h });
  }

  /** @param {string} title what the picture is, for readers of screens. */
  toString(title) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" font-family="${escaped(this.family)}" role="img"><title>${escaped(title)}</title>${this.parts.join("\n")}</svg>\n`;
  }
}

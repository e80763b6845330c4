// Draws on a canvas. `SvgPen` has the same methods, so that an exported picture is what the page shows.

import { slot } from "./colourmaps.js";
import { KIND } from "./grid.js";

export class CanvasPen {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {number} width in CSS pixels.
   * @param {number} height
   * @param {number} ratio canvas pixels for each of them.
   * @param {string} family of the font.
   */
  constructor(canvas, width, height, ratio, family) {
    Object.assign(this, { canvas, width, height, ratio, family });
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
    this.ctx = canvas.getContext("2d");
    this.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.ctx.clearRect(0, 0, width, height);
  }

  measure(text, { size = 11, weight = 400 } = {}) {
    this.ctx.font = `${weight} ${size}px ${this.family}`;
    return this.ctx.measureText(text).width;
  }

  text(text, x, y, { size = 11, weight = 400, fill, align = "left", angle = 0, halo = null, alpha = 1 }) {
    const { ctx } = this;
    ctx.save();
    ctx.font = `${weight} ${size}px ${this.family}`;
    ctx.textAlign = align;
    ctx.textBaseline = "middle";
    ctx.globalAlpha = alpha;
    ctx.translate(x, y);
    if (angle) ctx.rotate(angle);
    if (halo) {
      Object.assign(ctx, { strokeStyle: halo, lineWidth: 3, lineJoin: "round" });
      ctx.strokeText(text, 0, 0);
    }
    ctx.fillStyle = fill;
    ctx.fillText(text, 0, 0);
    ctx.restore();
  }

  /** @param {ArrayLike<number>} points x0, y0, x1, y1, ...; NaN begins a new line. */
  line(points, { stroke, width = 1, dash = [], alpha = 1, fill = null }) {
    const { ctx } = this;
    ctx.beginPath();
    let isDown = false;
    for (let i = 0; i + 1 < points.length; i += 2) {
      if (Number.isNaN(points[i + 1])) isDown = false;
      else if (isDown) ctx.lineTo(points[i], points[i + 1]);
      else {
        ctx.moveTo(points[i], points[i + 1]);
        isDown = true;
      }
    }
    Object.assign(ctx, { globalAlpha: alpha, lineJoin: "round", lineCap: "round" });
    ctx.setLineDash(dash);
    if (fill) {
      ctx.fillStyle = fill;
      ctx.fill();
    }
    if (stroke) {
      Object.assign(ctx, { strokeStyle: stroke, lineWidth: width });
      ctx.stroke();
    }
    ctx.setLineDash([]);
    ctx.globalAlpha = 1;
  }

  rect(x, y, w, h, { fill = null, stroke = null, width = 1, alpha = 1 }) {
    const { ctx } = this;
    ctx.globalAlpha = alpha;
    if (fill) {
      ctx.fillStyle = fill;
      ctx.fillRect(x, y, w, h);
    }
    if (stroke) {
      Object.assign(ctx, { strokeStyle: stroke, lineWidth: width });
      ctx.strokeRect(x, y, w, h);
    }
    ctx.globalAlpha = 1;
  }

  circle(x, y, r, { fill = null, stroke = null, width = 1, alpha = 1 }) {
    const { ctx } = this;
    ctx.globalAlpha = alpha;
    ctx.beginPath();
    ctx.arc(x, y, r, 0, 2 * Math.PI);
    if (fill) {
      ctx.fillStyle = fill;
      ctx.fill();
    }
    if (stroke) {
      Object.assign(ctx, { strokeStyle: stroke, lineWidth: width });
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
  }

  clipped({ left, top, width, height }, draw) {
    this.ctx.save();
    this.ctx.beginPath();
    this.ctx.rect(left, top, width, height);
    this.ctx.clip();
    draw();
    this.ctx.restore();
  }

  /** Stripes over rectangles: there is no number. */
  hatched(rects, { back, ink }) {
    const { ctx } = this;
    ctx.fillStyle = back;
    for (const [x, y, w, h] of rects) ctx.fillRect(x, y, w, h);
    ctx.save();
    ctx.beginPath();
    for (const [x, y, w, h] of rects) ctx.rect(x, y, w, h);
    ctx.clip();
    Object.assign(ctx, { strokeStyle: ink, lineWidth: 1 });
    ctx.beginPath();
    for (let at = -this.height; at < this.width; at += 6) {
      ctx.moveTo(at, this.height);
      ctx.lineTo(at + this.height, 0);
    }
    ctx.stroke();
    ctx.restore();
  }

  /** The cells of a grid in their colours: every pixel has the colour of the cell that it lies in. */
  cells(grid, plot, scale, colours) {
    const { area } = plot;
    const [left, top] = [Math.round(area.left * this.ratio), Math.round(area.top * this.ratio)];
    const [w, h] = [Math.round((area.left + area.width) * this.ratio) - left, Math.round((area.top + area.height) * this.ratio) - top];
    if (this.image?.width !== w || this.image?.height !== h) this.image = this.ctx.createImageData(w, h);
    const pixels = new Uint32Array(this.image.data.buffer);
    const columns = cellOfPixels(grid.edgesX, w, (px) => plot.x((left + px + 0.5) / this.ratio));
    const rows = cellOfPixels(grid.edgesY, h, (py) => plot.y((top + py + 0.5) / this.ratio));
    const packed = packedColours(colours);
    const painted = new Uint32Array(grid.cols);
    for (let py = 0; py < h; py++) {
      if (py > 0 && rows[py] === rows[py - 1]) {
        pixels.copyWithin(py * w, (py - 1) * w, py * w);
        continue;
      }
      const base = rows[py] * grid.cols;
      for (let c = 0; c < grid.cols; c++) painted[c] = rows[py] >= 0 && grid.kind[base + c] === KIND.value ? packed[slot(scale.share(grid.z[base + c]))] : 0;
      for (let px = 0, at = py * w; px < w; px++, at++) pixels[at] = columns[px] < 0 ? 0 : painted[columns[px]];
    }
    this.ctx.putImageData(this.image, left, top);
  }

  /** Copies a part of a canvas. */
  picture({ canvas, x: fromX, y: fromY, width, height }, x, y, w, h) {
    this.ctx.drawImage(canvas, fromX, fromY, width, height, x, y, w, h);
  }
}

/** Which cell each pixel of an axis is in. */
function cellOfPixels(edges, num, valueOf) {
  const cells = new Int32Array(num).fill(-1);
  const isDown = valueOf(0) > valueOf(1);
  let cell = isDown ? edges.length - 2 : 0;
  for (let px = 0; px < num; px++) {
    const value = valueOf(px);
    while (!isDown && cell < edges.length - 2 && value >= edges[cell + 1]) cell++;
    while (isDown && cell > 0 && value < edges[cell]) cell--;
    if (value >= edges[cell] && value <= edges[cell + 1]) cells[px] = cell;
  }
  return cells;
}

const packs = new WeakMap();

/** Colours as canvases store them, four bytes a pixel. */
function packedColours(colours) {
  if (!packs.has(colours)) {
    const bytes = new Uint8ClampedArray((colours.length / 3) * 4);
    for (let i = 0; i < colours.length / 3; i++) bytes.set([colours[3 * i], colours[3 * i + 1], colours[3 * i + 2], 255], 4 * i);
    packs.set(colours, new Uint32Array(bytes.buffer));
  }
  return packs.get(colours);
}

// The whole picture in a corner, with what is seen of it; a drag there moves the view.

import { h } from "../dom.js";
import { EDGES } from "./colouring.js";

const WIDTH = 168;
const HEIGHT = 120;
const PAD = 6;

export class Minimap {
  /** @param {(x: number, y: number) => void} onMove told which point of the picture is to be in the middle. */
  constructor(onMove) {
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.window = h("div.tl-model-window");
    this.root = h("div.tl-model-minimap", { data: { over: "1" }, "aria-hidden": "true" }, this.canvas, this.window);
    const move = (event) => {
      const box = this.root.getBoundingClientRect();
      if (this.scale) onMove((event.clientX - box.left - this.left) / this.scale, (event.clientY - box.top - this.top) / this.scale);
    };
    this.root.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      event.stopPropagation();
      this.root.setPointerCapture(event.pointerId);
      move(event);
    });
    this.root.addEventListener("pointermove", (event) => this.root.hasPointerCapture(event.pointerId) && move(event));
  }

  draw(scene, picture, look) {
    const ratio = Math.max(1, window.devicePixelRatio);
    Object.assign(this.canvas, { width: WIDTH * ratio, height: HEIGHT * ratio });
    this.scale = Math.min((WIDTH - 2 * PAD) / Math.max(1, scene.width), (HEIGHT - 2 * PAD) / Math.max(1, scene.height));
    this.left = (WIDTH - scene.width * this.scale) / 2;
    this.top = (HEIGHT - scene.height * this.scale) / 2;
    const ctx = this.canvas.getContext("2d");
    ctx.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.left, ratio * this.top);
    ctx.clearRect(-this.left / this.scale, -this.top / this.scale, WIDTH / this.scale, HEIGHT / this.scale);
    for (const item of scene.items) {
      const isModule = item.what === "box" || item.what === "frame";
      const { strip, fill } = isModule ? picture.colouring.of(picture.graph.modules[item.index]) : { strip: look.muted, fill: look.muted };
      ctx.fillStyle = item.what === "frame" ? look.card : item.what === "box" ? strip : fill;
      ctx.strokeStyle = look.muted;
      ctx.lineWidth = 0.6 / this.scale;
      ctx.fillRect(item.x, item.y, item.width, item.height);
      if (item.what === "frame") ctx.strokeRect(item.x, item.y, item.width, item.height);
    }
    ctx.lineWidth = 0.7 / this.scale;
    for (const { points, kind } of scene.lines) {
      ctx.strokeStyle = EDGES[kind]?.[look.isDark ? "dark" : "light"] ?? look.muted;
      ctx.beginPath();
      for (let i = 0; i + 1 < points.length; i += 2) ctx.lineTo(points[i], points[i + 1]);
      ctx.stroke();
    }
  }

  look(camera, view) {
    if (!this.scale) return;
    const clampX = (value) => Math.min(WIDTH, Math.max(0, value));
    const clampY = (value) => Math.min(HEIGHT, Math.max(0, value));
    const [left, top] = [clampX(this.left + camera.x * this.scale), clampY(this.top + camera.y * this.scale)];
    const [right, bottom] = [clampX(this.left + (camera.x + view.width / camera.k) * this.scale), clampY(this.top + (camera.y + view.height / camera.k) * this.scale)];
    Object.assign(this.window.style, { left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px` });
  }
}

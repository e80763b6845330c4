// Surfaces by WebGL, drawn into one context that all panels share. Loaded when a surface is first wanted.

import {
  BufferAttribute, BufferGeometry, Camera, ColorManagement, DoubleSide, LinearSRGBColorSpace, LineBasicMaterial, LineSegments, Mesh, MeshBasicMaterial, Points, PointsMaterial, Scene, WebGLRenderer,
} from "three";
import { fillCorners, fillPoints } from "./relief.js";

// Colours are the scale's bytes, from the table to the screen.
ColorManagement.enabled = false;

const [NEAR, FAR] = [0.1, 40];
const DOTS = [{ color: 0x10141c, size: 5.6 }, { color: 0xffffff, size: 3.4 }];

/** This browser has no WebGL, or none to spare. */
export class NoWebGl extends Error {}

let shared = null;

/** Opens the context; throws where the browser has none. */
function renderer() {
  if (!shared) {
    try {
      shared = new WebGLRenderer({ canvas: document.createElement("canvas"), antialias: true, alpha: true });
    } catch (error) {
      throw new NoWebGl(error.message);
    }
    shared.outputColorSpace = LinearSRGBColorSpace;
    shared.setPixelRatio(1);
    const mine = shared;
    // A graphics driver that starts anew takes its contexts with it; the next picture opens another.
    mine.domElement.addEventListener("webglcontextlost", () => { if (shared === mine) shared = null; });
  }
  return shared;
}

/** Gives the context back to the browser, which has only a few; the next picture opens another. */
export function release() {
  if (!shared) return;
  const mine = shared;
  shared = null;
  mine.dispose();
  mine.forceContextLoss();
}

export class Surface {
  constructor() {
    this.scene = new Scene();
    this.camera = new Camera();
    this.camera.matrixAutoUpdate = false;
    this.mesh = new Mesh(new BufferGeometry(), new MeshBasicMaterial({ vertexColors: true, side: DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 }));
    this.net = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ vertexColors: true }));
    // A white dot on a dark one can be seen on every colour.
    this.dots = DOTS.map(({ color }, i) => {
      const dots = new Points(new BufferGeometry(), new PointsMaterial({ color, sizeAttenuation: false, depthWrite: false }));
      dots.renderOrder = i + 1;
      return dots;
    });
    this.parts = [this.mesh, this.net, ...this.dots];
    for (const part of this.parts) {
      part.frustumCulled = false;
      this.scene.add(part);
    }
    this.size = "";
    this.numBuilt = 0;
  }

  /** Takes the points of a grid. Grids of one size share their buffers: only the numbers in them change. */
  update({ grid, box, scale, colours, isNet, hasDots }) {
    const { rows, cols } = grid;
    if (this.size !== `${rows} ${cols}`) this.build(rows, cols);
    fillPoints(this.buffers, grid, box, scale, colours);
    const { numFaces, numLines, numDots } = fillCorners(this.buffers, grid);
    for (const part of this.parts) part.geometry.index.needsUpdate = true;
    for (const name of ["position", "color"]) this.mesh.geometry.attributes[name].needsUpdate = true;
    this.mesh.geometry.setDrawRange(0, numFaces);
    this.net.geometry.setDrawRange(0, numLines);
    this.mesh.visible = !isNet;
    this.net.visible = isNet;
    for (const dots of this.dots) {
      dots.geometry.setDrawRange(0, numDots);
      dots.visible = hasDots;
    }
  }

  build(rows, cols) {
    const num = rows * cols;
    this.size = `${rows} ${cols}`;
    this.numBuilt++;
    this.buffers = { positions: new Float32Array(3 * num), colours: new Uint8Array(3 * num), faces: new Uint32Array(6 * num), lines: new Uint32Array(4 * num), dots: new Uint32Array(num) };
    const position = new BufferAttribute(this.buffers.positions, 3);
    const color = new BufferAttribute(this.buffers.colours, 3, true);
    const { faces, lines, dots } = this.buffers;
    for (const [part, corners] of [[this.mesh, faces], [this.net, lines], ...this.dots.map((part) => [part, dots])]) {
      part.geometry.dispose();
      part.geometry = new BufferGeometry();
      part.geometry.setAttribute("position", position);
      part.geometry.setAttribute("color", color);
      part.geometry.setIndex(new BufferAttribute(corners, 1));
    }
  }

  /**
   * Draws the surface as a lens sees it.
   * @param {number} ratio pixels for each CSS pixel.
   * @returns {{canvas: HTMLCanvasElement, x: number, y: number, width: number, height: number}} which part of the canvas
   *   it is; to be copied before anything else is drawn.
   */
  draw(lens, ratio) {
    const gl = renderer();
    const { area, middle, focal, right, up, back, eye } = lens;
    const [width, height] = [Math.max(1, Math.round(area.width * ratio)), Math.max(1, Math.round(area.height * ratio))];
    const canvas = gl.domElement;
    // Panels that differ by a pixel share a canvas that holds either: a new size costs more than a picture.
    if (width * height * 2 < canvas.width * canvas.height) gl.setSize(width, height, false);
    else if (width > canvas.width || height > canvas.height) gl.setSize(Math.max(width, canvas.width), Math.max(height, canvas.height), false);
    gl.setViewport(0, 0, width, height);
    const at = (px) => (px / focal) * NEAR;
    this.camera.projectionMatrix.makePerspective(at(area.left - middle[0]), at(area.left + area.width - middle[0]), at(middle[1] - area.top), at(middle[1] - area.top - area.height), NEAR, FAR);
    this.camera.projectionMatrixInverse.copy(this.camera.projectionMatrix).invert();
    this.camera.matrix.set(right[0], up[0], back[0], eye[0], right[1], up[1], back[1], eye[1], right[2], up[2], back[2], eye[2], 0, 0, 0, 1);
    this.camera.updateMatrixWorld(true);
    for (const [i, part] of this.dots.entries()) part.material.size = DOTS[i].size * ratio;
    gl.render(this.scene, this.camera);
    return { canvas, x: 0, y: canvas.height - height, width, height };
  }

  dispose() {
    for (const part of this.parts) {
      part.geometry.dispose();
      part.material.dispose();
    }
  }
}

// Surfaces by WebGL, drawn into one context that all panels share. Loaded when a surface is first wanted.

import {
  BufferAttribute, BufferGeometry, Camera, ColorManagement, DoubleSide, LinearSRGBColorSpace, LineBasicMaterial, LineSegments, Mesh, MeshBasicMaterial, Scene, WebGLRenderer,
} from "three";
import { fillCorners, fillPoints } from "./relief.js";

// Colours are the scale's bytes, from the table to the screen.
ColorManagement.enabled = false;

const [NEAR, FAR] = [0.1, 40];

let shared = null;

/** Opens the context; throws where the browser has none. */
function renderer() {
  if (!shared) {
    shared = new WebGLRenderer({ canvas: document.createElement("canvas"), antialias: true, alpha: true });
    shared.outputColorSpace = LinearSRGBColorSpace;
    shared.setPixelRatio(1);
  }
  return shared;
}

/** Gives the context back to the browser, which has only a few; the next picture opens another. */
export function release() {
  if (!shared) return;
  shared.dispose();
  shared.forceContextLoss();
  shared = null;
}

export class Surface {
  constructor() {
    this.scene = new Scene();
    this.camera = new Camera();
    this.camera.matrixAutoUpdate = false;
    this.mesh = new Mesh(new BufferGeometry(), new MeshBasicMaterial({ vertexColors: true, side: DoubleSide, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 }));
    this.net = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ vertexColors: true }));
    for (const part of [this.mesh, this.net]) {
      part.frustumCulled = false;
      this.scene.add(part);
    }
    this.size = "";
    this.numBuilt = 0;
  }

  /** Takes the points of a grid. Grids of one size share their buffers: only the numbers in them change. */
  update({ grid, box, scale, colours, isNet }) {
    const { rows, cols } = grid;
    if (this.size !== `${rows} ${cols}`) this.build(rows, cols);
    fillPoints(this.buffers, grid, box, scale, colours);
    const { numFaces, numLines } = fillCorners(this.buffers, grid);
    for (const part of [this.mesh, this.net]) part.geometry.index.needsUpdate = true;
    for (const name of ["position", "color"]) this.mesh.geometry.attributes[name].needsUpdate = true;
    this.mesh.geometry.setDrawRange(0, numFaces);
    this.net.geometry.setDrawRange(0, numLines);
    this.mesh.visible = !isNet;
    this.net.visible = isNet;
  }

  build(rows, cols) {
    const num = rows * cols;
    this.size = `${rows} ${cols}`;
    this.numBuilt++;
    this.buffers = { positions: new Float32Array(3 * num), colours: new Uint8Array(3 * num), faces: new Uint32Array(6 * num), lines: new Uint32Array(4 * num) };
    const position = new BufferAttribute(this.buffers.positions, 3);
    const color = new BufferAttribute(this.buffers.colours, 3, true);
    for (const [part, corners] of [[this.mesh, this.buffers.faces], [this.net, this.buffers.lines]]) {
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
   * @returns {HTMLCanvasElement} to be copied before anything else is drawn.
   */
  draw(lens, ratio) {
    const gl = renderer();
    const { area, middle, focal, right, up, back, eye } = lens;
    const [width, height] = [Math.max(1, Math.round(area.width * ratio)), Math.max(1, Math.round(area.height * ratio))];
    if (gl.domElement.width !== width || gl.domElement.height !== height) gl.setSize(width, height, false);
    const at = (px) => (px / focal) * NEAR;
    this.camera.projectionMatrix.makePerspective(at(area.left - middle[0]), at(area.left + area.width - middle[0]), at(middle[1] - area.top), at(middle[1] - area.top - area.height), NEAR, FAR);
    this.camera.projectionMatrixInverse.copy(this.camera.projectionMatrix).invert();
    this.camera.matrix.set(right[0], up[0], back[0], eye[0], right[1], up[1], back[1], eye[1], right[2], up[2], back[2], eye[2], 0, 0, 0, 1);
    this.camera.updateMatrixWorld(true);
    gl.render(this.scene, this.camera);
    return gl.domElement;
  }

  dispose() {
    for (const part of [this.mesh, this.net]) {
      part.geometry.dispose();
      part.material.dispose();
    }
  }
}

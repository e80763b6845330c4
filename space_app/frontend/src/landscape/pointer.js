// What mouse, fingers and keys do on a picture: they move the cursor over a map, and the camera around a surface.

import { panned, turned, VIEWPOINTS, zoomed } from "./camera.js";

const DEGREES_PER_PX = 0.45;
const KEY_DEGREES = 6;

/**
 * @param {HTMLElement} stage
 * @param {object} panel has `isSurface`, `plot`, `grid`, and is told: `pointAt(px, py)`, `moveCursor(dx, dy)`,
 *   `leave()`, `moveCamera(change)`, `togglePlay()`, `step(by)`.
 */
export function listen(stage, panel) {
  const fingers = new Map();
  const place = (event) => {
    const { left, top } = stage.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  stage.addEventListener("pointerdown", (event) => {
    if (event.button > 2 || event.target.closest("button")) return;
    fingers.set(event.pointerId, place(event));
    if (!panel.isSurface) {
      panel.pointAt(...place(event));
      return;
    }
    stage.setPointerCapture(event.pointerId);
    panel.leave();
  });
  stage.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = fingers.get(event.pointerId);
    if (!before || !panel.isSurface) {
      panel.pointAt(...now);
      return;
    }
    if (fingers.size === 1) drag(panel, event, now[0] - before[0], now[1] - before[1], stage);
    else pinch(panel, fingers, event.pointerId, now, stage);
    fingers.set(event.pointerId, now);
  });
  for (const type of ["pointerup", "pointercancel"]) stage.addEventListener(type, (event) => fingers.delete(event.pointerId));
  // What a finger pointed at stays until it points elsewhere.
  stage.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && panel.leave());
  stage.addEventListener("contextmenu", (event) => panel.isSurface && event.preventDefault());
  stage.addEventListener("dblclick", () => panel.isSurface && panel.moveCamera(null));
  // The wheel scrolls the page until the surface has been clicked.
  stage.addEventListener("wheel", (event) => {
    if (!panel.isSurface || document.activeElement !== stage) return;
    event.preventDefault();
    panel.moveCamera((camera) => zoomed(camera, Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015))));
  }, { passive: false });
  stage.addEventListener("keydown", (event) => key(panel, event));
  stage.addEventListener("blur", () => panel.leave());
}

function drag(panel, event, dx, dy, stage) {
  const isPan = event.buttons & 6 || event.shiftKey || event.ctrlKey;
  const size = Math.min(stage.clientHeight, stage.clientWidth);
  panel.moveCamera((camera) => (isPan ? panned(camera, dx / size, dy / size) : turned(camera, -dx * DEGREES_PER_PX, dy * DEGREES_PER_PX)));
}

function pinch(panel, fingers, id, now, stage) {
  const other = [...fingers].find(([key]) => key !== id)[1];
  const before = fingers.get(id);
  const distance = (a, b) => Math.max(1, Math.hypot(a[0] - b[0], a[1] - b[1]));
  const size = Math.min(stage.clientHeight, stage.clientWidth) * 2;
  panel.moveCamera((camera) => zoomed(panned(camera, (now[0] - before[0]) / size, (now[1] - before[1]) / size), distance(now, other) / distance(before, other)));
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const VIEW_KEYS = { 1: VIEWPOINTS.front, 2: VIEWPOINTS.side, 3: VIEWPOINTS.top };

function key(panel, event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const act = action(panel, event);
  if (!act) return;
  event.preventDefault();
  act();
}

/** What a key does; on a surface, arrows turn it, and with Shift they move the cursor. */
function action(panel, { key: name, shiftKey }) {
  const arrow = ARROWS[name];
  if (arrow && (!panel.isSurface || shiftKey)) return () => panel.moveCursor(...arrow);
  if (name === " ") return () => panel.togglePlay();
  if (name === "Escape") return () => panel.leave();
  if (name === "," || name === ".") return () => panel.step(name === "." ? 1 : -1);
  if (!panel.isSurface) return null;
  if (arrow) return () => panel.moveCamera((camera) => turned(camera, arrow[0] * KEY_DEGREES, arrow[1] * KEY_DEGREES));
  if (name === "+" || name === "=" || name === "-") return () => panel.moveCamera((camera) => zoomed(camera, name === "-" ? 1 / 1.2 : 1.2));
  if (name === "0") return () => panel.moveCamera(null);
  return VIEW_KEYS[name] ? () => panel.moveCamera((camera) => ({ ...camera, ...VIEW_KEYS[name] })) : null;
}

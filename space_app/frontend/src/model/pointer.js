// Wheel, drag, pinch and click on the picture. A drag may begin anywhere, also on a box: what moved is no click.

const CLICK_PX = 5;
const DOUBLE_MS = 380;

/**
 * @param {HTMLElement} element the stage.
 * @param {object} told
 * @param {(px: number, py: number, factor: number) => void} told.zoom
 * @param {(dx: number, dy: number) => void} told.pan
 * @param {(target: Element, isDouble: boolean) => void} told.click
 * @param {(target: Element | null, px: number, py: number) => void} told.hover
 */
export function listen(element, told) {
  const fingers = new Map();
  let moved = 0;
  let pressed = null;
  let last = { at: -Infinity, id: null };
  const place = (event) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    told.zoom(...place(event), Math.exp(-Math.max(-240, Math.min(240, event.deltaY * lines)) * (event.ctrlKey ? 0.01 : 0.0016)));
  }, { passive: false });
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("[data-over]")) return;
    fingers.set(event.pointerId, place(event));
    if (fingers.size === 1) [moved, pressed] = [0, event.target];
  });
  element.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    const now = place(event);
    if (!before) {
      if (event.pointerType === "mouse" && fingers.size === 0) told.hover(event.target, ...now);
      return;
    }
    if (fingers.size === 2) {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const size = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
      told.zoom((now[0] + other[0]) / 2, (now[1] + other[1]) / 2, size(now) / size(before));
      told.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
      moved = Infinity;
    } else {
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (moved > CLICK_PX) {
        // Taken only now: a click on a button below goes where it was meant to go.
        if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
        element.classList.add("tl-model-drags");
        told.hover(null);
        told.pan(now[0] - before[0], now[1] - before[1]);
      }
    }
    fingers.set(event.pointerId, now);
  });
  const end = (event, isDone) => {
    if (!fingers.delete(event.pointerId)) return;
    element.classList.remove("tl-model-drags");
    if (!isDone || fingers.size > 0 || moved > CLICK_PX) return;
    const id = pressed?.closest?.("[data-node]")?.dataset.node ?? null;
    const isDouble = id !== null && id === last.id && event.timeStamp - last.at < DOUBLE_MS;
    last = isDouble ? { at: -Infinity, id: null } : { at: event.timeStamp, id };
    told.click(pressed, isDouble);
  };
  element.addEventListener("pointerup", (event) => end(event, true));
  element.addEventListener("pointercancel", (event) => end(event, false));
  element.addEventListener("pointerleave", () => told.hover(null));
}

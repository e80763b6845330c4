// What part of the picture is seen: x and y of its left top corner in the picture, and how many pixels one of its units has. Pure.

export const LEAST = 0.01;
export const MOST = 4;
const READABLE = 0.62;
const MARGIN = 18;

/** @typedef {{x: number, y: number, k: number}} Camera */

const clamp = (k) => Math.min(MOST, Math.max(LEAST, k));

/** The whole picture in the middle. */
export function fit({ width, height }, view, most = 1.25) {
  const k = clamp(Math.min(most, (view.width - 2 * MARGIN) / Math.max(width, 1), (view.height - 2 * MARGIN) / Math.max(height, 1)));
  return { x: width / 2 - view.width / 2 / k, y: height / 2 - view.height / 2 / k, k };
}

/** The whole picture where its texts can be read then, else its beginning. */
export function begin(size, view) {
  const whole = fit(size, view, 1.1);
  if (whole.k >= READABLE) return whole;
  const k = clamp(Math.max(READABLE, Math.min(1, (view.width - 2 * MARGIN) / Math.max(size.width, 1))));
  const tall = size.height * k > view.height - 2 * MARGIN;
  return { x: size.width / 2 - view.width / 2 / k, y: tall ? -MARGIN / k : size.height / 2 - view.height / 2 / k, k };
}

/** Zooms so that what is below a point of the view stays there. */
export function zoomAt(camera, px, py, factor) {
  const k = clamp(camera.k * factor);
  return { x: camera.x + px / camera.k - px / k, y: camera.y + py / camera.k - py / k, k };
}

export const pan = (camera, dx, dy) => ({ ...camera, x: camera.x - dx / camera.k, y: camera.y - dy / camera.k });

/** Where a point of the picture is seen. */
export const seenAt = (camera, x, y) => [(x - camera.x) * camera.k, (y - camera.y) * camera.k];

/** Whether all of the picture is seen. */
export const isWhole = ({ x, y, k }, size, view) => x <= 1 && y <= 1 && x + view.width / k >= size.width - 1 && y + view.height / k >= size.height - 1;

/** Brings a box into the middle, large enough to be read, small enough to be seen whole. */
export function flyTo(camera, box, view) {
  const whole = Math.min((view.width - 60) / box.width, (view.height - 90) / box.height);
  const k = clamp(Math.min(Math.max(camera.k, 0.85), Math.max(whole, 0.45)));
  const y = box.height * k > view.height - 60 ? box.y - 40 / k : box.y + box.height / 2 - view.height / 2 / k;
  return { x: box.x + box.width / 2 - view.width / 2 / k, y, k };
}

/** As little as has to be moved for a box to be seen. */
export function nudge(camera, box, view, margin = 24) {
  const [x, y] = seenAt(camera, box.x, box.y);
  const [w, h] = [box.width * camera.k, box.height * camera.k];
  const need = (from, size, room) => (from < margin ? from - margin : from + size > room - margin ? Math.min(from - margin, from + size - room + margin) : 0);
  return { ...camera, x: camera.x + need(x, w, view.width) / camera.k, y: camera.y + need(y, h, view.height) / camera.k };
}

/** Between two cameras; far ways look smooth when what is in the middle moves evenly. */
export function between(a, b, share, view) {
  const t = share < 0.5 ? 4 * share ** 3 : 1 - (-2 * share + 2) ** 3 / 2;
  const k = a.k * (b.k / a.k) ** t;
  const middle = (camera) => [camera.x + view.width / 2 / camera.k, camera.y + view.height / 2 / camera.k];
  const [[ax, ay], [bx, by]] = [middle(a), middle(b)];
  return { x: ax + (bx - ax) * t - view.width / 2 / k, y: ay + (by - ay) * t - view.height / 2 / k, k };
}

/** As a link has it: the point in the middle, so that it is there in a window of any size. */
export const pack = ({ x, y, k }, view) => [Math.round(x + view.width / 2 / k), Math.round(y + view.height / 2 / k), Number(k.toPrecision(3))];

export function unpack(raw, view) {
  const k = clamp(raw[2]);
  return { x: raw[0] - view.width / 2 / k, y: raw[1] - view.height / 2 / k, k };
}

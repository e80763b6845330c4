// Where things stand in a picture: margins, an axis lock, and the way between coordinates and pixels. Pure.

import { tickLabels } from "../format.js";
import { linearTicks } from "../ranges.js";

const BAR_PX = 14;

/**
 * Whether one unit of x is as long as one unit of y by default: where both axes are of one kind, such as
 * "δ (random)" and "η (random)", or "x" and "y".
 */
export function isSameKind(xLabel, yLabel) {
  const kind = (label) => /\(([^()]*)\)\s*$/.exec(label)?.[1].replace(/[\d.,%\s]+/g, "") ?? (label.length <= 2 ? "" : label);
  return kind(xLabel) === kind(yLabel);
}

/**
 * The place of a map in a picture.
 * @param {object} about
 * @param {number} about.width of the picture in CSS pixels.
 * @param {number} about.height
 * @param {[number, number]} about.xDomain what the x axis spans.
 * @param {[number, number]} about.yDomain
 * @param {boolean} about.isEqual whether both axes have one unit of length; else the map is a square.
 * @param {{left: number, right: number, top: number, bottom: number}} about.margin
 */
export function placeMap({ width, height, xDomain, yDomain, isEqual, isFilling, margin }) {
  const room = { width: Math.max(20, width - margin.left - margin.right), height: Math.max(20, height - margin.top - margin.bottom) };
  const ratio = isEqual ? (xDomain[1] - xDomain[0]) / (yDomain[1] - yDomain[0]) : 1;
  const size = isFilling ? room : fitted(room, Math.min(8, Math.max(1 / 8, ratio)));
  const area = { left: margin.left + Math.floor((room.width - size.width) / 2), top: margin.top + Math.floor((room.height - size.height) / 2), width: Math.floor(size.width), height: Math.floor(size.height) };
  return { area, ...projection(area, xDomain, yDomain) };
}

const fitted = (room, ratio) => (room.width / room.height > ratio ? { width: room.height * ratio, height: room.height } : { width: room.width, height: room.width / ratio });

/** The way from coordinates to pixels and back; y rises upwards. */
export function projection(area, [x0, x1], [y0, y1]) {
  return {
    xDomain: [x0, x1], yDomain: [y0, y1],
    px: (x) => area.left + ((x - x0) / (x1 - x0)) * area.width,
    py: (y) => area.top + area.height - ((y - y0) / (y1 - y0)) * area.height,
    x: (px) => x0 + ((px - area.left) / area.width) * (x1 - x0),
    y: (py) => y0 + ((area.top + area.height - py) / area.height) * (y1 - y0),
  };
}

/** Round ticks of an axis, with labels. */
export function axisTicks([low, high], lengthPx, apartPx) {
  const most = Math.max(2, Math.floor(lengthPx / apartPx));
  let ticks = linearTicks(low, high, most);
  // One tick alone says nothing of the axis's unit.
  for (let more = most + 1; ticks.length < 2 && more < most + 6; more++) ticks = linearTicks(low, high, more);
  const labels = tickLabels(ticks, ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(ticks[0] ?? 0) || 1);
  return ticks.map((value, i) => ({ value, label: labels[i].replace(/^-/, "−") }));
}

/** The colour bar beside an area. */
export const barOf = (area, gap = 16) => ({ left: area.left + area.width + gap, top: area.top, width: BAR_PX, height: area.height });

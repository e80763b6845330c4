// Where the ticks of a chart stand and what they say.

import { duration, tickLabels, timeLabels } from "./format.js";
import { clockTicks, linearTicks, logTicks, symlogTicks, timeTicks } from "./ranges.js";
import { textWidth } from "./theme.js";

/** Room at the right of a chart, in which half of the last label fits. */
export const RIGHT_PX = 18;

// About, because uPlot asks for ticks before it knows how wide their labels make the axes.
const plotWidth = (u) => u.width - 60;
const plotHeight = (u) => u.height - 32;

/**
 * Ticks and labels of an x axis, as uPlot wants them.
 * @param {() => boolean} isWhole whether every x is a whole number: there is nothing between two steps or epochs.
 */
export function xTicks(xKind, xScale, isWhole) {
  const most = (u) => Math.max(2, Math.floor(plotWidth(u) / 74));
  if (xKind === "relative" && xScale === "linear") {
    return { splits: (u, _, low, high) => clockTicks(low, high, most(u)), values: (_, ticks) => ticks.map(duration) };
  }
  if (xKind === "time" && xScale === "linear") {
    return { splits: (u, _, low, high) => timeTicks(low, high, most(u)), values: (_, ticks) => timeLabels(ticks) };
  }
  if (xScale === "log") {
    return { splits: (u, _, low, high) => logTicks(low, high, most(u)), values: (_, ticks) => ticks.map((tick) => tickLabels([tick], tick)[0]) };
  }
  const splits = (u, _, low, high) => {
    const labels = Math.max(Math.abs(low), Math.abs(high)).toFixed(0).length;
    const ticks = linearTicks(low, high, Math.max(1, Math.floor(plotWidth(u) / Math.max(54, labels * 9))));
    const whole = isWhole() ? ticks.filter(Number.isInteger) : ticks;
    const step = whole.length > 1 ? whole[1] - whole[0] : 1;
    return fitting(u, whole, (tick) => tickLabels([tick], step)[0]);
  };
  return { splits, values: (_, ticks) => tickLabels(ticks, ticks.length > 1 ? ticks[1] - ticks[0] : 1) };
}

/** Ticks and labels of a y axis. */
export function yTicks(yScale) {
  const most = (u) => Math.max(2, Math.floor(plotHeight(u) / 28));
  const plain = (_, ticks) => tickLabels(ticks, ticks.length > 1 ? ticks[1] - ticks[0] : Math.abs(ticks[0]) || 1);
  const each = (_, ticks) => ticks.map((tick) => tickLabels([tick], Math.abs(tick) || 1)[0]);
  if (yScale === "linear") return { splits: (u, _, low, high) => linearTicks(low, high, most(u)), values: plain };
  const make = yScale === "log" ? logTicks : symlogTicks;
  const isNarrow = (ticks) => ticks.length > 1 && ticks.every((tick) => tick > 0) && ticks.at(-1) / ticks[0] < 10;
  const more = (u) => Math.max(3, Math.floor(plotHeight(u) / 22));
  return { splits: (u, _, low, high) => make(low, high, more(u)), values: (u, ticks) => (isNarrow(ticks) ? plain(u, ticks) : each(u, ticks)) };
}

/** The ticks whose label fits before the right edge. */
function fitting(u, ticks, label) {
  const { min, max } = u.scales.x;
  const width = plotWidth(u);
  return ticks.filter((tick) => min === max || ((max - tick) / (max - min)) * width + RIGHT_PX - 2 > textWidth(label(tick), "tick") / 2);
}

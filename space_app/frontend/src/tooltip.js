// The one tooltip of the page: the nearest stored point of every line under the cursor.

import { swatch } from "./colours.js";
import { TL } from "./core.js";
import { h } from "./dom.js";
import { logged, middle, number, xTitle, xValue } from "./format.js";
import { nearest } from "./ranges.js";
import { revive } from "./wire.js";

const MOST_ROWS = 12;
const REACH_PX = 30;

let box = null;
let owner = null;
const exactValues = new Map();

export function hideTooltip(chart) {
  if (owner !== chart) return;
  owner = null;
  if (box) box.hidden = true;
  for (const dot of chart.dotPool) dot.hidden = true;
}

export function showTooltip(chart, left, top) {
  box ??= document.body.appendChild(h("div.tl-tooltip", { role: "tooltip" }));
  if (owner && owner !== chart) hideTooltip(owner);
  owner = chart;
  const rows = rowsAt(chart, left, top);
  placeDots(chart, rows);
  if (rows.length === 0) {
    box.hidden = true;
    return;
  }
  fill(chart, rows);
  const area = chart.plot.over.getBoundingClientRect();
  box.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = box;
  const x = area.left + left + 16 + width > window.innerWidth ? area.left + left - width - 16 : area.left + left + 16;
  box.style.left = `${Math.max(4, x)}px`;
  box.style.top = `${Math.max(4, Math.min(window.innerHeight - height - 4, area.top + top + 12))}px`;
}

/** The nearest point of each line, with where it is drawn; lines that end far from the cursor are left out. */
function rowsAt(chart, left, top) {
  const { plot, lines } = chart;
  const at = plot.posToVal(left, "x");
  const rows = [];
  for (const line of lines) {
    const i = nearest(line.x, line.length, at);
    if (i < 0) continue;
    const px = plot.valToPos(line.x[i], "x");
    const isBeyond = (i === 0 && px > left) || (i === line.length - 1 && px < left);
    if ((isBeyond && line.length > 1 && Math.abs(px - left) > REACH_PX) || px < -1 || px > plot.over.clientWidth + 1) continue;
    const shown = line.smoothed ? line.smoothed[i] : line.y[i];
    const py = Number.isFinite(shown) && !(chart.settings.yScale === "log" && shown <= 0) ? plot.valToPos(shown, "y") : plot.over.clientHeight;
    rows.push({ line, i, px, py, x: line.x[i], y: line.y[i], smoothed: line.smoothed?.[i] ?? null, distance: Math.hypot(px - left, py - top) });
  }
  const rank = (value) => (Number.isNaN(value) ? -Infinity : value);
  rows.sort((a, b) => rank(b.smoothed ?? b.y) - rank(a.smoothed ?? a.y));
  const closest = rows.reduce((best, row) => (best === null || row.distance < best.distance ? row : best), null);
  if (closest) closest.isClosest = true;
  return rows;
}

function placeDots(chart, rows) {
  while (chart.dotPool.length < rows.length) {
    const dot = h("div.tl-dot");
    chart.plot.over.append(dot);
    chart.dotPool.push(dot);
  }
  chart.dotPool.forEach((dot, i) => {
    const row = rows[i];
    dot.hidden = !row;
    if (!row) return;
    dot.style.transform = `translate(${row.px}px, ${row.py}px)`;
    dot.style.background = row.line.colour;
    dot.classList.toggle("tl-dot-main", Boolean(row.isClosest));
  });
}

function fill(chart, rows) {
  const closest = rows.find((row) => row.isClosest);
  const { xKind, smoothing } = chart.settings;
  const middle = rows.indexOf(closest);
  const start = Math.max(0, Math.min(rows.length - MOST_ROWS, middle - MOST_ROWS / 2));
  const shown = rows.slice(start, start + MOST_ROWS);
  const isUneven = shown.some((row) => xValue(xKind, row.x) !== xValue(xKind, closest.x));
  const body = shown.map((row) => h(
    `tr${row.isClosest ? ".tl-main" : ""}`, {},
    h("td", {}, h("span.tl-swatch", { style: { background: swatch(row.line) } })),
    h("td.tl-tip-name", {}, tipName(row.line)),
    h("td.tl-num", { data: { role: "value" } }, exactly(chart, row)),
    smoothing > 0 ? h("td.tl-num.tl-muted", {}, row.smoothed === null ? "" : number(row.smoothed)) : null,
    isUneven ? h("td.tl-num.tl-muted", {}, xValue(xKind, row.x)) : null,
  ));
  const more = rows.length - shown.length;
  box.replaceChildren(
    h("div.tl-tip-head", {}, h("span", {}, xTitle(xKind)), h("b", {}, xValue(xKind, closest.x)), smoothing > 0 ? h("span.tl-tip-cols", {}, "value, smoothed") : null),
    h("table", {}, h("tbody", {}, ...body)),
    more > 0 ? h("div.tl-muted", {}, `and ${more} more`) : "",
  );
}

function tipName({ run, lane, lanes }) {
  const name = TL.store?.runs.get(run)?.name ?? run;
  const short = middle(name, 40);
  return lanes > 1 ? `${short} · writer ${lane + 1}` : short;
}

/** The value in words; beyond 2^53 the page's number is rounded, so the stored integer is looked for. */
function exactly(chart, { line, x, y }) {
  if (!Number.isFinite(y) || Math.abs(y) < 2 ** 53) return number(y);
  const last = revive(TL.store.runs.get(line.run)?.last?.[chart.key]);
  if (typeof last === "bigint" && line.x[line.length - 1] === x && Number(last) === y) return logged(last);
  const id = JSON.stringify([line.run, chart.key, chart.settings.xKind, x, line.lane]);
  if (exactValues.has(id)) return exactValues.get(id) === null ? number(y) : logged(exactValues.get(id));
  exactValues.set(id, null);
  if (chart.settings.xKind === "step") void fetchExact(chart, line, x, y, id);
  return number(y);
}

async function fetchExact(chart, line, x, y, id) {
  const answer = await TL.source.rows({ project: TL.store.project, run: line.run, key: chart.key, x0: x, x1: x, limit: 50 }).catch(() => null);
  const found = answer?.rows.map((row) => revive(row[answer.columns.indexOf("value")])).find((value) => Number(value) === y);
  if (found === undefined) return;
  exactValues.set(id, found);
  if (owner === chart) chart.hover();
}

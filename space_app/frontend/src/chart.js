// One chart: asks for the points of one key, keeps them, and draws them with uPlot.

import uPlot from "uplot";
import { RIGHT_PX, xTicks, yTicks } from "./axes.js";
import { swatch } from "./colours.js";
import { TL } from "./core.js";
import { h, nameNode, setText } from "./dom.js";
import { count, distinct, plural, xTitle } from "./format.js";
import { drawLines } from "./plot.js";
import { extent, padded, robust } from "./ranges.js";
import { Layer } from "./series.js";
import { smooth } from "./smooth.js";
import { colours, textWidth } from "./theme.js";
import { hideTooltip, showTooltip } from "./tooltip.js";

const MAX_BUCKETS = 375;
const POINTS_PER_CHART = 50_000;
/** A card names at most so many runs; beyond, the list of runs is the legend. */
const MOST_NAMED = 10;
const DISTRIBUTION = { linear: 1, log: 3, symlog: 4 };

let nextId = 0;

/** How a chart of this key is to look: what the page says, then what was set for this chart alone. */
export function settingsOf(key) {
  const { state, store } = TL;
  const own = state.charts[key] ?? {};
  return {
    xKind: state.x === "auto" ? store.axisOf(key) : state.x,
    xScale: state.logx ? "log" : "linear",
    yScale: own.y ?? state.y,
    min: own.min ?? null,
    max: own.max ?? null,
    zero: own.zero ?? state.zero,
    ignoresOutliers: state.outliers === "ignore",
    smoothing: state.smoothing,
  };
}

/** The window a chart is zoomed to, or null. */
export function zoomOf(key, xKind) {
  const { zoom, link } = TL.state;
  if (link) return zoom[`*${xKind}`] ?? null;
  const own = zoom[`=${key}`];
  return own && own[2] === xKind ? own.slice(0, 2) : null;
}

export function setZoom(key, xKind, window) {
  const zoom = { ...TL.state.zoom };
  const name = TL.state.link ? `*${xKind}` : `=${key}`;
  if (window) zoom[name] = TL.state.link ? window : [...window, xKind];
  else delete zoom[name];
  TL.set({ zoom });
}

export class Chart {
  /**
   * @param {string} key
   * @param {{base: Layer, window: Layer}} layers points kept from an earlier chart of this key.
   */
  constructor(key, layers = { base: new Layer(), window: new Layer() }) {
    this.key = key;
    this.id = `c${nextId++}`;
    this.layers = layers;
    this.isVisible = false;
    this.plot = null;
    this.numDraws = 0;
    this.smoothed = new WeakMap();
    this.lines = [];
    this.dotPool = [];
    this.area = h("div.tl-plot");
    this.note = h("div.tl-note");
    this.axisName = h("div.tl-axis");
    this.legend = h("div.tl-legend");
    this.resizer = new ResizeObserver(() => this.fit());
    this.resizer.observe(this.area);
    TL.charts.add(this);
  }

  destroy() {
    TL.charts.delete(this);
    this.resizer.disconnect();
    hideTooltip(this);
    this.plot?.destroy();
    this.plot = null;
  }

  // -- asking ----------------------------------------------------------------------------------------------------

  /** What this chart asks the server now, or null while it is out of sight. */
  question() {
    if (!this.isVisible || !TL.store?.isLoaded) return null;
    const runs = this.runsToAsk();
    if (runs.length === 0) return null;
    const { xKind } = settingsOf(this.key);
    const zoom = zoomOf(this.key, xKind);
    const buckets = this.buckets(runs.length);
    // The epoch too: a cursor of a server that was restarted means nothing to the new one.
    const signature = JSON.stringify([xKind, buckets, zoom, runs, TL.store.epoch]);
    const layer = zoom ? this.layers.window : this.layers.base;
    const since = layer.ask(signature);
    return {
      signature,
      panel: { id: this.id, key: this.key, x: xKind, runs, buckets, since, x0: zoom?.[0] ?? null, x1: zoom?.[1] ?? null },
    };
  }

  buckets(numRuns) {
    // In steps, so that few answers differ: a frozen copy has them ready (BUCKETS in space_app/freeze).
    const fair = Math.floor(POINTS_PER_CHART / 2 / numRuns / 75) * 75;
    const wide = Math.ceil((this.area.clientWidth || 400) / 2 / 75) * 75;
    return Math.max(50, Math.min(MAX_BUCKETS * (this.isLarge ? 2 : 1), wide, fair));
  }

  /** Selected runs that have the key; while some were only switched off, the question stays as it was. */
  runsToAsk() {
    const all = TL.selectedRuns;
    const having = all.filter((id) => this.key in (TL.store.runs.get(id)?.last ?? {}));
    const wanted = having.length ? having : all;
    const asked = this.askedRuns ?? [];
    const isKnown = wanted.length > 0 && asked.length <= wanted.length * 2 + 5 && wanted.every((id) => asked.includes(id));
    if (!isKnown) this.askedRuns = [...wanted].sort();
    return this.askedRuns ?? [];
  }

  take(signature, isWhole, parts, cursor) {
    const layer = [this.layers.base, this.layers.window].find((item) => item.signature === signature);
    if (!layer) return;
    const budget = 2 * JSON.parse(signature)[1];
    if (layer.apply(signature, isWhole, parts, cursor, budget)) this.redraw();
  }

  // -- drawing ---------------------------------------------------------------------------------------------------

  redraw() {
    if (this.isVisible) TL.later(this.id, () => this.draw());
    else this.isStale = true;
  }

  show(isVisible) {
    if (isVisible === this.isVisible) return;
    this.isVisible = isVisible;
    if (!isVisible) return;
    TL.poller.poke();
    if (this.isStale || !this.plot) this.redraw();
  }

  draw() {
    if (!TL.store || !this.area.isConnected || this.area.clientWidth === 0) return;
    this.isStale = false;
    const settings = settingsOf(this.key);
    const zoom = zoomOf(this.key, settings.xKind);
    const isFine = zoom && this.layers.window.isLoaded && this.layers.window.signature?.includes(JSON.stringify(zoom));
    const layer = isFine ? this.layers.window : this.layers.base;
    const shown = new Set(TL.selectedRuns);
    this.lines = [...layer.lines.values()].filter((line) => shown.has(line.run));
    this.settings = settings;
    this.range(settings, zoom);
    this.prepare(settings, isFine ? this.layers.base : null);
    this.ensurePlot(settings);
    this.plot.setData([[this.x[0], this.x[1]], [null, null]], true);
    this.plot.redraw(false, true);
    this.describe(settings, isFine, layer);
    this.numDraws++;
    const card = this.area.closest("[data-key]");
    if (card) {
      card.dataset.draws = this.numDraws;
      card.dataset.points = this.lines.reduce((sum, line) => sum + line.length, 0);
      card.dataset.ready = layer.isLoaded ? "1" : "0";
    }
  }

  /** Ranges of both axes, and the counts of what they leave out. */
  range({ xKind, xScale, yScale, min, max, zero, ignoresOutliers }, zoom) {
    const isLogX = xScale === "log";
    let window = zoom && !(isLogX && zoom[0] <= 0) ? zoom : null;
    if (!window) {
      const all = extent(this.lines.map(({ x, length }) => ({ x, y: x, length })), { x0: -Infinity, x1: Infinity }, isLogX);
      window = all ? widened(all, xKind, isLogX) : isLogX ? [1, 10] : [0, 1];
    }
    this.x = window;
    this.isWholeX = xKind === "step" || (xKind.startsWith("metric:") && this.lines.every(({ x, length }) => x.subarray(0, length).every((value) => Number.isInteger(value) || Number.isNaN(value))));
    const isLogY = yScale === "log";
    const inside = { x0: window[0], x1: window[1] };
    let extremes = extent(this.lines, inside, isLogY);
    this.numOutside = 0;
    if (ignoresOutliers && extremes) {
      const { range, outside } = robust(this.lines, inside, isLogY);
      this.numOutside = outside;
      extremes = range;
    }
    let [low, high] = padded(extremes ?? (isLogY ? [1, 10] : [0, 1]), yScale);
    if (zero && !isLogY) {
      if (extremes && extremes[0] >= 0) low = 0;
      else if (extremes && extremes[1] <= 0) high = 0;
    }
    if (min !== null && !(isLogY && min <= 0)) low = min;
    if (max !== null && !(isLogY && max <= 0)) high = max;
    if (!(low < high)) [low, high] = padded([Math.min(low, high), Math.min(low, high)], yScale);
    this.y = [low, high];
    if (min !== null || max !== null) this.numOutside = this.countOutside(inside);
  }

  countOutside({ x0, x1 }) {
    let num = 0;
    for (const { x, y, length } of this.lines) {
      for (let i = 0; i < length; i++) if (x[i] >= x0 && x[i] <= x1 && Number.isFinite(y[i]) && (y[i] < this.y[0] || y[i] > this.y[1])) num++;
    }
    return num;
  }

  /** Colours, smoothing and order of the lines; the hovered run lies on top. */
  prepare({ smoothing }, base) {
    for (const line of this.lines) {
      const { colour, dash } = TL.store.style(line.run);
      line.colour = colour;
      line.dash = line.lane ? [2 + line.lane, 2] : dash;
      line.isFaded = TL.hovered !== null && TL.hovered !== line.run;
      line.smoothed = smoothing > 0 ? this.smooth(line, smoothing, base) : null;
    }
    const order = new Map(TL.selectedRuns.map((id, i) => [id, i]));
    this.lines.sort((a, b) => Number(a.run === TL.hovered) - Number(b.run === TL.hovered) || order.get(b.run) - order.get(a.run) || a.lane - b.lane);
  }

  smooth(line, weight, base) {
    const known = this.smoothed.get(line);
    if (known && known.weight === weight && known.length === line.length && known.y === line.y) return known.values;
    const whole = base?.lines.get(`${line.run} ${line.lane}`);
    const before = whole ? whole.y.subarray(0, whole.length).filter((_, i) => whole.x[i] < line.x[0]) : [];
    const values = smooth(line.y.subarray(0, line.length), weight, before);
    this.smoothed.set(line, { weight, length: line.length, y: line.y, values });
    return values;
  }

  ensurePlot(settings) {
    const kind = `${settings.xKind} ${settings.xScale} ${settings.yScale}`;
    if (this.plot && this.plotKind === kind) return;
    this.plot?.destroy();
    this.plotKind = kind;
    this.plot = new uPlot(this.options(settings), [[0, 1], [null, null]], this.area);
    this.dotPool = [];
    this.plot.over.addEventListener("mouseleave", () => this.leave());
  }

  options({ xKind, xScale, yScale }) {
    const axis = { stroke: () => colours().muted, font: colours().font, ticks: { show: false }, border: { show: false }, filter: (_, splits) => splits };
    const grid = { stroke: () => colours().grid, width: 1 };
    return {
      width: this.area.clientWidth,
      height: this.area.clientHeight,
      padding: [8, RIGHT_PX, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, distr: DISTRIBUTION[xScale], range: () => this.x },
        y: { distr: DISTRIBUTION[yScale], range: () => this.y },
      },
      series: [{}, { show: true, scale: "y", paths: () => null, points: { show: false } }],
      axes: [
        { ...axis, ...xTicks(xKind, xScale, () => this.isWholeX), grid: { show: false }, size: 24, gap: 4 },
        { ...axis, ...yTicks(yScale), grid, size: (u, labels) => Math.max(38, ...(labels ?? []).map((text) => Math.ceil(textWidth(text, "tick")) + 14)), gap: 4 },
      ],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => setZoom(this.key, xKind, null) },
      },
      hooks: {
        draw: [(u) => this.paint(u)],
        // uPlot calls it after redraws too, also where only the crosshair of another chart is shown.
        setCursor: [(u) => u.over.matches(":hover") && this.hover()],
        setSelect: [(u) => this.select(u, xKind)],
      },
    };
  }

  paint(u) {
    const { xScale, yScale } = this.settings;
    drawLines(u.ctx, u.bbox, { ratio: u.bbox.width / u.over.clientWidth, x: this.x, y: this.y, xScale, yScale, lines: this.lines, hasMain: TL.hovered !== null });
    // Only now do the scales fit the new points, so what the tooltip shows is placed right.
    if (this.isHovered) this.hover();
  }

  fit() {
    if (!this.plot) {
      if (this.isVisible) this.redraw();
      return;
    }
    const { clientWidth: width, clientHeight: height } = this.area;
    if (width && (width !== this.plot.width || height !== this.plot.height)) this.plot.setSize({ width, height });
  }

  // -- words -----------------------------------------------------------------------------------------------------

  describe({ xKind, yScale, xScale }, isFine, layer) {
    const sum = (get) => this.lines.reduce((total, line) => total + get(line), 0);
    const total = sum((line) => line.numPoints);
    const drawn = sum((line) => line.length);
    const notes = [];
    if (isFine && total === 0) notes.push("no points in this window");
    else if (this.lines.length) notes.push(drawn < total ? `${plural(total, "point")}, ${count(drawn)} drawn` : plural(total, "point"));
    else if (layer.isLoaded) notes.push("no points in the selected runs");
    const odd = sum((line) => line.numNonFinite);
    if (odd) notes.push(`${count(odd)} NaN or Inf`);
    const low = yScale === "log" ? this.countLow((line) => line.y) : 0;
    if (low) notes.push(`${count(low)} at or below 0`);
    const left = xScale === "log" ? this.countLow((line) => line.x) : 0;
    if (left) notes.push(`${count(left)} at x at or below 0`);
    if (this.numOutside) notes.push(`${plural(this.numOutside, "point")} outside`);
    const writers = Math.max(1, ...this.lines.map((line) => line.lanes));
    if (writers > 1) notes.push(`${writers} writers`);
    setText(this.note, notes.join(" · "));
    this.note.title = writers > 1 ? "Several processes log this key into one run; each has a line of its own." : this.note.textContent;
    this.note.classList.toggle("tl-warn", odd > 0 || writers > 1);
    setText(this.axisName, xTitle(xKind));
    this.axisName.title = `x axis: ${xTitle(xKind)}${xScale === "log" ? ", logarithmic" : ""}`;
    this.drawLegend();
  }

  countLow(pick) {
    let num = 0;
    for (const line of this.lines) for (let i = 0; i < line.length; i++) if (pick(line)[i] <= 0 && pick(line)[i] !== -Infinity) num++;
    return num;
  }

  drawLegend() {
    // In the order of the list of runs, whichever line lies on top: what is pointed at must not move.
    const drawn = new Map(this.lines.map((line) => [line.run, line]));
    const runs = TL.selectedRuns.filter((id) => drawn.has(id)).map((id) => drawn.get(id));
    const isShown = runs.length > 1 && runs.length <= (this.isLarge ? 60 : MOST_NAMED);
    const names = runs.map(({ run }) => TL.store.runs.get(run)?.name ?? run);
    const text = isShown ? runs.map(({ run, colour, numNonFinite }, i) => `${run} ${colour} ${names[i]} ${numNonFinite}`).join("\n") : "";
    if (text === this.legendText) return;
    this.legendText = text;
    const short = this.isLarge ? names : distinct(names);
    this.legend.replaceChildren(...(isShown ? runs.map((line, i) => legendItem(line, names[i], short[i])) : []));
  }

  // -- pointer ---------------------------------------------------------------------------------------------------

  select(u, xKind) {
    const { left, width } = u.select;
    if (width < 4) return;
    const window = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    setZoom(this.key, xKind, xKind === "step" ? [Math.ceil(window[0]), Math.max(Math.ceil(window[0]) + 1, Math.floor(window[1]))] : window);
  }

  hover() {
    const { left, top } = this.plot.cursor;
    if (left === null || left < 0) {
      this.leave();
      return;
    }
    this.isHovered = true;
    showTooltip(this, left, top);
    for (const other of TL.charts) {
      if (other === this || !other.isVisible || !other.plot || other.settings?.xKind !== this.settings.xKind) continue;
      const at = other.plot.valToPos(this.plot.posToVal(left, "x"), "x");
      const isInside = at >= 0 && at <= other.plot.over.clientWidth;
      other.plot.setCursor({ left: isInside ? at : -10, top: isInside ? 0 : -10 }, false);
    }
  }

  leave() {
    this.isHovered = false;
    hideTooltip(this);
    for (const other of TL.charts) if (other !== this) other.plot?.setCursor({ left: -10, top: -10 }, false);
  }
}

/** A range of x with room where it is a single value. */
function widened([low, high], xKind, isLogX) {
  if (low < high) return [low, high];
  return xKind === "step" && !isLogX ? [low - 1, low + 1] : padded([low, high], isLogX ? "log" : "linear");
}

function legendItem({ run, colour, dash, numNonFinite }, name, short) {
  const odd = `${count(numNonFinite)} NaN or Inf`;
  return h(
    "button.tl-legend-item", { type: "button", title: `${name}${numNonFinite ? ` (${odd})` : ""}: click to hide`, "aria-label": `Hide ${name}`, on: {
      click: () => TL.emit("toggle", run), mouseenter: () => TL.hover(run), mouseleave: () => TL.hover(null),
    } },
    h("span.tl-swatch", { style: { background: swatch({ colour, dash }) } }), nameNode(short, "tl-legend-name"),
    numNonFinite ? h("span.tl-legend-odd", { title: odd }, `×${count(numNonFinite)}`) : null,
  );
}

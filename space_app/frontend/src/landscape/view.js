// The Landscape tab: finds the landscapes of the selected runs, shows one or two of them, and keeps the rest at hand.

import { TL } from "../core.js";
import { h } from "../dom.js";
import { colours as pageColours, isDark } from "../theme.js";
import { FrameCache } from "./cache.js";
import { pack, START, unpack } from "./camera.js";
import { table } from "./colourmaps.js";
import { Controls } from "./controls.js";
import { emptyState } from "./empty.js";
import { indexOf, neighbours, seriesId, seriesOf } from "./frames.js";
import { quantile } from "./grid.js";
import { Panel } from "./panel.js";
import { askRows, readGrid } from "./reading.js";
import { makeScale, union } from "./scale.js";
import { changed, settingsOf } from "./settings.js";
import { Strip } from "./strip.js";

const REFRESH_MS = 1500;
/** Between two questions, while the server does not answer. */
const MOST_PAUSE_MS = 30_000;
const WRITE_MS = 300;
/** How many times of showing a step are kept for whoever looks at them with the browser's tools. */
const MOST_MEASURES = 1000;
const SIDES = { a: { run: "run", name: "name", step: "step" }, b: { run: "run2", name: "name2", step: "step2" } };

export class LandscapeView {
  constructor(element) {
    this.series = [];
    this.local = {};
    this.cursor = null;
    this.scales = new Map();
    this.gl = null;
    this.numSteps = 0;
    this.failures = 0;
    this.camera = unpack(settingsOf(TL.state.landscape).camera);
    this.cache = new FrameCache({ load: readGrid, onChange: (frame) => this.frameCame(frame) });
    this.controls = new Controls(this);
    this.strip = new Strip((series) => this.choose("a", series.id));
    this.strip.onSeen = () => this.want();
    this.panels = { a: new Panel(this, "a"), b: new Panel(this, "b") };
    this.body = h("div.tl-land-body", {}, this.panels.a.root, this.panels.b.root);
    this.empty = h("div.tl-land-empty", { hidden: true });
    this.shown = h("div", { hidden: true }, this.controls.root, this.strip.root, this.body);
    this.root = h("div.tl-land", {}, this.empty, this.shown);
    element.append(this.root);
    TL.landscape = this;
    TL.on("runs", () => this.refresh(true));
    TL.on("state", (names) => this.stateChanged(names));
    TL.on("theme", () => this.themeChanged());
    new IntersectionObserver(() => this.seen()).observe(this.root);
    this.refresh(true);
    this.redraw();
  }

  // -- what is chosen ----------------------------------------------------------------------------------------------

  get settings() {
    this.settingsCache ??= settingsOf({ ...TL.state.landscape, ...this.local });
    return this.settingsCache;
  }

  /** Changes what is shown; the link says so at once. */
  change(patch) {
    clearTimeout(this.writing);
    const all = { ...this.local, ...patch };
    this.local = {};
    this.settingsCache = null;
    TL.set({ landscape: changed(TL.state.landscape, all) });
    this.redraw();
  }

  /** As `change`, for what moves quickly: the link follows when it rests. */
  changeSoon(patch) {
    Object.assign(this.local, patch);
    this.settingsCache = null;
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.change({}), WRITE_MS);
  }

  changeStep(side, step) {
    const started = performance.now();
    this.changeSoon({ [SIDES[side].step]: step });
    this.update();
    if (this.numSteps++ % MOST_MEASURES === 0) performance.clearMeasures("landscape-frame");
    performance.measure("landscape-frame", { start: started });
  }

  choose(side, id) {
    const [run, name] = JSON.parse(id);
    const isOtherName = name !== this.settings[SIDES[side].name];
    this.panels[side].player.pause();
    this.change({ [SIDES[side].run]: run, [SIDES[side].name]: name, [SIDES[side].step]: null, ...(isOtherName && side === "a" ? { from: null, to: null } : {}) });
  }

  /** Opens a second picture: the next landscape, or the first step of the only one; or closes it. */
  compare() {
    this.pause();
    if (this.settings.compare) {
      this.change({ compare: false });
      return;
    }
    const first = this.chosen("a");
    const other = this.series.find((series) => series.id !== first.id && series.name === first.name) ?? this.series.find((series) => series.id !== first.id);
    if (other) this.change({ compare: true, run2: other.run, name2: other.name, step2: null, together: true });
    else this.change({ compare: true, run2: first.run, name2: first.name, step2: first.frames[0].step, together: false });
  }

  cutTop(share) {
    const { grid } = this.panels.a;
    if (grid) this.change({ to: Number(quantile(grid, share).toPrecision(4)) });
  }

  /** The landscape of a side: the one in the link, else one of its name, else the first. */
  chosen(side) {
    const { run, name } = SIDES[side];
    const wanted = seriesId(this.settings[run], this.settings[name]);
    return this.series.find((series) => series.id === wanted) ?? this.series.find((series) => series.name === this.settings[name]) ?? this.series[0] ?? null;
  }

  // -- what there is -----------------------------------------------------------------------------------------------

  stateChanged(names) {
    if (names.has("landscape")) {
      this.settingsCache = null;
      this.redraw();
    }
    if (names.has("project")) {
      this.pause();
      this.series = [];
      this.isLoaded = false;
      this.local = {};
      this.scales.clear();
      this.change({ run: "", name: "", step: null, run2: "", name2: "", step2: null, compare: false, from: null, to: null });
    }
    if (names.has("project") || names.has("runs") || names.has("tab")) this.refresh(true);
  }

  /** Asks for the list of landscapes again: at most every now and then, and only while the tab is seen. */
  refresh(isNews) {
    this.isStale ||= isNews;
    if (!this.isStale || this.root.offsetParent === null || !TL.store?.isLoaded || this.timer) return;
    const pause = Math.min(MOST_PAUSE_MS, REFRESH_MS * 2 ** this.failures);
    const wait = this.askedFor === this.question() ? Math.max(0, this.askedAt + pause - performance.now()) : 0;
    this.timer = setTimeout(() => void this.ask(), wait);
  }

  question() {
    return JSON.stringify([TL.store?.project, TL.selectedRuns]);
  }

  async ask() {
    this.isStale = false;
    this.askedAt = performance.now();
    const question = this.question();
    this.askedFor = question;
    try {
      const { version, objects } = await askRows(TL.store.project, TL.selectedRuns, question === this.known?.question ? this.known.version : null);
      if (question === this.question()) {
        if (objects) {
          this.series = seriesOf(objects, TL.selectedRuns);
          this.scales.clear();
        }
        this.known = { question, version };
        this.problem = "";
        this.failures = 0;
        this.isLoaded = true;
      } else this.isStale = true;
    } catch (error) {
      this.problem = `The landscapes cannot be listed: ${error.message}`;
      this.failures++;
      this.isStale = true;
      this.isLoaded = true;
    }
    this.timer = null;
    this.update();
    this.refresh(false);
  }

  // -- how it is drawn ---------------------------------------------------------------------------------------------

  get look() {
    const page = pageColours();
    if (this.lookCache?.page !== page) this.lookCache = { page, ...lookOf(page) };
    return this.lookCache;
  }

  get family() {
    return this.look.family;
  }

  /**
   * The scale of a frame. One range holds all steps of a name in all selected runs, and of both sides of a comparison;
   * the list of landscapes says it without reading their files.
   */
  scaleOf(series, frame) {
    const { scale: kind, range, from, to, compare } = this.settings;
    const names = new Set([series.name]);
    const shown = [frame];
    if (compare && this.isShown(series)) {
      for (const side of ["a", "b"]) {
        names.add(this.chosen(side).name);
        shown.push(this.panels[side].wanted ?? frame);
      }
    }
    const id = JSON.stringify([kind, range, from, to, range === "all" ? [...names].sort() : shown.map((item) => item.id).sort()]);
    if (!this.scales.has(id)) {
      if (this.scales.size > 200) this.scales.clear();
      const frames = range === "all" ? this.series.filter((item) => names.has(item.name)).flatMap((item) => item.frames) : shown;
      this.scales.set(id, makeScale({ kind, ...union(frames.map((item) => item.payload)), from, to }));
    }
    return this.scales.get(id);
  }

  isShown(series) {
    return Object.values(this.panels).some((panel) => panel.series === series);
  }

  pictureOf(series, frame) {
    return { scale: this.scaleOf(series, frame), colours: table(this.settings.map), settings: this.settings, colour: TL.store.style(series.run).colour };
  }

  redraw() {
    TL.later("landscape", () => this.update());
  }

  update() {
    const { settings } = this;
    this.empty.hidden = this.series.length > 0;
    this.shown.hidden = this.series.length === 0;
    if (this.series.length === 0) {
      this.panels.a.player.pause();
      if (this.isLoaded) emptyState(this.empty, this.problem);
      return;
    }
    const [first, second] = [this.chosen("a"), settings.compare ? this.chosen("b") : null];
    const isLine = first.frames.at(-1)?.payload.num_rows === 1;
    this.controls.draw({ settings, isLine, hasGl: this.gl !== false });
    this.strip.root.hidden = this.series.length < 2 || settings.compare;
    this.strip.set(this.series, first.id);
    this.body.classList.toggle("tl-land-two", settings.compare);
    this.root.classList.toggle("tl-land-many", !this.strip.root.hidden);
    this.panels.b.root.hidden = !second;
    this.shownPanels = second ? [this.panels.a, this.panels.b] : [this.panels.a];
    const index = indexOf(first.frames, settings.step);
    const step = first.frames[index]?.step ?? null;
    const others = second ? indexOf(second.frames, settings.together && index < first.frames.length - 1 ? step : settings.together ? null : settings.step2) : -1;
    Object.assign(this.panels.a, { series: first, wanted: first.frames[index] });
    if (second) Object.assign(this.panels.b, { series: second, wanted: second.frames[others] });
    else this.panels.b.player.pause();
    this.panels.a.set(first, index, { all: this.series, canPlay: true });
    if (second) this.panels.b.set(second, others, { all: this.series, canPlay: !settings.together });
    this.want();
    this.strip.draw((frame) => (this.cache.has(frame) ? this.cache.get(frame) : null), (series, frame) => this.pictureOf(series, frame));
  }

  /** What is to be read next: what is shown, what comes after it, and the small pictures. */
  want() {
    const wishes = (this.shownPanels ?? []).map((panel) => panel.wanted);
    for (const panel of this.shownPanels ?? []) {
      const { frames } = panel.series;
      for (const i of neighbours(panel.index, frames.length, this.playerOf(panel).isPlaying, this.settings.loop)) wishes.push(frames[i]);
    }
    if (!this.strip.root.hidden) wishes.push(...this.strip.wanted());
    this.cache.want(wishes.filter(Boolean));
  }

  frameCame() {
    for (const panel of this.shownPanels ?? []) if (panel.wanted && panel.frame?.id !== panel.wanted.id) panel.show();
    if (!this.strip.root.hidden) this.strip.draw((frame) => (this.cache.has(frame) ? this.cache.get(frame) : null), (series, frame) => this.pictureOf(series, frame));
  }

  // -- together ----------------------------------------------------------------------------------------------------

  /** Who plays a panel: where both sides move together, the first one does. */
  playerOf(panel) {
    return (this.settings.compare && this.settings.together ? this.panels.a : panel).player;
  }

  playing(panel) {
    if (!panel.player.isPlaying) panel.drawInfo();
    this.want();
  }

  pause() {
    for (const panel of Object.values(this.panels)) panel.player.pause();
  }

  setCursor(cursor, panel, isSpoken) {
    if (cursor === null && this.cursor === null) return;
    Object.assign(this, { cursor, pointed: panel, isSpoken });
    TL.later("landscape-cursor", () => {
      for (const each of this.shownPanels ?? []) each.drawOver();
    });
  }

  cameraMoved() {
    this.changeSoon({ camera: JSON.stringify(pack(this.camera)) === JSON.stringify(pack(START)) ? null : pack(this.camera) });
    TL.later("landscape-camera", () => {
      for (const panel of this.shownPanels ?? []) panel.draw();
    });
  }

  look3d(viewpoint) {
    this.camera = viewpoint ? { ...START, ...viewpoint } : { ...START };
    this.cameraMoved();
  }

  // -- surfaces ----------------------------------------------------------------------------------------------------

  /** A surface to draw with; null while what draws it is being loaded, or where it cannot be. */
  newSurface() {
    if (this.gl === null) {
      this.gl = undefined;
      import("./gl.js").then((gl) => {
        this.gl = gl;
        this.redraw();
      }, () => this.noSurface());
    }
    if (!this.gl) {
      this.sayNoSurface();
      return null;
    }
    return new this.gl.Surface();
  }

  isWithoutGl(error) {
    return Boolean(this.gl) && error instanceof this.gl.NoWebGl;
  }

  noSurface() {
    this.gl = false;
    this.redraw();
    this.sayNoSurface();
  }

  sayNoSurface() {
    const text = this.gl === false ? "This browser draws no 3D here: WebGL is off or not there. The heat map and the contours show the same numbers." : "Loading…";
    for (const panel of this.shownPanels ?? []) panel.say(text);
  }

  /** A hidden tab, and one without a surface, holds no WebGL context. */
  seen() {
    const isSeen = this.root.offsetParent !== null;
    if (isSeen) {
      this.refresh(false);
      this.redraw();
      return;
    }
    this.pause();
    this.dropGl();
  }

  dropGl() {
    for (const panel of Object.values(this.panels)) panel.dropSurface();
    if (this.gl) this.gl.release();
  }

  themeChanged() {
    this.lookCache = null;
    this.strip.forget();
    this.redraw();
  }
}

/** The page's colours as pictures need them. */
function lookOf(page) {
  const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const style = getComputedStyle(document.body);
  return {
    ...page, axis: page.muted, hatch: page.muted, wall: isDark() ? "rgba(255,255,255,0.035)" : "rgba(20,30,50,0.022)", backRgb: rgb(page.back), textRgb: rgb(page.text),
    family: style.getPropertyValue("--tl-font").trim() || "sans-serif",
  };
}


// The Model tab: finds the graphs of the selected runs, and shows one of them, or what two of them differ in.

import { TL } from "../core.js";
import { toast } from "../dialog.js";
import { h, setText } from "../dom.js";
import { count, plural } from "../format.js";
import { indexOf, seriesId, seriesOf } from "../landscape/frames.js";
import { colouring } from "./colouring.js";
import { Controls } from "./controls.js";
import { Crumbs } from "./crumbs.js";
import { diffOf } from "./diff.js";
import { Documents } from "./documents.js";
import { emptyState } from "./empty.js";
import { Engine } from "./engine.js";
import { openExports } from "./exports.js";
import { Layout } from "./layout.js";
import { idOf, refOf } from "./ids.js";
import { lift } from "./lift.js";
import { lookOf } from "./look.js";
import { Opening } from "./opening.js";
import { sceneOf } from "./scene.js";
import { SearchBox } from "./searchbox.js";
import { changed, settingsOf } from "./settings.js";
import { Side } from "./side.js";
import { Sizes } from "./sizes.js";
import { Stage } from "./stage.js";

const REFRESH_MS = 1500;
const TYPE = "model_graph";
const SIDES = { a: { run: "run", name: "name", step: "step" }, b: { run: "run2", name: "name2", step: "step2" } };

export class ModelView {
  constructor(element) {
    Object.assign(this, { series: [], graph: null, frame: null, opening: null, selected: null, diff: null, scene: null, picture: null, marks: null, drawNumber: 0 });
    this.layout = new Layout(new Engine());
    this.documents = new Documents(() => this.isSeen && this.update());
    this.controls = new Controls(this);
    this.search = new SearchBox(this);
    this.stage = new Stage(this);
    this.side = new Side(this);
    this.crumbs = new Crumbs(this);
    this.live = h("div.tl-unseen", { "aria-live": "polite", data: { role: "live" } });
    this.num = h("span.tl-muted.tl-count", { data: { role: "visible" } });
    const head = h("div.tl-model-head", {}, this.crumbs.root, this.num, this.search.root);
    this.body = h("div.tl-model-body", {}, h("div.tl-model-main", {}, head, this.stage.root, this.stage.legend), this.side.root);
    this.empty = h("div.tl-model-empty", { hidden: true });
    this.shown = h("div", { hidden: true }, this.controls.root, this.body, this.live);
    this.root = h("div.tl-model", {}, this.empty, this.shown);
    element.append(this.root);
    TL.model = this;
    TL.on("runs", () => this.refresh(true));
    TL.on("state", (names) => this.stateChanged(names));
    TL.on("theme", () => this.themeChanged());
    document.addEventListener("keydown", (event) => this.key(event));
    new IntersectionObserver(() => this.isSeen && this.seen()).observe(this.root);
    this.refresh(true);
  }

  get isSeen() {
    return this.root.offsetParent !== null;
  }

  get look() {
    this.lookCache ??= lookOf();
    return this.lookCache;
  }

  get settings() {
    this.settingsCache ??= settingsOf(TL.state.model);
    return this.settingsCache;
  }

  change(patch) {
    TL.set({ model: changed(TL.state.model, patch) });
  }

  // -- what there is -----------------------------------------------------------------------------------------------

  stateChanged(names) {
    if (names.has("model")) {
      const before = this.settings;
      this.settingsCache = null;
      const now = this.settings;
      if (before.by !== now.by || before.joints !== now.joints) void this.relayout();
      this.update();
    }
    if (names.has("project")) {
      Object.assign(this, { series: [], isLoaded: false, graph: null, frame: null });
      this.change({ run: "", name: "", step: null, run2: "", name2: "", step2: null, compare: false, open: null, at: null, camera: null });
    }
    if (names.has("project") || names.has("runs") || names.has("tab")) this.refresh(true);
  }

  /** Asks for the list of graphs again: at most every now and then, and only while the tab is seen. */
  refresh(isNews) {
    this.isStale ||= isNews;
    if (!this.isStale || !this.isSeen || !TL.store?.isLoaded || this.timer) return;
    const wait = this.askedFor === this.question() ? Math.max(0, this.askedAt + REFRESH_MS - performance.now()) : 0;
    this.timer = setTimeout(() => void this.ask(), wait);
  }

  seen() {
    this.refresh(false);
    if (this.isLoaded) this.update();
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
      const since = question === this.known?.question ? this.known.version : null;
      const { version, objects } = await TL.source.objects({ project: TL.store.project, runs: TL.selectedRuns, types: [TYPE], since });
      if (question === this.question()) {
        if (objects) this.series = seriesOf(objects, TL.selectedRuns);
        this.known = { question, version };
        this.problem = "";
        this.isLoaded = true;
      } else this.isStale = true;
    } catch (error) {
      this.problem = `The model graphs cannot be listed: ${error.message}`;
      this.isLoaded = true;
      this.isStale = true;
    }
    this.timer = null;
    this.update();
    this.refresh(false);
  }

  chosen(side) {
    const { run, name } = SIDES[side];
    const wanted = seriesId(this.settings[run], this.settings[name]);
    return this.series.find((series) => series.id === wanted) ?? this.series.find((series) => series.name === this.settings[name]) ?? this.series[0] ?? null;
  }

  choose(side, id) {
    const [run, name] = JSON.parse(id);
    this.change({ [SIDES[side].run]: run, [SIDES[side].name]: name, [SIDES[side].step]: null, ...(side === "a" ? { open: null, at: null, camera: null } : {}) });
  }

  changeCamera(camera) {
    if (this.graph && JSON.stringify(camera) !== JSON.stringify(this.settings.camera)) this.change({ camera });
  }

  changeStep(side, step) {
    this.change({ [SIDES[side].step]: step });
  }

  compare() {
    const first = this.chosen("a");
    if (this.settings.compare) this.change({ compare: false });
    else {
      const other = this.series.find((series) => series.id !== first.id && series.name === first.name) ?? (first.frames.length > 1 ? first : this.series.find((series) => series.id !== first.id));
      if (other) this.change({ compare: true, run2: other.run, name2: other.name, step2: other === first ? first.frames[0].step : null });
    }
  }

  swap() {
    const { run, name, step, run2, name2, step2 } = this.settings;
    const first = this.chosen("a");
    this.change({ run: run2, name: name2, step: step2, run2: run || first.run, name2: name || first.name, step2: step, open: null, at: null, camera: null });
  }

  // -- which graph is shown -----------------------------------------------------------------------------------------

  update() {
    this.empty.hidden = this.series.length > 0;
    this.shown.hidden = this.series.length === 0;
    if (this.series.length === 0) {
      if (this.isLoaded) emptyState(this.empty, this.problem);
      return;
    }
    const { settings } = this;
    const [first, second] = [this.chosen("a"), settings.compare ? this.chosen("b") : null];
    const index = indexOf(first.frames, settings.step);
    const secondIndex = second ? indexOf(second.frames, settings.step2) : -1;
    this.controls.draw({ settings, all: this.series, first, index, second, secondIndex });
    this.body.classList.toggle("tl-model-two", second !== null);
    const frame = first.frames[index];
    const entry = this.documents.get(frame);
    const other = second ? this.documents.get(second.frames[secondIndex]) : null;
    if (!entry) {
      if (!this.graph) this.stage.say("Reading…");
      return;
    }
    if (entry.problem) {
      this.stage.say(`The graph of step ${count(frame.step)} cannot be shown: ${entry.problem}`);
      return;
    }
    this.take(frame, entry.graph, other, second?.frames[secondIndex]);
  }

  take(frame, graph, other, otherFrame) {
    const isOther = graph !== this.graph;
    const versus = other?.graph ?? null;
    if (isOther) {
      const isSameModel = this.frame !== null && this.frame.run === frame.run && this.frame.name === frame.name;
      const open = this.settings.open ?? (isSameModel ? this.opening.paths() : null);
      Object.assign(this, { graph, frame, sizes: new Sizes(graph, this.look.measure), opening: new Opening(graph), versus: undefined });
      if (open) this.opening.restore(open);
      else this.opening.begin();
      const at = this.settings.at === null ? -1 : graph.resolve(this.settings.at);
      if (at >= 0) this.opening.reveal(at, false);
      this.selected = at >= 0 ? idOf(at) : null;
      if (!isSameModel) {
        this.stage.camera = null;
        this.isArriving = at > 0 || this.settings.camera !== null;
      }
    }
    if (isOther || versus !== this.versus) {
      this.versus = versus;
      this.diff = versus ? diffOf(versus, graph) : null;
      this.marks = this.diff?.after ?? null;
      void this.relayout();
    }
    this.frame = frame;
    if (other?.problem) this.stage.say(`The graph to compare with, step ${count(otherFrame.step)}, cannot be read: ${other.problem}`);
  }

  // -- drawing ------------------------------------------------------------------------------------------------------

  /**
   * Lays out what is open, and draws it.
   * @param {string | null} anchor what stays where it is seen.
   */
  async relayout(anchor = null) {
    if (!this.graph) return;
    const started = performance.now();
    const number = ++this.drawNumber;
    const { graph, opening, sizes } = this;
    const { links, frames, loops, crowded } = lift(graph, opening, this.settings.joints);
    let laid;
    try {
      laid = await this.layout.all(frames, sizes, (index) => graph.modules[index].depth);
    } catch (error) {
      this.stage.say(`The graph cannot be laid out: ${error.message}`);
      return;
    }
    if (number !== this.drawNumber) return;
    const visible = opening.visible();
    const rests = new Map([...frames.keys()].filter((index) => index >= 0).map((index) => [index, opening.shown(index)]));
    this.scene = sceneOf(graph, frames, laid, links);
    this.picture = { graph, links, loops, rests, marks: this.marks, colouring: colouring(graph, this.settings.by, visible, this.look) };
    this.crowded = crowded;
    this.stage.say("");
    this.stage.show(this.scene, this.picture, this.look, anchor);
    if (this.isArriving) this.arrive();
    setText(this.num, `${count(visible.length)} of ${plural(graph.modules.length, "module")}`);
    this.side.draw();
    this.crumbs.draw();
    Object.assign(this.root.dataset, { ready: "1", draws: String(number), visible: String(visible.length), step: String(this.frame.step), mode: graph.meta.mode });
    performance.measure("model-layout", { start: started });
  }

  /** Looks at what a link shows. */
  arrive() {
    this.isArriving = false;
    if (this.settings.camera) this.stage.lookAt(this.settings.camera);
    else this.stage.flyTo(this.selected, true);
  }

  themeChanged() {
    this.lookCache = null;
    if (this.graph) this.sizes = new Sizes(this.graph, this.look.measure);
    void this.relayout();
  }

  // -- what the reader does -----------------------------------------------------------------------------------------

  select(id) {
    if (id === this.selected) return;
    this.selected = id;
    this.stage.drawing.select(id);
    this.side.draw();
    this.crumbs.draw();
    this.change({ at: id?.[0] === "m" ? this.graph.modules[refOf(id)].path : null });
  }

  /** After anything was opened or closed: draws, says what had to be closed, and writes it into the link. */
  async opened({ closed, left }, anchor, told) {
    if (closed.length) toast(`${plural(closed.length, "module")} that ${closed.length === 1 ? "was" : "were"} opened longest ago closed again: at most ${count(this.opening.most)} are drawn at once.`);
    if (left > 0) toast(`${plural(left, "module")} stayed closed: at most ${count(this.opening.most)} modules are drawn at once.`);
    if (told) setText(this.live, told);
    if (this.selected?.[0] === "m" && !this.opening.isVisible(refOf(this.selected))) this.selected = this.visibleAround(refOf(this.selected));
    this.change({ open: this.opening.paths() });
    await this.relayout(anchor);
  }

  visibleAround(index) {
    return idOf(this.graph.chain(index).filter((i) => this.opening.isVisible(i)).at(-1) ?? 0);
  }

  nameOf(index) {
    return this.graph.titleOf(index);
  }

  toggle(index) {
    if (!this.opening.isContainer(index)) return;
    if (this.opening.isOpen(index)) this.collapse(index);
    else this.expand(index);
  }

  expand(index) {
    if (this.opening.isContainer(index)) void this.opened(this.opening.reveal(index), idOf(index), `${this.nameOf(index)} is open.`);
  }

  collapse(index) {
    this.opening.close(index);
    void this.opened({ closed: [], left: 0 }, idOf(index), `${this.nameOf(index)} is closed.`);
  }

  /** Enter: opens what is closed, else shows what is known of it. */
  enter(index) {
    this.select(idOf(index));
    if (this.opening.isContainer(index)) this.toggle(index);
    else this.side.body.focus();
  }

  expandAll() {
    void this.opened(this.opening.openBelow(0), null, "All modules that there is room for are open.").then(() => this.stage.home(true));
  }

  collapseAll() {
    this.opening.closeBelow(0);
    void this.opened({ closed: [], left: 0 }, null, "All modules are closed.").then(() => this.stage.home(true));
  }

  expandLevel() {
    void this.opened(this.opening.openLevel(0), null, "One level more is open.").then(() => this.stage.home(true));
  }

  turn(item) {
    void this.opened(this.opening.turn(item.index, item.isAfter), null, "Other modules are shown.");
  }

  /** Opens whatever is around a module, flies there and chooses it. */
  jump(index, takesFocus = false) {
    const isThere = this.opening.isVisible(index);
    const change = isThere ? null : this.opening.reveal(index, false);
    this.select(idOf(index));
    // A list that is not drawn itself is where its modules are.
    const place = this.graph.spread.has(index) ? this.graph.drawn(index)[0] : index;
    const arrive = () => {
      this.stage.flyTo(idOf(place));
      if (takesFocus) this.stage.drawing.nodes.get(idOf(place))?.element.focus({ preventScroll: true });
    };
    if (change) void this.opened(change, null, `${this.nameOf(index)} is shown.`).then(arrive);
    else arrive();
  }

  focusPicture() {
    this.stage.drawing.nodes.get(this.stage.drawing.focusable)?.element.focus({ preventScroll: true });
  }

  export(anchor) {
    if (this.scene) openExports(this, anchor);
  }

  key(event) {
    if (!this.isSeen || !this.graph || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target instanceof Element && event.target.closest("input, select, textarea, [contenteditable]")) return;
    const index = this.selected?.[0] === "m" ? refOf(this.selected) : 0;
    const acts = {
      "/": () => this.search.focus(),
      0: () => this.stage.fit(),
      e: () => this.expand(index),
      c: () => this.collapseNearest(index),
      Escape: () => this.select(null),
    };
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Closes a module, or the innermost open one around it. */
  collapseNearest(index) {
    const open = this.graph.chain(index).filter((i) => this.opening.open.has(i)).at(-1);
    if (open === undefined) return;
    if (open !== index) this.select(idOf(open));
    this.collapse(open);
  }
}

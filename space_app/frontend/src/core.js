// The page's one state and one poller. Views read TL.state and TL.store, change them through TL.set, and are told.

import { isCopying } from "./copying.js";
import { Poller, rhythm } from "./poller.js";
import { selected } from "./selection.js";
import { sourceOf } from "./source.js";
import { formatState, parseState } from "./state.js";
import { Store } from "./store.js";

const META_EVERY_MS = 5000;

class Core {
  constructor() {
    this.state = parseState(location.search);
    this.config = JSON.parse(document.getElementById("tl-config")?.textContent ?? "{}");
    this.source = sourceOf(this.config);
    this.store = null;
    this.projects = [];
    this.mirror = null;
    this.me = null;
    this.charts = new Set();
    this.hovered = null;
    this.listeners = new Map();
    this.pending = new Map();
    this.selectionCache = null;
    this.metaAt = -Infinity;
    this.hasMeta = false;
    this.poller = new Poller({
      ask: (signal) => this.ask(signal),
      onHealth: (failures) => this.emit("health", failures),
      rhythmMs: this.source.isLive ? rhythm(location.hostname) : Infinity,
    });
  }

  // -- telling ---------------------------------------------------------------------------------------------------

  /** Topics: state (names of changed fields), runs (ids), keys, projects, data, health, hover, theme, rights. */
  on(topic, listener) {
    if (!this.listeners.has(topic)) this.listeners.set(topic, new Set());
    this.listeners.get(topic).add(listener);
    return () => this.listeners.get(topic).delete(listener);
  }

  emit(topic, detail) {
    for (const listener of this.listeners.get(topic) ?? []) listener(detail);
  }

  /** Runs a drawing function once in the next frame, however often it is asked for. */
  later(id, draw) {
    if (this.pending.size === 0) requestAnimationFrame(() => this.flush());
    this.pending.set(id, draw);
  }

  flush() {
    const work = [...this.pending.values()];
    this.pending.clear();
    for (const draw of work) {
      try {
        draw();
      } catch (error) {
        reportError(error); // said in the console, as if uncaught; the other drawings go on
      }
    }
  }

  /** Changes the view, writes it into the address, and tells who listens. */
  set(patch) {
    const names = new Set(Object.keys(patch).filter((name) => this.state[name] !== patch[name]));
    if (names.size === 0) return;
    Object.assign(this.state, patch);
    this.selectionCache = null;
    const query = formatState(this.state, location.search);
    history.replaceState(history.state, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
    // A Space shows the page in a frame; the outer address follows when it is told.
    if (window.parent !== window && location.hostname.endsWith(".hf.space")) {
      window.parent.postMessage({ queryString: query }, "https://huggingface.co");
    }
    if (names.has("project")) this.open(this.state.project);
    this.emit("state", names);
    this.poller.poke();
  }

  // -- runs ------------------------------------------------------------------------------------------------------

  /** Ids of the runs that are drawn, newest first. */
  get selectedRuns() {
    this.selectionCache ??= selected(this.state.runs, this.store?.ordered ?? []);
    return this.selectionCache;
  }

  hover(run) {
    if (run === this.hovered) return;
    this.hovered = run;
    this.emit("hover", run);
  }

  // -- the project -----------------------------------------------------------------------------------------------

  open(project) {
    this.poller.drop();
    this.store = project ? new Store(project) : null;
    this.selectionCache = null;
    if (!this.store) return;
    this.store.slots = new Map(recall(`colours:${project}`, []));
    this.store.overrides = recall(`own:${project}`, {});
  }

  /** Opens another project; what belonged to the old one is forgotten. */
  choose(project) {
    this.set({ project, runs: parseState("").runs, run: "", zoom: {}, charts: {}, pin: [], closed: [], col: [], sort: "", group: "" });
    this.emit("runs", new Set());
    this.emit("keys");
  }

  recolour(id, colour) {
    const own = { ...this.store.overrides };
    if (colour) own[id] = colour;
    else delete own[id];
    this.store.overrides = own;
    keep(`own:${this.store.project}`, own);
    this.emit("runs", new Set([id]));
  }

  // -- asking ----------------------------------------------------------------------------------------------------

  start() {
    if (this.state.project) this.open(this.state.project);
    document.addEventListener("visibilitychange", () => this.poller.pause(document.hidden));
    this.poller.isPaused = document.hidden;
    this.poller.poke();
  }

  async ask(signal) {
    const isOld = this.source.isLive && performance.now() - this.metaAt > META_EVERY_MS;
    if (!this.hasMeta || isOld || !this.store) await this.askMeta(signal);
    if (this.store) await this.askChanges(this.store, signal);
  }

  async askMeta(signal) {
    const meta = await this.source.meta(signal);
    this.metaAt = performance.now();
    this.hasMeta = true;
    if (meta.poll_ms) this.poller.rhythmMs = Math.max(meta.poll_ms, rhythm(location.hostname));
    this.projects = meta.projects;
    this.mirror = meta.mirror ?? null;
    if (isCopying(this.mirror)) this.metaAt = -Infinity;
    const names = meta.projects.map((project) => project.name);
    if (!this.store && names.length) this.set({ project: names[0] });
    this.emit("projects");
  }

  async askChanges(store, signal) {
    const questions = new Map();
    for (const chart of this.charts) {
      const question = chart.question();
      if (question) questions.set(question.panel.id, { chart, ...question });
    }
    const body = { project: store.project, epoch: store.epoch, cursor: store.cursor, want_runs: true, ...shared(questions) };
    const answer = await this.source.poll(body, signal);
    if (!answer) {
      // A link to a project that is not there (yet, or any more): the page says so and keeps looking.
      this.metaAt = -Infinity;
      store.isMissing = true;
      this.emit("projects");
      return;
    }
    const { header, arrays, pending } = answer;
    if (store !== this.store) return;
    // A frozen copy answers a chart as soon as its file is there.
    for (const id of pending ?? []) questions.delete(id);
    this.take(store, header, arrays, questions);
    if (pending?.size) this.poller.poke();
  }

  take(store, header, arrays, questions) {
    store.isMissing = false;
    const isReset = header.reset || header.epoch !== store.epoch;
    const wasLoaded = store.isLoaded;
    const changed = store.apply(header);
    const parts = new Map();
    for (const meta of header.series ?? []) {
      if (!parts.has(meta.panel)) parts.set(meta.panel, []);
      parts.get(meta.panel).push({ meta, x: arrays[meta.x], y: arrays[meta.y] });
    }
    if (changed.runs.size || isReset) {
      this.selectionCache = null;
      keep(`colours:${store.project}`, [...store.slots]);
      this.emit("runs", changed.runs);
    }
    if (changed.keys || isReset) this.emit("keys");
    for (const { chart, panel, signature } of questions.values()) {
      chart.take(signature, isReset || panel.since === 0, parts.get(panel.id) ?? [], header.cursor);
    }
    if (!wasLoaded) this.poller.poke();
    this.emit("data");
  }
}

/** The panels of a question; the list of runs that most of them share is sent once. */
function shared(questions) {
  const panels = [...questions.values()].map(({ panel }) => panel);
  const lists = new Map();
  for (const { runs } of panels) lists.set(runs.join(), { runs, num: (lists.get(runs.join())?.num ?? 0) + 1 });
  const most = [...lists.values()].sort((a, b) => b.num - a.num)[0];
  if (!most) return { panels };
  const text = most.runs.join();
  return { runs: most.runs, panels: panels.map(({ runs, ...panel }) => (runs.join() === text ? panel : { ...panel, runs })) };
}

/** What this browser remembers, under a name; private windows may forbid it. */
export function recall(name, fallback) {
  try {
    return JSON.parse(localStorage.getItem(`tl:${name}`)) ?? fallback;
  } catch {
    return fallback;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(`tl:${name}`, JSON.stringify(value));
  } catch {
    return false;
  }
  return true;
}

export const TL = new Core();

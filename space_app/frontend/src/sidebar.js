// The sidebar: project, runs with their filter and groups, and how charts are drawn.

import { swatch as swatchOf } from "./colours.js";
import { recall, keep, TL } from "./core.js";
import { button, copyText, h, icon, nameNode, setText, VirtualList } from "./dom.js";
import { ago, count, plural } from "./format.js";
import { mayChange, openRunsMenu } from "./manage.js";
import { matcher } from "./match.js";
import { toggled } from "./selection.js";
import { compareGroups, groupsOf } from "./store.js";
import { isDark, setTheme } from "./theme.js";

const ROW_HEIGHT = 26;

export class Sidebar {
  constructor(element) {
    this.closed = new Set();
    this.project = h("select.tl-input.tl-project", { "aria-label": "Project", on: { change: () => TL.choose(this.project.value) } });
    this.filter = h("input.tl-input", { type: "search", placeholder: "Filter runs", "aria-label": "Filter runs", spellcheck: false, value: TL.state.filter, on: { input: () => TL.set({ filter: this.filter.value }) } });
    this.error = h("div.tl-error", { role: "status" });
    this.group = h("select.tl-input", { "aria-label": "Group runs by", on: { change: () => TL.set({ group: this.group.value }) } });
    this.all = h("input", { type: "checkbox", "aria-label": "Select all runs shown", on: { change: () => this.select(this.visibleRuns().map((run) => run.id), this.all.checked) } });
    this.summary = h("span.tl-muted.tl-grow", { role: "status" });
    this.scroller = h("div.tl-run-list", { role: "group", "aria-label": "Runs" });
    this.list = new VirtualList(this.scroller, { rowHeight: ROW_HEIGHT, id: (item) => item.id, render: (item, node) => this.row(item, node) });
    this.root = h(
      "div.tl-sidebar", {},
      h("div.tl-brand", {}, h("span.tl-logo", { "aria-hidden": "true" }), h("b", {}, "trackio_like"), h("span.tl-grow"),
        button("Copy a link to this view", { iconName: "link", onClick: (event) => void copyText(location.href, event.currentTarget), data: { role: "copy-link" } }),
        button("Light or dark", { iconName: "theme", onClick: () => setTheme(isDark() ? "light" : "dark"), data: { role: "theme" } })),
      this.project,
      h("div.tl-runs-head", {}, h("span.tl-search", {}, icon("search"), this.filter), this.group),
      this.error,
      h("div.tl-runs-all", {}, this.all, this.summary),
      this.scroller,
      this.controls(),
    );
    element.append(this.root);
    TL.on("projects", () => this.drawProjects());
    TL.on("runs", () => TL.later("sidebar", () => this.draw()));
    TL.on("theme", () => TL.later("sidebar", () => this.draw()));
    TL.on("rights", () => TL.later("sidebar", () => this.draw()));
    TL.on("state", (names) => this.stateChanged(names));
    TL.on("keys", () => this.drawAxes());
    TL.on("toggle", (run) => this.select([run], !TL.selectedRuns.includes(run)));
    this.drawProjects();
    this.drawControls();
    this.draw();
  }

  stateChanged(names) {
    if (names.has("project")) {
      this.drawProjects();
      this.filter.value = TL.state.filter;
    }
    if (["project", "runs", "filter", "group"].some((name) => names.has(name))) TL.later("sidebar", () => this.draw());
    if (["x", "logx", "y", "outliers", "zero", "smoothing", "link"].some((name) => names.has(name))) this.drawControls();
  }

  // -- projects --------------------------------------------------------------------------------------------------

  drawProjects() {
    const names = TL.projects.map((project) => project.name);
    if (TL.state.project && !names.includes(TL.state.project)) names.unshift(TL.state.project);
    const about = new Map(TL.projects.map((project) => [project.name, this.counts(project)]));
    const text = JSON.stringify([names, TL.state.project, [...about.values()]]);
    if (text === this.projectText) return;
    this.projectText = text;
    this.project.replaceChildren(...names.map((name) => {
      const [all, running] = about.get(name) ?? [0, 0];
      const note = all ? ` (${count(all)}${running ? `, ${count(running)} running` : ""})` : "";
      return h("option", { value: name, selected: name === TL.state.project }, name + note);
    }));
    this.project.hidden = names.length === 0;
    this.project.title = TL.state.project;
    document.title = TL.state.project ? `${TL.state.project} · trackio_like` : "trackio_like";
  }

  /** Numbers of runs and of running ones: the page knows the open project's better than the list of projects does. */
  counts({ name, num_runs: all, num_running: running }) {
    const { store } = TL;
    if (store?.project !== name || !store.isLoaded) return [all, running];
    return [store.ordered.length, store.ordered.filter((run) => run.state === "running").length];
  }

  // -- runs ------------------------------------------------------------------------------------------------------

  visibleRuns() {
    const { test, error } = matcher(TL.state.filter);
    setText(this.error, error ? "Not a regular expression: searching for the text as it stands" : "");
    return (TL.store?.ordered ?? []).filter((run) => test(run.name) || test(run.id));
  }

  select(ids, isOn) {
    TL.set({ runs: toggled(TL.state.runs, TL.store.ordered, ids, isOn) });
  }

  draw() {
    this.drawProjects();
    this.drawGroups();
    const runs = this.visibleRuns();
    const total = TL.store?.ordered.length ?? 0;
    this.selected = new Set(TL.selectedRuns);
    const on = runs.filter((run) => this.selected.has(run.id)).length;
    this.all.checked = runs.length > 0 && on === runs.length;
    this.all.indeterminate = on > 0 && on < runs.length;
    this.all.disabled = runs.length === 0;
    const running = runs.filter((run) => run.state === "running").length;
    setText(this.summary, `${runs.length === total ? plural(total, "run") : `${count(runs.length)} of ${plural(total, "run")}`}, ${count(on)} drawn${running ? `, ${count(running)} running` : ""}`);
    this.list.set(TL.state.group ? this.grouped(runs) : runs.map((run) => ({ id: run.id, run })));
  }

  grouped(runs) {
    const groups = new Map();
    for (const run of runs) {
      for (const name of groupsOf(run, TL.state.group)) {
        if (!groups.has(name)) groups.set(name, []);
        groups.get(name).push(run);
      }
    }
    const items = [];
    for (const [name, members] of [...groups].sort(([a], [b]) => compareGroups(a, b))) {
      items.push({ id: `g:${name}`, group: name, members });
      if (!this.closed.has(name)) for (const run of members) items.push({ id: `${name} ${run.id}`, run, isInGroup: true });
    }
    return items;
  }

  row(item, node) {
    return item.group === undefined ? this.runRow(item, node) : this.groupRow(item, node);
  }

  groupRow(item, node) {
    if (!node) {
      node = h("div.tl-run-group", { data: { group: item.group } },
        button("Open or close the group", { iconName: "chevron", onClick: () => this.toggleGroup(item.group) }),
        h("input", { type: "checkbox", "aria-label": `Select the group ${item.group}`, on: { change: (event) => this.select(node.members.map((run) => run.id), event.target.checked) } }),
        nameNode(item.group), h("span.tl-muted"));
    }
    node.members = item.members;
    const on = item.members.filter((run) => this.selected.has(run.id)).length;
    const box = node.children[1];
    box.checked = on === item.members.length;
    box.indeterminate = on > 0 && on < item.members.length;
    node.firstChild.setAttribute("aria-expanded", String(!this.closed.has(item.group)));
    setText(node.lastChild, count(item.members.length));
    return node;
  }

  toggleGroup(name) {
    if (!this.closed.delete(name)) this.closed.add(name);
    this.draw();
  }

  runRow({ run, isInGroup }, node) {
    const style = TL.store.style(run.id);
    const label = `${run.name}\n${run.state}, began ${ago(run.created_us / 1e6, TL.store.nowUs / 1e6)}`;
    if (!node || node.runName !== run.name || node.mayChange !== mayChange()) {
      const id = run.id;
      node = h("div.tl-run", { data: { run: id }, on: { mouseenter: () => TL.hover(id), mouseleave: () => TL.hover(null) } },
        h("input", { type: "checkbox", "aria-label": `Draw ${run.name}`, on: { change: (event) => this.select([id], event.target.checked) } }),
        h("label.tl-swatch-button", { title: "Change the colour" }, h("span.tl-swatch"), h("input", { type: "color", "aria-label": `Colour of ${run.name}`, on: { input: (event) => TL.recolour(id, event.target.value) } })),
        h("span.tl-state"),
        h("button.tl-run-name", { type: "button", on: { click: () => TL.set({ run: id, tab: "run" }) } }, nameNode(run.name)),
        h("button.tl-only", { type: "button", title: "Draw this run alone", "aria-label": `Draw only ${run.name}`, on: { click: () => TL.set({ runs: { mode: "only", ids: new Set([id]) } }) } }, "only"),
        mayChange() && button(`Change ${run.name}`, { iconName: "more", className: "tl-row-more", "aria-haspopup": "true", onClick: (event) => openRunsMenu(event.currentTarget, [TL.store.runs.get(id)]) }));
      node.runName = run.name;
      node.mayChange = mayChange();
    }
    const [box, swatch, state, name] = node.children;
    box.checked = this.selected.has(run.id);
    swatch.firstChild.style.background = swatchOf(style);
    if (document.activeElement !== swatch.lastChild) swatch.lastChild.value = style.colour;
    state.dataset.state = run.state;
    state.title = run.state;
    name.title = label;
    node.classList.toggle("tl-in-group", Boolean(isInGroup));
    node.classList.toggle("tl-off", !box.checked);
    return node;
  }

  drawGroups() {
    const config = TL.store?.configKeys().filter((item) => item.varies).map((item) => item.key) ?? [];
    const runs = TL.store?.ordered ?? [];
    const options = [["", "No groups"], ["group", "Group"], ["tag", "Tag"], ["state", "State"], ...config.map((key) => [`config.${key}`, key])];
    if (TL.state.group && !options.some(([value]) => value === TL.state.group)) options.push([TL.state.group, TL.state.group.replace(/^config\./, "")]);
    const text = JSON.stringify([options, TL.state.group]);
    this.group.disabled = runs.length === 0;
    if (text === this.groupText) return;
    this.groupText = text;
    this.group.replaceChildren(...options.map(([value, label]) => h("option", { value, selected: value === TL.state.group }, label)));
  }

  // -- how charts are drawn ----------------------------------------------------------------------------------------

  controls() {
    const toggle = (label, read, write, title) => {
      const box = h("input", { type: "checkbox", on: { change: () => TL.set(write(box.checked)) } });
      (this.toggles ??= []).push([box, read]);
      return h("label.tl-check", { title }, box, label);
    };
    this.smoothing = h("input.tl-slider", { type: "range", min: 0, max: 0.99, step: 0.01, "aria-label": "Smoothing", on: { input: () => TL.set({ smoothing: Number(this.smoothing.value) }) } });
    this.smoothingText = h("output.tl-muted");
    this.axis = h("select.tl-input", { "aria-label": "x axis", on: { change: () => TL.set({ x: this.axis.value }) } });
    this.scale = h("select.tl-input", { "aria-label": "y scale", on: { change: () => TL.set({ y: this.scale.value }) } },
      ...[["linear", "linear"], ["log", "log"], ["symlog", "symmetric log"]].map(([value, label]) => h("option", { value }, label)));
    const details = h("details.tl-controls", { open: recall("controls", true), on: { toggle: () => keep("controls", details.open) } },
      h("summary", {}, "Charts"),
      h("label.tl-field", {}, h("span", {}, "Smoothing"), this.smoothing, this.smoothingText),
      h("label.tl-field", {}, h("span", {}, "x axis"), this.axis),
      h("label.tl-field", {}, h("span", {}, "y scale"), this.scale),
      h("div.tl-checks", {},
        toggle("Log x", (state) => state.logx, (logx) => ({ logx })),
        toggle("Ignore outliers", (state) => state.outliers === "ignore", (on) => ({ outliers: on ? "ignore" : "show" }), "The range of y leaves out single extreme points; each chart says how many"),
        toggle("y from 0", (state) => state.zero, (zero) => ({ zero })),
        toggle("Zoom together", (state) => state.link, (link) => ({ link, zoom: {} }), "A zoom on one chart applies to all with the same x axis")));
    return details;
  }

  drawControls() {
    const { state } = TL;
    if (document.activeElement !== this.smoothing) this.smoothing.value = state.smoothing;
    setText(this.smoothingText, state.smoothing.toFixed(2));
    this.scale.value = state.y;
    for (const [box, read] of this.toggles) box.checked = read(state);
    this.drawAxes();
  }

  drawAxes() {
    const base = [["auto", "automatic"], ["step", "step"], ["relative", "relative time"], ["time", "time"]];
    const keys = (TL.store?.keys ?? []).slice(0, 2000).map((key) => [`metric:${key}`, key]);
    if (!base.concat(keys).some(([value]) => value === TL.state.x)) keys.unshift([TL.state.x, TL.state.x.replace(/^metric:/, "")]);
    const text = JSON.stringify([keys, TL.state.x]);
    if (text === this.axisText) return;
    this.axisText = text;
    const option = ([value, label]) => h("option", { value, selected: value === TL.state.x }, label);
    this.axis.replaceChildren(...base.map(option), h("optgroup", { label: "Metrics" }, ...keys.map(option)));
  }
}

// The Run tab: everything about one run.

import { swatch } from "./colours.js";
import { TL } from "./core.js";
import { button, copyText, h, nameNode } from "./dom.js";
import { ago, count, duration, logged, moment, number, value } from "./format.js";
import { mayChange, openRunsMenu, showDeleted } from "./manage.js";
import { matcher } from "./match.js";
import { rightsHint } from "./rights.js";
import { revive } from "./wire.js";

const REFRESH_MS = 2000;
const MOST_METRICS = 500;

export class RunView {
  constructor(element) {
    this.picker = h("select.tl-input", { "aria-label": "Run", on: { change: () => TL.set({ run: this.picker.value }) } });
    this.body = h("div.tl-run-page");
    this.search = h("input.tl-input", { type: "search", placeholder: "Filter config, summary and texts", "aria-label": "Filter config, summary and texts", spellcheck: false, on: { input: () => this.draw() } });
    this.root = h("div.tl-runview", {}, h("div.tl-bar", {}, this.picker, this.search), this.body);
    element.append(this.root);
    this.askedAt = -Infinity;
    TL.on("theme", () => this.draw());
    TL.on("rights", () => this.draw());
    TL.on("runs", (ids) => this.runsChanged(ids));
    TL.on("state", (names) => (names.has("run") || names.has("project") || names.has("tab")) && this.refresh(true));
    new IntersectionObserver(() => this.refresh(false)).observe(this.root);
    this.refresh(true);
  }

  /** The run that is shown: the chosen one, else the newest. */
  get runId() {
    const { store, state } = TL;
    return state.run || store?.ordered[0]?.id || "";
  }

  /** Whether the project has no such run, or not any more. */
  get isGone() {
    const { store } = TL;
    return Boolean(store?.isLoaded) && this.runId !== "" && !store.runs.has(this.runId);
  }

  runsChanged(ids) {
    this.drawPicker();
    if (ids.has(this.runId) || !this.detail) this.refresh(true);
  }

  drawPicker() {
    const runs = TL.store?.ordered ?? [];
    const text = JSON.stringify([runs.map((run) => [run.id, run.name]), this.runId, this.isGone]);
    if (text === this.pickerText) return;
    this.pickerText = text;
    this.picker.replaceChildren(...[this.isGone && h("option", { value: this.runId, selected: true }, "(not here)")].filter(Boolean), ...runs.map((run) => h("option", { value: run.id, selected: run.id === this.runId }, run.name)));
  }

  /** Asks for the run again, at most every two seconds and only while the tab is seen. */
  refresh(isNews) {
    this.isStale ||= isNews;
    this.drawPicker();
    if (!this.isStale || this.root.offsetParent === null || !this.runId || this.timer) return;
    const isOther = this.detail?.id !== this.runId;
    const wait = isOther ? 0 : Math.max(0, this.askedAt + REFRESH_MS - performance.now());
    this.timer = setTimeout(() => void this.ask(), wait);
  }

  async ask() {
    this.isStale = false;
    this.askedAt = performance.now();
    const { project } = TL.store;
    const id = this.runId;
    if (this.isGone) {
      this.timer = null;
      this.detail = null;
      this.problem = "This run is deleted, or was never here.";
      this.draw();
      return;
    }
    try {
      const detail = await TL.source.run({ project, run: id });
      if (TL.store?.project === project && this.runId === id) {
        this.detail = detail;
        this.problem = "";
      }
    } catch (error) {
      this.problem = `This run cannot be shown: ${error.message}`;
      if (this.detail?.id !== id) this.detail = null;
    }
    this.timer = null;
    this.draw();
    if (this.runId !== id) this.refresh(true);
    else this.refresh(false);
  }

  draw() {
    const run = this.detail;
    if (!run) {
      this.body.replaceChildren(h("div.tl-nothing", {}, h("p", {}, this.problem || "No runs yet."), this.isGone && mayChange() && button("Deleted runs", { text: "Deleted runs", onClick: () => void showDeleted() })));
      this.drawn = "";
      return;
    }
    const { test } = matcher(this.search.value);
    // Sections are replaced only where their text differs: a selection in them survives a refresh without news.
    const parts = { top: header(run), about: about(run), config: configTable(run, test), summary: summaryTable(run, test), attempts: attemptTable(run), alerts: alertList(run), texts: textList(run, test) };
    if (this.drawn !== run.id) {
      this.body.replaceChildren(...Object.keys(parts).map((name) => h("section", { data: { part: name } })));
      this.drawn = run.id;
    }
    for (const place of this.body.children) {
      const next = h("section", {}, ...[parts[place.dataset.part]].flat().filter(Boolean));
      if (place.drawnText !== next.innerHTML) {
        place.drawnText = next.innerHTML;
        place.replaceChildren(...next.childNodes);
      }
      place.hidden = place.childNodes.length === 0;
    }
  }
}

function header(run) {
  const style = TL.store.style(run.id);
  return h("div.tl-run-head", {},
    h("span.tl-swatch.tl-big", { style: { background: swatch(style) } }), h("h2", {}, nameNode(run.name)),
    h("span.tl-badge", { data: { state: run.state } }, h("span.tl-state", { data: { state: run.state } }), run.state),
    run.group ? h("span.tl-chip", { title: "Group" }, run.group) : null, ...(run.tags ?? []).map((tag) => h("span.tl-chip", { title: "Tag" }, tag)),
    h("span.tl-grow"), rightsHint(), mayChange() && TL.store.runs.has(run.id) ? button("Rename, tag, group or delete", { iconName: "more", text: "Manage", "aria-haspopup": "true", onClick: (event) => openRunsMenu(event.currentTarget, [TL.store.runs.get(run.id)]) }) : null,
    button("Draw this run alone", { text: "Show charts", iconName: "chart", onClick: () => TL.set({ runs: { mode: "only", ids: new Set([run.id]) }, tab: "metrics" }) }));
}

function copyable(text, label) {
  return h("span.tl-copyable", {}, h("code", { title: text }, text), button(label, { iconName: "copy", onClick: (event) => void copyText(text, event.currentTarget) }));
}

/** The command that started the run, as the config holds it. */
export const commandOf = (config) => (typeof config._Command === "string" ? config._Command : "");

function about(run) {
  const metadata = run.metadata ?? {};
  const command = commandOf(run.config ?? {});
  const now = TL.store.nowUs / 1e6;
  const created = run.created_us / 1e6;
  const rows = [
    ["Id", copyable(run.id, "Copy the id")],
    command ? ["Command", copyable(command, "Copy the command")] : null,
    ["Created", `${moment(created)} (${ago(created, now)})`],
    run.finished_us ? ["Finished", moment(run.finished_us / 1e6)] : null,
    ["Duration", `${duration(run.active_s)} active${Math.abs((run.span_s ?? 0) - (run.active_s ?? 0)) > 1 ? `, ${duration(run.span_s)} from start to end` : ""}`],
    ["Rows", `${count(run.num_rows)}${run.last_step === null || run.last_step === undefined ? "" : `, last step ${count(run.last_step)}`}`],
    run.error ? ["Error", h("pre.tl-pre", {}, String(run.error))] : null,
    ...Object.entries(metadata).map(([key, raw]) => [titled(key), value(raw)]),
  ];
  return h("dl.tl-about", {}, ...rows.filter(Boolean).flatMap(([label, content]) => [h("dt", {}, label), h("dd", {}, content)]));
}

const titled = (key) => (key === "trackio_like" ? key : capital(key));
const capital = (key) => key.charAt(0).toUpperCase() + key.slice(1).replaceAll("_", " ");

function table(title, head, rows, note = "") {
  if (!rows.length) return null;
  return [h("h3", {}, title, note ? h("span.tl-muted", {}, ` ${note}`) : null),
    h("div.tl-scroll", {}, h("table.tl-list", {}, h("thead", {}, h("tr", {}, ...head.map((label) => h(`th${label.startsWith("#") ? ".tl-num" : ""}`, {}, label.replace(/^#/, ""))))),
      h("tbody", {}, ...rows)))];
}

function configTable(run, test) {
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const entries = Object.entries(flattened(run.config ?? {})).filter(([key, raw]) => key !== "_Command" && (test(key) || test(value(raw)))).sort(([a], [b]) => order(a, b));
  const rows = entries.map(([key, raw]) => h("tr", { data: { config: key } }, h("td", {}, nameNode(key)), h("td", {}, longText(value(raw), revive(raw) === null))));
  return table("Config", ["Key", "Value"], rows);
}

/** Nested config as "a.b" keys; the API may already send it so. */
function flattened(config, prefix = "") {
  const flat = {};
  for (const [key, raw] of Object.entries(config)) {
    const isNested = raw !== null && typeof raw === "object" && !Array.isArray(raw) && typeof revive(raw) === "object" && Object.keys(raw).length > 0;
    if (isNested) Object.assign(flat, flattened(raw, `${prefix}${key}.`));
    else flat[prefix + key] = raw;
  }
  return flat;
}

const CUT = 300;

function longText(text, isNone = false) {
  if (text.length <= CUT) return h(`span.tl-value${isNone ? ".tl-none" : ""}`, {}, text);
  return h("details.tl-long", {}, h("summary", {}, `${text.slice(0, CUT)}… (${count(text.length)} characters)`), h("pre.tl-pre", {}, text));
}

function summaryTable(run, test) {
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const found = run.summary.filter((item) => test(item.key)).sort((a, b) => order(a.key, b.key));
  const rows = found.slice(0, MOST_METRICS).map(({ key, ...item }) => h("tr", { data: { summary: key } },
    h("td", {}, nameNode(key)), h("td.tl-num", {}, item.last === null ? "" : logged(item.last)), ...["min", "max"].map((name) => h("td.tl-num", {}, item[name] === null ? "" : number(revive(item[name])))),
    h("td.tl-num", {}, count(item.count)), h("td.tl-num", {}, item.num_non_finite ? count(item.num_non_finite) : "")));
  const left = found.length - rows.length;
  return table("Metrics", ["Key", "#Last", "#Min", "#Max", "#Points", "#NaN or Inf"], rows, left > 0 ? `${count(left)} more; filter for them` : "");
}

function attemptTable(run) {
  const attempts = run.attempts.map((item) => h("tr", {}, h("td", {}, String(item.number)), h("td", {}, item.state), h("td", {}, stamp(item.started_us)), h("td", {}, stamp(item.ended_us)),
    h("td.tl-num", {}, duration((item.ended_us - item.started_us) / 1e6)), h("td.tl-num", {}, count(item.num_rows)), h("td.tl-num", {}, String(item.writers.length))));
  const writers = run.writers.map((item) => h("tr", {}, h("td", {}, h("code", {}, item.writer)), h("td.tl-num", {}, String(item.attempt)), h("td.tl-num", {}, String(item.rank)), h("td.tl-num", {}, count(item.num_rows)),
    h("td", {}, stamp(item.first_us)), h("td", {}, stamp(item.last_us)), h("td", {}, item.is_dead ? "gone without a word" : "")));
  return [
    table("Attempts", ["Attempt", "State", "From", "To", "#Duration", "#Rows", "#Writers"], attempts),
    table("Writers", ["Writer", "#Attempt", "#Rank", "#Rows", "First sign of life", "Last sign of life", ""], writers, writers.length > 1 ? `${count(writers.length)} processes wrote into this run` : ""),
  ].flat();
}

const stamp = (us) => (us ? moment(us / 1e6) : "");

function alertList(run) {
  const alerts = [...(run.alerts ?? [])].sort((a, b) => (b.time_us ?? 0) - (a.time_us ?? 0));
  const rows = alerts.map((item) => h("tr", {}, h("td", {}, stamp(item.time_us)), h("td", {}, h("span.tl-badge", { data: { level: String(item.level ?? "").toLowerCase() } }, item.level ?? "")), h("td", {}, h("b", {}, item.title ?? ""), item.text ? h("div.tl-value", {}, item.text) : null)));
  return table("Alerts", ["Time", "Level", "What"], rows);
}

function textList(run, test) {
  const rows = run.texts.filter((item) => test(item.key) || test(textOf(item))).map((item) => h("tr", {}, h("td", { title: item.key }, item.key), h("td.tl-num", {}, item.step === null ? "" : number(item.step)), h("td", {}, longText(textOf(item)))));
  const left = run.num_texts - run.texts.length;
  return table("Texts", ["Key", "#Step", "Text"], rows, left > 0 ? `the last ${count(run.texts.length)} of ${count(run.num_texts)}` : "");
}

const textOf = ({ payload }) => (typeof payload === "string" ? payload : String(payload?.text ?? JSON.stringify(payload)));

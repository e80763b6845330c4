// The Runs tab: a live table, of which only the rows on the screen exist.

import { swatch } from "./colours.js";
import { TL } from "./core.js";
import { columns, lasted, ordered, widths } from "./columns.js";
import { button, download, h, nameNode, setText, VirtualList } from "./dom.js";
import { showMenu } from "./enlarge.js";
import { count, csvCell, exact, middle, moment, plural } from "./format.js";
import { matcher } from "./match.js";
import { mayChange, openRunsMenu } from "./manage.js";
import { rightsHint } from "./rights.js";
import { sections } from "./sections.js";
import { toggled } from "./selection.js";
import { textWidth } from "./theme.js";
import { revive } from "./wire.js";

const ROW_HEIGHT = 30;
const HEAD_HEIGHT = 46;
const PICK_WIDTH = 56;
/** The name stays in place while the rest scrolls, so it may take no more than so much of the table. */
const NAME_SHARE = 0.42;
const MOST_TEXT = 22;
const KINDS = { config: "Config", last: "Last value" };
const ABSENT = "–";

export class RunsView {
  constructor(element) {
    this.count = h("span.tl-muted.tl-count", { role: "status" });
    this.chooser = button("Choose the columns", { iconName: "columns", text: "Columns", "aria-haspopup": "true", onClick: (event) => this.openChooser(event.currentTarget) });
    this.csv = button("Download the table as CSV", { iconName: "download", text: "CSV", onClick: () => this.downloadCsv() });
    this.manage = button("Rename, tag, group or delete the ticked runs", { iconName: "more", text: "Manage", hidden: true, "aria-haspopup": "true", onClick: (event) => openRunsMenu(event.currentTarget, this.rows.filter((run) => this.selected.has(run.id))) });
    this.hint = h("span");
    this.all = h("input", { type: "checkbox", "aria-label": "Select all runs shown", on: { change: () => this.select(this.rows.map((run) => run.id), this.all.checked) } });
    this.head = h("div.tl-table-head", { role: "row" });
    this.scroller = h("div.tl-table", { role: "table", "aria-label": "Runs", tabIndex: 0 }, this.head);
    this.list = new VirtualList(this.scroller, { rowHeight: ROW_HEIGHT, top: HEAD_HEIGHT, id: (run) => run.id, render: (run, node) => this.row(run, node) });
    this.empty = h("div.tl-nothing", { hidden: true }, "No runs yet.");
    this.root = h("div.tl-runs", {}, h("div.tl-bar", {}, this.count, h("span.tl-grow"), this.hint, this.manage, this.chooser, this.csv), this.empty, h("div.tl-table-frame", {}, this.scroller));
    element.append(this.root);
    const soon = () => TL.later("runs", () => this.draw());
    TL.on("runs", soon);
    TL.on("keys", soon);
    TL.on("rights", () => this.rightsChanged());
    TL.on("theme", soon);
    TL.on("state", (names) => ["project", "runs", "filter", "sort", "col", "pin"].some((name) => names.has(name)) && soon());
    new IntersectionObserver(soon).observe(this.root);
    new ResizeObserver(() => this.markEdges()).observe(this.scroller);
    this.scroller.addEventListener("scroll", () => this.markEdges(), { passive: true });
    this.rows = [];
    this.widths = new Map();
    this.rightsChanged();
  }

  rightsChanged() {
    this.hint.replaceChildren(...[rightsHint()].filter(Boolean));
    this.draw();
  }

  draw() {
    if (!TL.store || this.root.offsetParent === null) return;
    const { store } = TL;
    const { all, shown } = columns(store.ordered, store.configKeys(), this.metricKeys(), TL.state.col);
    this.columns = all;
    this.shown = shown;
    const { test } = matcher(TL.state.filter);
    const total = TL.store.ordered.length;
    this.rows = ordered(TL.store.ordered.filter((run) => test(run.name) || test(run.id)), all, TL.state.sort);
    this.selected = new Set(TL.selectedRuns);
    const on = this.rows.filter((run) => this.selected.has(run.id)).length;
    this.all.checked = on > 0 && on === this.rows.length;
    this.all.indeterminate = on > 0 && on < this.rows.length;
    setText(this.count, this.rows.length === total ? plural(total, "run") : `${count(this.rows.length)} of ${plural(total, "run")}`);
    this.empty.hidden = total > 0;
    this.manage.hidden = !mayChange();
    this.fitColumns();
    this.drawHead();
    this.list.set(this.rows);
    this.markEdges();
  }

  /** Metrics as the table wants them; thousands are ordered only when there are new ones. */
  metricKeys() {
    const { keys, definitions } = TL.store;
    const { pin } = TL.state;
    const known = this.order;
    if (known && known.keys === keys && known.definitions === definitions && known.pin === pin) return known.result;
    this.order = { keys, definitions, pin, result: interesting(TL.store, pin) };
    return this.order.result;
  }

  /** Gives the columns the widths of what they say. */
  fitColumns() {
    if (this.widthsOf !== TL.store) this.widths = new Map();
    this.widthsOf = TL.store;
    const nameMost = Math.max(130, this.scroller.clientWidth * NAME_SHARE - PICK_WIDTH);
    widths(this.shown, this.rows, textWidth, this.widths, nameMost);
    const each = [PICK_WIDTH, ...this.shown.map((column) => this.widths.get(column.id))];
    const template = each.map((width) => `${width}px`).join(" ");
    if (this.scroller.style.getPropertyValue("--tl-columns") === template) return;
    this.scroller.style.setProperty("--tl-columns", template);
    this.scroller.style.setProperty("--tl-table-width", `${each.reduce((sum, width) => sum + width, 0)}px`);
  }

  /** Shows at either side that there are more columns. */
  markEdges() {
    const { scrollLeft, clientWidth, scrollWidth } = this.scroller;
    this.scroller.parentElement.classList.toggle("tl-more-left", scrollLeft > 1);
    this.scroller.parentElement.classList.toggle("tl-more-right", scrollLeft + clientWidth < scrollWidth - 1);
  }

  drawHead() {
    const text = JSON.stringify([this.shown.map((column) => column.id), TL.state.sort, mayChange()]);
    if (text === this.headText) return;
    this.headText = text;
    const by = TL.state.sort.replace(/^-/, "");
    const isDown = TL.state.sort.startsWith("-");
    this.head.replaceChildren(h("span.tl-cell", { role: "columnheader" }, this.all), ...this.shown.map((column, i) => {
      const isSorted = by === column.id;
      const isFirst = Boolean(column.kind) && this.shown[i - 1]?.kind !== column.kind;
      return h("span.tl-cell", { role: "columnheader", "aria-sort": isSorted ? (isDown ? "descending" : "ascending") : "none", data: { head: column.id } },
        isFirst ? h("span.tl-over", {}, KINDS[column.kind]) : null,
        h(`button.tl-sort${column.isNumber ? ".tl-num" : ""}`, { type: "button", title: `${column.kind === "config" ? "config: " : column.kind === "last" ? "last value of " : ""}${column.label}`, data: { sort: column.id }, on: { click: () => this.sort(column.id) } },
          column.kind ? nameNode(column.label) : h("span.tl-cell-text", {}, column.label), isSorted ? (isDown ? " ↓" : " ↑") : ""));
    }));
  }

  /** First click: up, second: down, third: as it was. */
  sort(id) {
    const { sort } = TL.state;
    TL.set({ sort: sort === id ? `-${id}` : sort === `-${id}` ? "" : id });
  }

  select(ids, isOn) {
    TL.set({ runs: toggled(TL.state.runs, TL.store.ordered, ids, isOn) });
  }

  row(run, node) {
    if (!node || node.layout !== this.headText || node.runName !== run.name) node = this.newRow(run);
    const [first, ...cells] = node.children;
    first.firstChild.checked = this.selected.has(run.id);
    first.lastChild.style.background = swatch(TL.store.style(run.id));
    this.shown.forEach((column, i) => {
      const text = column.text(run);
      const cell = cells[i];
      if (column.id === "name") return;
      if (column.id === "state") cell.firstChild.dataset.state = run.state;
      const isAbsent = text === "" && column.get(run) === undefined;
      const target = column.id === "state" ? cell.lastChild : cell;
      setText(target, isAbsent ? ABSENT : column.isNumber ? text : middle(text, MOST_TEXT));
      const title = column.title?.(run) ?? text;
      if (cell.title !== title) cell.title = title;
      cell.classList.toggle("tl-absent", isAbsent);
      cell.classList.toggle("tl-none", text === "None" && column.get(run) === null);
    });
    return node;
  }

  newRow(run) {
    const { id } = run;
    const node = h("div.tl-table-row", { role: "row", data: { run: id } },
      h("span.tl-cell", { role: "cell" }, h("input", { type: "checkbox", "aria-label": `Draw ${run.name}`, on: { change: (event) => this.select([id], event.target.checked) } }), h("span.tl-swatch")),
      ...this.shown.map((column) => {
        if (column.id === "name") return h("span.tl-cell", { role: "cell", data: { col: "name" } }, h("button.tl-run-name", { type: "button", title: `Open ${run.name}`, on: { click: () => TL.set({ run: id, tab: "run" }) } }, nameNode(run.name)), mayChange() ? button(`Change ${run.name}`, { iconName: "more", className: "tl-row-more", "aria-haspopup": "true", onClick: (event) => openRunsMenu(event.currentTarget, [TL.store.runs.get(id)]) }) : null);
        if (column.id === "state") return h("span.tl-cell", { role: "cell", data: { col: "state" } }, h("span.tl-state"), h("span"));
        return h(`span.tl-cell${column.isNumber ? ".tl-num" : ""}`, { role: "cell", data: { col: column.id } });
      }));
    node.addEventListener("dblclick", () => TL.set({ run: id, tab: "run" }));
    node.layout = this.headText;
    node.runName = run.name;
    return node;
  }

  // -- columns ---------------------------------------------------------------------------------------------------

  openChooser(anchor) {
    const search = h("input.tl-input", { type: "search", placeholder: "Find a column", "aria-label": "Find a column", on: { input: () => fill() } });
    const list = h("div.tl-column-list");
    const fill = () => {
      const { test } = matcher(search.value);
      const shown = new Set(this.shown.map((column) => column.id));
      const found = this.columns.filter((column) => column.id !== "name" && test(column.id));
      list.replaceChildren(...found.slice(0, 300).map((column) => h("label.tl-check", {},
        h("input", { type: "checkbox", checked: shown.has(column.id), data: { column: column.id }, on: { change: (event) => this.choose(column.id, event.target.checked) } }),
        column.kind ? h("span.tl-kind", {}, column.kind === "config" ? "cfg" : "last") : null, h("span.tl-cell-text", { title: column.label }, column.label))),
      found.length > 300 ? h("div.tl-muted", {}, `and ${count(found.length - 300)} more; search for them`) : "");
    };
    const reset = button("Columns that tell runs apart", { text: "Usual columns", onClick: () => {
      TL.set({ col: [] });
      TL.flush();
      fill();
    } });
    if (showMenu(anchor, search, list, reset)) fill();
  }

  choose(id, isOn) {
    const now = this.shown.map((column) => column.id).filter((item) => item !== id);
    TL.set({ col: isOn ? [...now, id] : now });
    TL.later("runs", () => this.draw());
  }

  /** All rows of the table as it stands, numbers with all their digits. */
  downloadCsv() {
    const head = ["run_id", ...this.shown.map((column) => column.id)];
    const lines = this.rows.map((run) => [run.id, ...this.shown.map((column) => cell(run, column))]);
    const text = [head, ...lines].map((line) => line.map((item) => csvCell(item)).join(",")).join("\n");
    download(`${TL.store.project.replace(/[^\p{L}\p{N}._-]+/gu, "_")}-runs.csv`, new Blob([`${text}\n`], { type: "text/csv" }));
  }
}

/** Pinned metrics first, then in the order of the charts; what is only an axis comes last. */
function interesting({ keys, axes }, pin) {
  const pinned = pin.filter((key) => keys.includes(key));
  const rest = sections(keys).flatMap((section) => section.keys).filter((key) => !pinned.includes(key));
  return [...pinned, ...rest.filter((key) => !axes.has(key)), ...rest.filter((key) => axes.has(key))];
}

function cell(run, column) {
  if (column.id === "created") return moment(run.created_us / 1e6);
  if (column.id === "duration") return lasted(run) === undefined ? "" : exact(lasted(run));
  const item = revive(column.get(run));
  return item === undefined ? "" : typeof item === "number" ? exact(item) : column.text(run);
}

// The Runs tab: a live table, of which only the rows on the screen exist.

import { swatch } from "./colours.js";
import { TL } from "./core.js";
import { columns, lasted, ordered } from "./columns.js";
import { button, download, h, nameNode, setText, VirtualList } from "./dom.js";
import { showMenu } from "./enlarge.js";
import { count, csvCell, exact, moment, plural } from "./format.js";
import { matcher } from "./match.js";
import { toggled } from "./selection.js";
import { revive } from "./wire.js";

const ROW_HEIGHT = 30;
const HEAD_HEIGHT = 32;
const ABSENT = "–";

export class RunsView {
  constructor(element) {
    this.count = h("span.tl-muted.tl-count", { role: "status" });
    this.chooser = button("Choose the columns", { iconName: "columns", text: "Columns", "aria-haspopup": "true", onClick: (event) => this.openChooser(event.currentTarget) });
    this.csv = button("Download the table as CSV", { iconName: "download", text: "CSV", onClick: () => this.downloadCsv() });
    this.all = h("input", { type: "checkbox", "aria-label": "Select all runs shown", on: { change: () => this.select(this.rows.map((run) => run.id), this.all.checked) } });
    this.head = h("div.tl-table-head", { role: "row" });
    this.scroller = h("div.tl-table", { role: "table", "aria-label": "Runs", tabIndex: 0 }, this.head);
    this.list = new VirtualList(this.scroller, { rowHeight: ROW_HEIGHT, top: HEAD_HEIGHT, id: (run) => run.id, render: (run, node) => this.row(run, node) });
    this.empty = h("div.tl-nothing", { hidden: true }, "No runs yet.");
    this.root = h("div.tl-runs", {}, h("div.tl-bar", {}, this.count, h("span.tl-grow"), this.chooser, this.csv), this.empty, this.scroller);
    element.append(this.root);
    const soon = () => TL.later("runs", () => this.draw());
    TL.on("runs", soon);
    TL.on("keys", soon);
    TL.on("theme", soon);
    TL.on("state", (names) => ["project", "runs", "filter", "sort", "col"].some((name) => names.has(name)) && soon());
    new IntersectionObserver(soon).observe(this.root);
    this.rows = [];
    this.draw();
  }

  draw() {
    if (!TL.store || this.root.offsetParent === null) return;
    const { all, shown } = columns(TL.store.configKeys(), TL.store.keys, TL.state.col);
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
    const widths = `56px ${shown.map((column) => `${column.width}px`).join(" ")}`;
    if (this.scroller.style.getPropertyValue("--tl-columns") !== widths) this.scroller.style.setProperty("--tl-columns", widths);
    this.scroller.style.setProperty("--tl-table-width", `${56 + shown.reduce((sum, column) => sum + column.width, 0)}px`);
    this.drawHead();
    this.list.set(this.rows);
  }

  drawHead() {
    const text = JSON.stringify([this.shown.map((column) => column.id), TL.state.sort]);
    if (text === this.headText) return;
    this.headText = text;
    const by = TL.state.sort.replace(/^-/, "");
    const isDown = TL.state.sort.startsWith("-");
    this.head.replaceChildren(h("span.tl-cell", { role: "columnheader" }, this.all), ...this.shown.map((column) => {
      const isSorted = by === column.id;
      const label = column.kind ? h("span.tl-cell-text", {}, column.label) : column.label;
      return h("span.tl-cell", { role: "columnheader", "aria-sort": isSorted ? (isDown ? "descending" : "ascending") : "none" },
        h(`button.tl-sort${column.isNumber ? ".tl-num" : ""}`, { type: "button", title: `${column.kind === "config" ? "config: " : column.kind === "last" ? "last value of " : ""}${column.label}`, data: { sort: column.id }, on: { click: () => this.sort(column.id) } },
          column.kind === "config" ? h("span.tl-kind", {}, "cfg") : null, label, isSorted ? (isDown ? " ↓" : " ↑") : ""));
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
      setText(target, isAbsent ? ABSENT : text);
      if (cell.title !== text) cell.title = text;
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
        if (column.id === "name") return h("span.tl-cell", { role: "cell", data: { col: "name" } }, h("button.tl-run-name", { type: "button", title: `Open ${run.name}`, on: { click: () => TL.set({ run: id, tab: "run" }) } }, nameNode(run.name)));
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

function cell(run, column) {
  if (column.id === "created") return moment(run.created_us / 1e6);
  if (column.id === "duration") return lasted(run) === undefined ? "" : exact(lasted(run));
  const item = revive(column.get(run));
  return item === undefined ? "" : typeof item === "number" ? exact(item) : column.text(run);
}

// The Metrics tab: a card for each key in sections, of which only those near the screen exist.

import { Chart } from "./chart.js";
import { TL } from "./core.js";
import { button, h, icon, nameNode, setText } from "./dom.js";
import { openLarge, openMenu } from "./enlarge.js";
import { count, xTitle, xValue } from "./format.js";
import { matcher } from "./match.js";
import { between, place, sections } from "./sections.js";

const SIZES = {
  s: { cardWidth: 250, mostWidth: 540, cardHeight: 200 },
  m: { cardWidth: 340, mostWidth: 800, cardHeight: 264 },
  l: { cardWidth: 520, mostWidth: 1000, cardHeight: 380 },
};
const OVERSCAN_PX = 500;
const ASK_AHEAD_PX = 120;
const MAX_KEPT = 80;
const PINNED = " pinned";

export class MetricsView {
  constructor(element) {
    this.cards = new Map();
    this.heads = new Map();
    this.kept = new Map();
    this.layout = { items: [], height: 0 };
    this.search = h("input.tl-input", {
      type: "search", placeholder: "Filter metrics (regex)", "aria-label": "Filter metrics", spellcheck: false, value: TL.state.regex,
      on: { input: () => TL.set({ regex: this.search.value }) },
    });
    this.count = h("span.tl-muted.tl-count", { role: "status" });
    this.error = h("span.tl-error", { role: "status" });
    this.zooms = h("span.tl-zooms");
    this.sizes = h("span.tl-segment", { role: "group", "aria-label": "Size of the charts" }, ...Object.keys(SIZES).map((size) => h(
      "button", { type: "button", data: { size }, title: { s: "Small charts", m: "Medium charts", l: "Large charts" }[size], on: { click: () => TL.set({ size }) } }, size.toUpperCase(),
    )));
    this.fold = button("Close all sections", { text: "Close all", onClick: () => this.foldAll() });
    this.bar = h("div.tl-bar", {}, h("span.tl-search", {}, icon("search"), this.search), this.count, this.error, h("span.tl-grow"), this.zooms, this.fold, this.sizes);
    this.grid = h("div.tl-grid");
    this.empty = h("div.tl-nothing", { hidden: true });
    this.root = h("div.tl-metrics", {}, this.bar, this.empty, this.grid);
    element.append(this.root);
    new ResizeObserver(() => this.resized()).observe(this.grid);
    // A hidden tab has no size: the observer tells when it comes and goes.
    new IntersectionObserver(() => this.scrolled()).observe(this.root);
    document.addEventListener("scroll", () => TL.later("scroll", () => this.scrolled()), { capture: true, passive: true });
    window.addEventListener("resize", () => TL.later("scroll", () => this.scrolled()));
    TL.on("keys", () => TL.later("metrics", () => this.arrange()));
    TL.on("state", (names) => this.stateChanged(names));
    TL.on("runs", () => this.redrawAll());
    TL.on("hover", () => this.redrawAll());
    TL.on("theme", () => this.redrawAll());
    this.arrange();
  }

  stateChanged(names) {
    if (names.has("project")) this.forget();
    if (["project", "regex", "pin", "closed", "size"].some((name) => names.has(name))) TL.later("metrics", () => this.arrange());
    this.redrawAll();
    this.drawZooms();
  }

  forget() {
    for (const { chart, node } of this.cards.values()) {
      chart.destroy();
      node.remove();
    }
    this.cards.clear();
    this.kept.clear();
    this.search.value = TL.state.regex;
  }

  redrawAll() {
    for (const chart of TL.charts) chart.redraw();
    if (this.layout.items.length === 0) TL.later("metrics", () => this.arrange());
  }

  // -- layout ----------------------------------------------------------------------------------------------------

  arrange() {
    const { state, store } = TL;
    const keys = store?.keys ?? [];
    const { test, error } = matcher(state.regex);
    const shown = keys.filter(test);
    const pinned = state.pin.filter((key) => keys.includes(key) && test(key));
    const list = sections(shown, store?.axes).map((section) => ({ ...section, id: section.name }));
    if (pinned.length) list.unshift({ id: PINNED, name: "Pinned", keys: pinned });
    this.sections = list;
    setText(this.count, shown.length === keys.length ? `${count(keys.length)} metric${keys.length === 1 ? "" : "s"}` : `${count(shown.length)} of ${count(keys.length)} metrics`);
    setText(this.error, error ? `Not a regular expression (${error}): searching for the text as it stands` : "");
    this.search.classList.toggle("tl-invalid", Boolean(error));
    this.width = this.grid.clientWidth;
    this.layout = place(list, new Set(state.closed), this.width, { ...SIZES[state.size], headHeight: 34, gap: 10 });
    this.grid.style.height = `${this.layout.height}px`;
    this.drawEmpty(keys, shown);
    for (const item of this.sizes.children) item.setAttribute("aria-pressed", String(item.dataset.size === state.size));
    const isAllClosed = list.length > 0 && list.every((section) => state.closed.includes(section.id));
    setText(this.fold, isAllClosed ? "Open all" : "Close all");
    this.fold.hidden = list.length < 2;
    this.drawZooms();
    this.scrolled();
  }

  drawEmpty(keys, shown) {
    let text = "";
    if (TL.store?.isLoaded && keys.length === 0) text = "No metrics yet. They appear here as soon as a run logs its first number.";
    else if (keys.length && shown.length === 0) text = "No metric matches the filter. A pattern is searched anywhere in the name; write \\[ for a bracket and \\. for a dot.";
    setText(this.empty, text);
    this.empty.hidden = !text;
  }

  resized() {
    if (this.grid.clientWidth && this.grid.clientWidth !== this.width) this.arrange();
    else this.scrolled();
  }

  /** Makes what is near the screen, drops what is far from it. */
  scrolled() {
    const isShown = this.root.offsetParent !== null;
    const at = this.grid.getBoundingClientRect().top;
    const [from, to] = [-at, window.innerHeight - at];
    const near = isShown ? between(this.layout.items, from - OVERSCAN_PX, to + OVERSCAN_PX) : [];
    const keep = new Set(near.map((item) => item.id));
    if (isShown) for (const [id, node] of [...this.heads, ...this.cards]) if (!keep.has(id)) this.drop(id, node);
    for (const item of near) {
      const node = item.type === "head" ? this.head(item) : this.card(item).node;
      const style = `translate(${item.left}px, ${item.top}px)`;
      if (node.style.transform !== style) node.style.transform = style;
      node.style.width = `${item.width}px`;
      node.style.height = `${item.height}px`;
    }
    for (const [id, { chart }] of this.cards) {
      const item = keep.has(id) ? near.find((other) => other.id === id) : null;
      chart.show(Boolean(item) && item.top + item.height > from - ASK_AHEAD_PX && item.top < to + ASK_AHEAD_PX);
    }
  }

  drop(id, entry) {
    if (this.heads.delete(id)) {
      entry.remove();
      return;
    }
    this.cards.delete(id);
    entry.node.remove();
    entry.chart.destroy();
    this.kept.delete(entry.chart.key);
    this.kept.set(entry.chart.key, entry.chart.layers);
    if (this.kept.size > MAX_KEPT) this.kept.delete(this.kept.keys().next().value);
  }

  head({ id, section }) {
    let node = this.heads.get(id);
    const isClosed = TL.state.closed.includes(section.id);
    if (!node) {
      node = h(
        "button.tl-section", { type: "button", data: { section: section.name }, on: { click: () => this.toggle(section.id) } },
        icon("chevron"), nameNode(section.name || "Metrics", "tl-section-name"), h("span.tl-muted"),
      );
      this.heads.set(id, node);
      this.grid.append(node);
    }
    setText(node.lastChild, count(section.keys.length));
    node.setAttribute("aria-expanded", String(!isClosed));
    return node;
  }

  toggle(id) {
    const closed = TL.state.closed.filter((item) => item !== id);
    if (closed.length === TL.state.closed.length) closed.push(id);
    TL.set({ closed });
  }

  foldAll() {
    const ids = this.sections.map((section) => section.id);
    const isAllClosed = ids.every((id) => TL.state.closed.includes(id));
    TL.set({ closed: isAllClosed ? [] : ids });
  }

  // -- cards -----------------------------------------------------------------------------------------------------

  card({ id, key, section }) {
    let entry = this.cards.get(id);
    if (entry) {
      entry.pin.setAttribute("aria-pressed", String(TL.state.pin.includes(key)));
      return entry;
    }
    const layers = this.kept.get(key);
    const isShared = [...TL.charts].some((chart) => chart.layers === layers);
    const chart = new Chart(key, isShared ? undefined : layers);
    const short = section.id !== PINNED && section.name && key.startsWith(`${section.name}/`) ? key.slice(section.name.length + 1) : key;
    const pin = button("Pin to the top", { iconName: "pin", onClick: () => this.pin(key) });
    pin.setAttribute("aria-pressed", String(TL.state.pin.includes(key)));
    const large = button("Enlarge", { iconName: "expand", onClick: () => openLarge(key) });
    const more = button("Scale, range, download", { iconName: "more", "aria-haspopup": "true", onClick: (event) => openMenu(chart, event.currentTarget) });
    const node = h(
      "article.tl-card", { data: { key }, tabIndex: 0, "aria-label": `Chart of ${key}`, on: {
        keydown: (event) => {
          if (event.key !== "Enter" || event.target !== node) return;
          event.preventDefault(); // or the same key press closes what it opens
          openLarge(key);
        },
      } },
      h("header.tl-card-head", {}, h("h3.tl-card-title", { title: key }, nameNode(short, "", key)), h("span.tl-card-tools", {}, pin, large, more)),
      chart.legend, chart.area, h("footer.tl-card-foot", {}, chart.note, chart.axisName),
    );
    entry = { node, chart, pin };
    this.cards.set(id, entry);
    this.grid.append(node);
    return entry;
  }

  pin(key) {
    const pin = TL.state.pin.filter((item) => item !== key);
    if (pin.length === TL.state.pin.length) pin.push(key);
    TL.set({ pin });
  }

  drawZooms() {
    const entries = Object.entries(TL.state.zoom);
    const text = JSON.stringify(entries);
    if (text === this.zoomText) return;
    this.zoomText = text;
    this.zooms.replaceChildren(...entries.map(([name, [x0, x1, own]]) => {
      const kind = own ?? name.slice(1);
      const label = `${name[0] === "=" ? `${name.slice(1)}: ` : ""}${xTitle(kind)} ${xValue(kind, x0)} to ${xValue(kind, x1)}`;
      const reset = () => {
        const zoom = { ...TL.state.zoom };
        delete zoom[name];
        TL.set({ zoom });
      };
      return h("button.tl-chip", { type: "button", title: "Show everything again (or double-click a chart)", data: { role: "zoom" }, on: { click: reset } }, label, icon("close"));
    }));
  }
}


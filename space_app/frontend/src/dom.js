// Elements from data: everything that comes from a run is text, never HTML.

/**
 * @param {string} tag "div", or "div.one.two" with classes.
 * @param {object} props attributes; `on` holds listeners, `data` dataset entries, `style` declarations.
 * @param {...(Node | string | null | undefined | false)} children strings become text nodes.
 */
export function h(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, item] of Object.entries(props)) {
    if (item === undefined || item === null || item === false) continue;
    if (key === "on") for (const [event, listener] of Object.entries(item)) element.addEventListener(event, listener);
    else if (key === "data") Object.assign(element.dataset, item);
    else if (key === "style") for (const [property, value] of Object.entries(item)) element.style.setProperty(property, value);
    else if (key in element && key !== "list" && !key.startsWith("aria")) element[key] = item;
    else element.setAttribute(key, item === true ? "" : item);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Sets the text of a node where it differs, so that a poll without news touches nothing. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const TAIL = 9;

/** A name that keeps its end when it does not fit, with the whole name (or `title`) as its tooltip. */
export function nameNode(name, className = "", title = name) {
  const cut = name.length > TAIL + 6 ? [...name] : null;
  const head = cut ? cut.slice(0, -TAIL).join("") : name;
  const tail = cut ? cut.slice(-TAIL).join("") : "";
  return h(`span.tl-name${className ? `.${className}` : ""}`, { title }, h("span.tl-name-head", {}, head), tail && h("span.tl-name-tail", {}, tail));
}

const SVG = "http://www.w3.org/2000/svg";

/** The icons, as strokes on a 16 by 16 grid. */
const ICONS = {
  pin: "M6 2h4l-.5 4.5L12 9H4l2.5-2.5zM8 9v5",
  expand: "M9.5 2.5h4v4M13.5 2.5l-4.5 4.5M6.5 13.5h-4v-4M2.5 13.5l4.5-4.5",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  link: "M7 9a3 3 0 004.2 0l2-2A3 3 0 009 2.8l-.8.8M9 7a3 3 0 00-4.2 0l-2 2A3 3 0 007 13.2l.8-.8",
  chevron: "M6 4l4 4-4 4",
  download: "M8 2.5v8M4.5 7.5L8 11l3.5-3.5M3 13.5h10",
  theme: "M13 9.5A5.5 5.5 0 016.5 3 5.5 5.5 0 1013 9.5z",
  search: "M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM10.5 10.5l3 3",
  chart: "M2.5 2.5v11h11M5 10.5l3-4 2 2 3.5-5",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  play: "M5 3.5v9l7.5-4.5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  loop: "M12.5 6.5A5 5 0 103.6 10.6M12.8 2.8v3.9H9",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5.2a2.5 2.5 0 015 0v2.3",
  person: "M8 2.5a2.7 2.7 0 100 5.4 2.7 2.7 0 000-5.4zM2.8 13.5a5.2 5.2 0 0110.4 0",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "tl-icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export function button(label, { iconName, text, className = "", onClick, ...props } = {}) {
  return h(`button.tl-button${className ? `.${className}` : ""}`, { type: "button", title: label, "aria-label": label, on: { click: onClick }, ...props }, iconName && icon(iconName), text);
}

/** Copies a text and says so on the button for a moment. */
export async function copyText(text, element) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without https or permission there is no clipboard; the selection way still works.
    const area = h("textarea", { value: text, style: { position: "fixed", opacity: "0" } });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  element.classList.add("tl-done");
  element.dataset.copied = text;
  setTimeout(() => element.classList.remove("tl-done"), 1200);
}

/** Hands a file to the reader. */
export function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const controls = (node) => [...node.querySelectorAll("button, input")];

/**
 * A list of equally high rows of which only the visible ones exist. Rows keep their node while they stay visible.
 */
export class VirtualList {
  /**
   * @param {HTMLElement} scroller the element that scrolls.
   * @param {object} parts
   * @param {number} parts.rowHeight in CSS pixels.
   * @param {(item: object, node: HTMLElement | null) => HTMLElement} parts.render makes or updates a row.
   * @param {(item: object) => string} parts.id
   */
  constructor(scroller, { rowHeight, render, id, top = 0 }) {
    this.scroller = scroller;
    this.rowHeight = rowHeight;
    this.renderRow = render;
    this.idOf = id;
    this.headHeight = top;
    this.items = [];
    this.nodes = new Map();
    this.space = h("div.tl-rows");
    scroller.append(this.space);
    scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(scroller);
  }

  set(items) {
    this.items = items;
    this.space.style.height = `${items.length * this.rowHeight}px`;
    this.draw();
  }

  draw() {
    const top = Math.max(0, this.scroller.scrollTop - this.headHeight);
    const first = Math.max(0, Math.floor(top / this.rowHeight) - 4);
    const last = Math.min(this.items.length, Math.ceil((top + this.scroller.clientHeight) / this.rowHeight) + 4);
    const keep = new Set();
    for (let i = first; i < last; i++) {
      const item = this.items[i];
      const id = this.idOf(item);
      keep.add(id);
      const old = this.nodes.get(id) ?? null;
      const node = this.renderRow(item, old);
      if (node !== old) {
        const focused = old ? controls(old).indexOf(document.activeElement) : -1;
        old?.remove();
        node.classList.add("tl-row");
        this.nodes.set(id, node);
        this.space.append(node);
        controls(node)[focused]?.focus(); // a row that is drawn anew does not throw its reader out
      }
      const at = `${i * this.rowHeight}px`;
      if (node.style.top !== at) node.style.top = at;
    }
    for (const [id, node] of this.nodes) {
      if (!keep.has(id)) {
        node.remove();
        this.nodes.delete(id);
      }
    }
  }
}

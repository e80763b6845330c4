// One chart over the whole page, the menu of a chart, and what can be downloaded from it.

import { Chart, settingsOf, zoomOf } from "./chart.js";
import { TL } from "./core.js";
import { button, copyText, download, h, nameNode } from "./dom.js";
import { csvCell } from "./format.js";
import { colours } from "./theme.js";

let open = null;

/** Shows one chart over the whole page; Escape closes it. */
export function openLarge(key) {
  closeLarge();
  const chart = new Chart(key);
  chart.isLarge = true;
  const more = button("Scale, range, download", { iconName: "more", "aria-haspopup": "true", onClick: (event) => openMenu(chart, event.currentTarget) });
  const close = button("Close", { iconName: "close", onClick: closeLarge });
  const dialog = h(
    "div.tl-large", { role: "dialog", "aria-modal": "true", "aria-label": `Chart of ${key}`, data: { key } },
    h("header.tl-card-head", {}, h("h2.tl-card-title", {}, nameNode(key)), h("span.tl-grow"), more, close),
    chart.area, h("footer.tl-card-foot", {}, chart.note, chart.axisName), chart.legend,
  );
  const back = h("div.tl-shade", { on: { mousedown: (event) => event.target === back && closeLarge() } }, dialog);
  const before = document.activeElement;
  open = { back, chart, before };
  document.body.append(back);
  document.addEventListener("keydown", escape);
  close.focus();
  chart.show(true);
}

export function closeLarge() {
  if (!open) return;
  const { back, chart, before } = open;
  open = null;
  document.removeEventListener("keydown", escape);
  chart.destroy();
  back.remove();
  before?.focus?.();
}

function escape(event) {
  if (event.key === "Escape" && !document.querySelector(".tl-menu")) closeLarge();
}

let menu = null;

/** Closes the menu that is open, if any. */
export function closeMenu() {
  if (!menu) return;
  menu.element.remove();
  document.removeEventListener("mousedown", menu.outside, true);
  document.removeEventListener("keydown", menu.keys, true);
  menu.anchor.setAttribute("aria-expanded", "false");
  menu = null;
}

/** Shows elements in a menu below a button. */
export function showMenu(anchor, ...children) {
  const wasOpenHere = menu?.anchor === anchor;
  closeMenu();
  if (wasOpenHere) return null;
  const element = h("div.tl-menu", { role: "dialog" }, ...children);
  const outside = (event) => !element.contains(event.target) && !anchor.contains(event.target) && closeMenu();
  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const items = [...element.querySelectorAll(".tl-menu-item")];
    const at = items.indexOf(document.activeElement);
    if (step && at >= 0) {
      event.preventDefault();
      items[(at + step + items.length) % items.length].focus();
    }
    if (event.key !== "Escape") return;
    event.stopPropagation();
    closeMenu();
    anchor.focus();
  };
  menu = { element, anchor, outside, keys };
  document.body.append(element);
  const at = anchor.getBoundingClientRect();
  element.style.left = `${Math.max(4, Math.min(at.right - element.offsetWidth, window.innerWidth - element.offsetWidth - 4))}px`;
  element.style.top = `${Math.max(4, Math.min(at.bottom + 4, window.innerHeight - element.offsetHeight - 4))}px`;
  anchor.setAttribute("aria-expanded", "true");
  document.addEventListener("mousedown", outside, true);
  document.addEventListener("keydown", keys, true);
  element.querySelector("button, input, select")?.focus();
  return element;
}

function setOwn(key, patch) {
  const own = { ...TL.state.charts[key], ...patch };
  for (const [name, value] of Object.entries(own)) if (value === null) delete own[name];
  const charts = { ...TL.state.charts, [key]: own };
  if (Object.keys(own).length === 0) delete charts[key];
  TL.set({ charts });
}

/** The menu of one chart: scale and range of its y axis, downloads. */
export function openMenu(chart, anchor) {
  const { key } = chart;
  const own = TL.state.charts[key] ?? {};
  const scale = h("select.tl-input", { "aria-label": "Scale of the y axis", on: { change: () => setOwn(key, { y: scale.value || null }) } },
    ...[["", "as the page"], ["linear", "linear"], ["log", "log"], ["symlog", "symmetric log"]].map(([value, label]) => h("option", { value, selected: (own.y ?? "") === value }, label)));
  const limit = (name, label) => {
    const input = h("input.tl-input.tl-short", {
      type: "text", inputMode: "decimal", value: own[name] === undefined ? "" : String(own[name]), placeholder: "auto", "aria-label": label,
      on: { change: () => {
        const number = input.value.trim() === "" ? null : Number(input.value);
        const isGood = number === null || Number.isFinite(number);
        input.classList.toggle("tl-invalid", !isGood);
        if (isGood) setOwn(key, { [name]: number });
      } },
    });
    return input;
  };
  const zero = h("input", { type: "checkbox", checked: own.zero ?? TL.state.zero, on: { change: () => setOwn(key, { zero: zero.checked }) } });
  showMenu(
    anchor,
    h("label.tl-field", {}, h("span", {}, "y scale"), scale),
    h("div.tl-field", {}, h("span", {}, "y from"), limit("min", "Least y"), h("span", {}, "to"), limit("max", "Largest y")),
    h("label.tl-check", {}, zero, "start y at 0"),
    h("hr"),
    menuItem("Download CSV (all points)", () => void downloadCsv(key)),
    menuItem("Download PNG", () => downloadPng(chart)),
    menuItem("Copy the name", (event) => void copyText(key, event.currentTarget)),
  );
}

function menuItem(label, act) {
  return h("button.tl-menu-item", { type: "button", on: { click: (event) => {
    act(event);
    closeMenu();
  } } }, label);
}

const safeName = (text) => text.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 120) || "chart";

/** Every raw point of the selected runs, each run's rows as they were logged, with the run's name and id in front. */
export async function downloadCsv(key) {
  const { store } = TL;
  const runs = TL.selectedRuns.filter((id) => key in (store.runs.get(id)?.last ?? {}));
  const { xKind } = settingsOf(key);
  const zoom = xKind === "step" ? zoomOf(key, xKind) : null;
  let head = null;
  const lines = [];
  for (const id of runs) {
    const text = await TL.source.csv({ project: store.project, run: id, key, x0: zoom?.[0], x1: zoom?.[1] });
    if (text === null) continue;
    const [first, ...rest] = text.split(/\r?\n/);
    head ??= `run_name,run_id,${first}`;
    const front = `${csvCell(store.runs.get(id).name)},${csvCell(id)},`;
    for (const line of rest) if (line) lines.push(front + line);
  }
  download(`${safeName(key)}.csv`, new Blob([`${head ?? "run_name,run_id"}\n${lines.join("\n")}\n`], { type: "text/csv" }));
}

/** The chart as it stands, with its name and the drawn runs. */
export function downloadPng(chart) {
  const source = chart.plot.ctx.canvas;
  const ratio = source.width / chart.plot.width;
  const runs = [...new Map(chart.lines.map((line) => [line.run, line])).values()].reverse().slice(0, 12);
  const rows = Math.ceil(runs.length / 2);
  const canvas = h("canvas", { width: source.width, height: source.height + (34 + rows * 18) * ratio });
  const ctx = canvas.getContext("2d");
  const look = colours();
  ctx.fillStyle = look.back;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.scale(ratio, ratio);
  ctx.fillStyle = look.text;
  ctx.font = `600 13px ${look.font.slice(5)}`;
  ctx.fillText(chart.key, 12, 21, chart.plot.width - 24);
  ctx.drawImage(source, 0, 30, chart.plot.width, chart.plot.height);
  ctx.font = look.font;
  runs.forEach((line, i) => {
    const x = 12 + (i % 2) * (chart.plot.width / 2);
    const y = 30 + chart.plot.height + 14 + Math.floor(i / 2) * 18;
    ctx.fillStyle = line.colour;
    ctx.fillRect(x, y - 7, 12, 3);
    ctx.fillStyle = look.muted;
    ctx.fillText(TL.store.runs.get(line.run)?.name ?? line.run, x + 18, y, chart.plot.width / 2 - 40);
  });
  canvas.toBlob((blob) => download(`${safeName(chart.key)}.png`, blob), "image/png");
}


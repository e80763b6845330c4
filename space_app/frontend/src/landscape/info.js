// What was evaluated, in a line, in warnings and in a table of everything that was recorded.

import { swatch } from "../colours.js";
import { TL } from "../core.js";
import { h, nameNode } from "../dom.js";
import { count, duration, number, value } from "../format.js";
import { revive } from "../wire.js";

const asNumber = (raw) => {
  const item = revive(raw);
  return typeof item === "number" && Number.isFinite(item) ? item : null;
};

/** Facts of a frame: [label, text, longer text]. */
function facts({ payload }, grid) {
  const meta = payload.meta ?? {};
  const cells = payload.num_rows * payload.num_cols;
  const found = [];
  const add = (label, text, title = text) => text && found.push([label, text, title]);
  const centre = asNumber(meta.loss_at_center);
  if (centre !== null) add("Loss at the centre", number(centre), String(centre));
  add("Range of the loss", payload.min === null ? "no finite loss" : `${number(payload.min)} to ${number(payload.max)}`, payload.min === null ? "" : `${payload.min} to ${payload.max}`);
  add("Cells", payload.num_rows === 1 ? `${count(payload.num_cols)} on a line` : `${count(payload.num_cols)} × ${count(payload.num_rows)}`);
  add("Measured", `${count(payload.num_measured ?? cells)} of ${count(cells)} points${(payload.num_measured ?? cells) < cells ? ", the others interpolated" : ""}`);
  const error = asNumber(meta.error_estimate);
  if (error !== null) add("Error, estimated", `${percent(error)} of the range`, String(error));
  add("Mode", value(meta.mode));
  const seconds = asNumber(meta.seconds);
  if (seconds !== null) add("Took", duration(seconds));
  const hash = value(meta.batches_sha256);
  add("Batches", hash ? hash.slice(0, 12) : "", hash);
  add("Directions", [meta.direction, meta.normalization].filter((item) => typeof item === "string").join(", normalized by "));
  const odd = grid ? grid.kind.reduce((num, kind) => num + (kind > 1 ? 1 : 0), 0) : 0;
  if (odd) add("Not finite", `${count(odd)} of ${count(cells)} cells are NaN or infinite`);
  return found;
}

/** A share of the range of the losses, as `error_estimate` and `tolerance` are. */
const percent = (share) => `${Number((100 * share).toPrecision(2))} %`;

/** What a reader must know before believing the picture. */
function warnings({ payload }) {
  const meta = payload.meta ?? {};
  const said = [];
  const cells = payload.num_rows * payload.num_cols;
  const unknown = payload.num_missing ?? 0;
  if (meta.is_complete === false) said.push("This landscape is partial: its evaluation ended early. What was measured is right; the rest is missing, or rougher than was asked for.");
  if (unknown > 0) said.push(`${count(unknown)} of ${count(cells)} cells hold no number; they are hatched.`);
  const [error, tolerance] = [asNumber(meta.error_estimate), asNumber(meta.tolerance)];
  if (error !== null && tolerance !== null && error > tolerance) {
    said.push(`What lies between the measured points may be off by ${percent(error)} of the range, more than the tolerance of ${percent(tolerance)}.`);
  }
  return said;
}

/** All of it as elements. */
export function infoOf(frame, grid, isOpen, onToggle) {
  const run = TL.store?.runs.get(frame.run);
  const meta = Object.entries(flat(frame.payload.meta ?? {})).sort(([a], [b]) => (a < b ? -1 : 1));
  const details = h("details.tl-land-details", { open: isOpen, on: { toggle: () => onToggle(details.open) } },
    h("summary", {}, `All that was recorded (${count(meta.length)})`),
    meta.length === 0 ? h("p.tl-muted", {}, "Nothing beside the grid: it was logged as numbers, without meta.") : h("table.tl-list", {}, h("tbody", {}, ...meta.map(([key, raw]) => h("tr", { data: { meta: key } }, h("td", {}, nameNode(key)), h("td.tl-value", {}, value(raw)))))));
  return [
    h("h3.tl-land-title", {}, run ? h("span.tl-swatch", { style: { background: swatch(TL.store.style(frame.run)) } }) : null, nameNode(run?.name ?? frame.run), h("span.tl-muted", {}, "·"), nameNode(frame.name), h("span.tl-muted", {}, `· step ${count(frame.step)}`)),
    ...warnings(frame).map((text) => h("p.tl-land-warning", { role: "note" }, text)),
    h("dl.tl-land-facts", {}, ...facts(frame, grid).flatMap(([label, text, title]) => [h("dt", {}, label), h("dd", { title, data: { fact: label } }, text)])),
    details,
  ];
}

/** Nested settings as "a.b". */
function flat(items, prefix = "") {
  const found = {};
  for (const [key, raw] of Object.entries(items)) {
    const isNested = raw !== null && typeof raw === "object" && !Array.isArray(raw) && typeof revive(raw) === "object" && Object.keys(raw).length > 0;
    if (isNested) Object.assign(found, flat(raw, `${prefix}${key}.`));
    else found[prefix + key] = raw;
  }
  return found;
}

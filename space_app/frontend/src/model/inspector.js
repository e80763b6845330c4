// What is known of the module that is chosen: what it is, what it costs, what goes in and out, what it is made of.

import { button, h } from "../dom.js";
import { value } from "../format.js";
import { DIFFS } from "./colouring.js";
import { bytes, count, dimsOf, dtypeMix, flops, isLetter, kindName, sharePercent, shapeText, short } from "./facts.js";
import { refOf } from "./ids.js";
import { treemap } from "./mosaic.js";

const MOST_TENSORS = 60;

const fact = (label, content, title) => content !== "" && content !== null && content !== undefined && [h("dt", {}, label), h("dd", { data: { fact: label }, title }, content)];
const facts = (...rows) => h("dl.tl-model-facts", {}, ...rows.filter(Boolean).flat());
const section = (title, ...children) => children.some(Boolean) && h("section.tl-model-section", {}, h("h4", {}, title), ...children);
const goTo = (host, index, text, title = "Go there") => h("button.tl-model-link", { type: "button", title, data: { go: index }, on: { click: () => host.jump(index) } }, text);

/** Everything about the chosen thing, as elements. */
export function inspect(host) {
  const { graph } = host;
  const { selected } = host;
  if (selected?.[0] === "o") return opParts(host, graph.ops[refOf(selected)]);
  const index = selected?.[0] === "m" ? refOf(selected) : 0;
  return moduleParts(host, graph.modules[index]);
}

function moduleParts(host, module) {
  const { graph } = host;
  return [
    headOf(host, module),
    ...notesOf(host, module),
    changesOf(host, module),
    module.index === 0 ? totalsOf(graph) : costs(graph, module),
    section("In and out", tensorsIO("in", module.inputs), tensorsIO("out", module.outputs), module.calls > 1 ? h("p.tl-muted", {}, `Runs ${count(module.calls)} times in one pass; this is the first.`) : null),
    module.moe && moeOf(host, module.moe),
    parameterMap(host, module),
    tensorTable(host, module),
    attributes(module),
    module.index === 0 ? loggedWith(host) : null,
  ].filter(Boolean);
}

function headOf(host, module) {
  const { graph } = host;
  const { strip } = host.picture.colouring.of(module);
  const isContainer = module.children.length > 0;
  const isOpen = host.opening.isOpen(module.index);
  return h("header.tl-model-title", {},
    h("h3", {}, module.name || graph.titleOf(module.index)),
    h("div.tl-model-chips", {},
      h("span.tl-model-chip", {}, h("span.tl-swatch", { style: { background: strip } }), kindName(module.kind)),
      module.count > 1 && h("span.tl-model-chip", { title: repeatTitle(module), data: { chip: "times" } }, `×${count(module.count)}`),
      module.sameAs && h("span.tl-model-chip", {}, "shared"),
      isContainer && button(isOpen ? "Close it (C)" : "Open it (E)", { text: isOpen ? "Close" : `Open ${count(module.children.length)} inside`, className: "tl-boxed", onClick: () => host.toggle(module.index) })),
    facts(
      fact("Class", module.isGroup ? `group of ${module.repeat?.period ?? module.children.length} that repeat together` : module.cls),
      fact("Path", module.path || "the model itself"),
      module.count > 1 && fact("Repeats", `${count(module.count)} alike: ${module.repeat.names}`),
      module.count > 1 && module.repeat.differs.length > 0 && fact("They differ in", module.repeat.differs.join(", ")),
      module.sameAs && fact("Same as", goTo(host, graph.byPath.get(module.sameAs) ?? module.index, module.sameAs))));
}

const repeatTitle = (module) => `${module.repeat.names}${module.repeat.differs.length ? `; they differ in ${module.repeat.differs.join(", ")}` : ""}`;

function notesOf(host, module) {
  const { meta } = host.graph;
  const said = [];
  const warn = (text) => said.push(h("p.tl-model-warning", { role: "note" }, text));
  const failure = meta.rungs.map((rung) => rung.error).filter(Boolean).at(-1) ?? "";
  if (module.isFailed) warn(`The trace failed in this module${failure ? `: ${failure}` : "."}`);
  if (host.crowded?.has(module.index)) said.push(h("p.tl-model-note", {}, "It runs more operations than can be drawn at once; its edges go through them."));
  if (module.index !== 0) return said;
  // The reason is among the notes mostly, and is said once.
  const isSaid = meta.notes.some((note) => note.includes(failure));
  if (meta.isPartial) warn(`This graph is partial: the trace ended${meta.failedAt ? ` in ${meta.failedAt}` : ""}${isSaid ? "." : `: ${failure}`} What ran before it is right.`);
  if (!host.graph.isTraced) warn("This graph is static: it was not traced, so shapes and work are unknown, and only edges that follow from the structure are drawn.");
  if (meta.numAssumed > 0) warn(`${count(meta.numAssumed)} ${meta.numAssumed === 1 ? "number that depends" : "numbers that depend"} on data ${meta.numAssumed === 1 ? "was" : "were"} assumed; a branch on ${meta.numAssumed === 1 ? "it" : "them"} may go the other way.`);
  for (const note of meta.notes) said.push(h("p.tl-model-note", {}, note));
  return said;
}

function changesOf(host, module) {
  // Nothing is chosen: the list above says it already.
  if (!host.selected) return null;
  const entry = host.diff?.entries.find((item) => item.after === module.index && item.status === "changed");
  const mark = host.diff?.after.get(module.index);
  if (!mark || (!entry && mark !== "added")) return null;
  if (mark === "added") return h("p.tl-model-note", { data: { change: "added" } }, "Not in the graph that this one is compared with.");
  return section("Changed", changeTable(entry));
}

export const changeTable = (entry) => h("table.tl-list.tl-model-changes", {}, h("tbody", {}, ...entry.fields.map((field) => h("tr", {}, h("td", {}, field.name), h("td.tl-value", {}, h("del", {}, field.before || "none"), " → ", h("ins", {}, field.after || "none"))))));

function totalsOf(graph) {
  const { totals, mode, numModules, dims, torch } = graph.meta;
  const sizes = Object.entries(dims).map(([name, size]) => `${name} = ${size}`).join(", ");
  return section("The model", facts(
    fact("Parameters", totals.unique > 0 ? `${short(totals.unique)}` : "", count(totals.unique ?? 0)),
    totals.params > totals.unique && fact("With ties counted twice", short(totals.params), count(totals.params)),
    totals.unique > 0 && fact("Trainable", `${short(totals.trainable ?? 0)} (${sharePercent(totals.trainable ?? 0, totals.unique) || "0 %"})`, count(totals.trainable ?? 0)),
    totals.active > 0 && totals.active < totals.unique && fact("Met by one token", `${short(totals.active)} (${sharePercent(totals.active, totals.unique)})`, count(totals.active)),
    totals.bytes > 0 && fact("Bytes", bytes(totals.bytes), count(totals.bytes)),
    dtypesOf(graph.modules[0]),
    graph.modules[0].numBuffers > 0 && fact("Buffers", `${short(graph.modules[0].numBuffers)} elements`, count(graph.modules[0].numBuffers)),
    totals.flops > 0 && fact("FLOPs", `${flops(totals.flops)} (${flops(totals.macs ?? totals.flops / 2, "MAC")})`, count(totals.flops)),
    totals.activation_bytes > 0 && fact("Activations", bytes(totals.activation_bytes)),
    totals.peak_bytes > 0 && fact("At most at once", bytes(totals.peak_bytes)),
    totals.kv_bytes_per_token > 0 && fact("KV cache a token", bytes(totals.kv_bytes_per_token)),
    fact("Modules", count(numModules || graph.modules.length)),
    sizes && fact("Traced with", sizes),
    fact("How", { meta: "traced on the meta device: no weights, nothing computed", fake: "traced with fake tensors: nothing computed", hooks: "traced by a real forward", static: "static, from the structure alone" }[mode] ?? mode),
    fact("torch", torch)));
}

const dtypesOf = (module) => dtypeMix(module).length > 0 && fact("dtype", dtypeMix(module).map(([name, num], _, list) => (list.length > 1 ? `${name} ${short(num)}` : name)).join(", "));

function costs(graph, module) {
  const { params } = module;
  const whole = graph.meta.totals.unique || graph.modules[0].params.unique;
  const all = params.unique * module.times;
  const rows = [
    params.unique > 0 && fact("Parameters", `${short(params.unique)}${module.times > 1 ? ` each, ${short(all)} in all` : ""}`, count(params.unique)),
    params.own > 0 && params.own !== params.unique && fact("Its own", short(params.own), count(params.own)),
    params.total !== params.unique && fact("With ties counted twice", short(params.total), count(params.total)),
    params.unique > 0 && fact("Trainable", params.trainable === params.unique ? "all" : `${short(params.trainable)} (${sharePercent(params.trainable, params.unique) || "0 %"})`, count(params.trainable)),
    params.bytes > 0 && fact("Bytes", `${bytes(params.bytes)}${module.bits && ![8, 16, 32, 64].includes(module.bits) ? `, ${module.bits} bits a weight` : ""}`, count(params.bytes)),
    dtypesOf(module),
    module.numBuffers > 0 && fact("Buffers", `${short(module.numBuffers)} elements`, count(module.numBuffers)),
    module.flops > 0 && fact("FLOPs", `${flops(module.flops)}${graph.meta.totals.flops ? ` (${sharePercent(module.flops * module.times, graph.meta.totals.flops)} of all)` : ""}`, count(module.flops)),
    module.outBytes > 0 && fact("Output", bytes(module.outBytes), count(module.outBytes)),
    module.peakBytes > 0 && fact("Activations at most", bytes(module.peakBytes), count(module.peakBytes)),
    module.kvBytes > 0 && fact("KV cache a token", bytes(module.kvBytes), count(module.kvBytes)),
  ];
  const share = whole > 0 && module.index > 0 && all > 0 ? Math.min(1, all / whole) : 0;
  return rows.some(Boolean) && section(module.count > 1 ? "Cost of one" : "Cost", facts(...rows), share > 0 && h("div.tl-model-share", { title: `${sharePercent(all, whole)} of the model's parameters`, data: { share: share.toFixed(4) } }, h("i", { style: { width: `${100 * share}%` } }), h("span", {}, `${sharePercent(all, whole)} of all parameters`)));
}

function tensorsIO(direction, tensors) {
  if (tensors.length === 0) return null;
  return h("div.tl-model-io", { data: { io: direction } }, ...tensors.map((tensor) => h("div.tl-model-tensor", { title: `${shapeText({ shape: tensor.shape })} ${tensor.dtype}` },
    h("span.tl-model-direction", {}, direction),
    h("span.tl-model-dims", {}, ...dimsOf(tensor).flatMap(({ size, name }, i) => [i > 0 && h("span.tl-muted", {}, " × "), isLetter(name) ? h("b", { title: `${name} = ${size}` }, name) : h("span", {}, String(size), name && h("small", {}, ` ${name}`))].filter(Boolean)), tensor.shape.length === 0 && "number"),
    h("span.tl-muted", {}, tensor.dtype))));
}

function moeOf(host, moe) {
  const { graph } = host;
  const link = (path) => (graph.byPath.has(path) ? goTo(host, graph.byPath.get(path), path) : path);
  return section("Mixture of experts", facts(
    fact("Experts", `${count(moe.numExperts)}${moe.topK ? `, ${count(moe.topK)} for each token` : ""}`),
    moe.numShared > 0 && fact("Shared", `${count(moe.numShared)} for every token`),
    moe.activeParams > 0 && fact("Met by one token", short(moe.activeParams), count(moe.activeParams)),
    moe.router && fact("Router", link(moe.router)), moe.experts && fact("Experts in", link(moe.experts))));
}

function parameterMap(host, module) {
  return module.children.length > 0 && module.params.unique > 0 ? section("Parameters by module", treemap(host, module.index)) : null;
}

function tensorTable(host, module) {
  if (module.tensors.length === 0) return null;
  const { graph } = host;
  const tieOf = (tensor) => {
    const own = module.path ? `${module.path}.${tensor.name}` : tensor.name;
    const tie = graph.ties.find((item) => item.modules.includes(module.index));
    const path = tensor.tiedTo.slice(0, Math.max(0, tensor.tiedTo.lastIndexOf(".")));
    const other = tensor.tiedTo ? graph.resolve(path) : tie && tie.tensor === tensor.name ? tie.modules.find((i) => i !== module.index) ?? -1 : -1;
    return other >= 0 && other !== module.index ? goTo(host, other, `tied to ${tensor.tiedTo || graph.titleOf(other)}`, `${own} shares its storage`) : tensor.tiedTo && `tied to ${tensor.tiedTo}`;
  };
  const rows = module.tensors.slice(0, MOST_TENSORS).map((tensor) => h("tr", { data: { tensor: tensor.name } },
    h("td", {}, tensor.name, tensor.isBuffer && h("span.tl-muted", {}, " buffer"), !tensor.isBuffer && !tensor.trainable && h("span.tl-muted", {}, " frozen")),
    h("td", {}, tensor.isLazy ? "lazy" : shapeText({ shape: tensor.shape }, "×")), h("td.tl-muted", {}, tensor.dtype), h("td", {}, tieOf(tensor) || null)));
  const more = module.tensors.length - rows.length;
  return section("Its own tensors", h("table.tl-list.tl-model-tensors", {}, h("tbody", {}, ...rows)), more > 0 && h("p.tl-muted", {}, `and ${count(more)} more`));
}

function attributes(module) {
  const rows = Object.entries(module.attrs);
  return rows.length > 0 && section("Attributes", h("table.tl-list", {}, h("tbody", {}, ...rows.map(([name, value]) => h("tr", { data: { attr: name } }, h("td", {}, name), h("td.tl-value", {}, String(value)))))));
}

/** What the user logged beside the graph. */
function loggedWith({ frame }) {
  const rows = Object.entries(frame?.payload.meta ?? {});
  return rows.length > 0 && section("Logged with it", h("table.tl-list", {}, h("tbody", {}, ...rows.map(([name, raw]) => h("tr", { data: { meta: name } }, h("td", {}, name), h("td.tl-value", {}, value(raw)))))));
}

function opParts(host, op) {
  const { graph } = host;
  const port = op.port ?? { shape: op.shape, dims: [], dtype: op.dtype };
  const kinds = { input: "input of the model", output: "output of the model", add: "addition", cat: "concatenation", mul: "product", matmul: "matrix product", attention: "attention", router: "router", combine: "weighted sum of experts", loop: "loop, rolled up" };
  return [
    h("header.tl-model-title", {}, h("h3", {}, op.port?.name || op.name), h("div.tl-model-chips", {}, h("span.tl-model-chip", {}, kinds[op.kind] ?? "operation")),
      facts(fact("Operation", op.name), op.port ? null : fact("In", goTo(host, op.module, graph.titleOf(op.module))))),
    section("Gives", tensorsIO(op.kind === "output" ? "in" : "out", op.shape.length || op.dtype || op.port ? [port] : []), facts(op.bytes > 0 && fact("Bytes", bytes(op.bytes), count(op.bytes)), op.flops > 0 && fact("FLOPs", flops(op.flops), count(op.flops)))),
  ].filter(Boolean);
}

/** The differences as a list; each leads to where it is. */
export function changeList(host) {
  const { diff } = host;
  if (!diff) return null;
  const rows = diff.entries.map((entry) => {
    const [, , sign] = DIFFS[entry.status];
    const label = entry.path || "the model itself";
    return h("li", { data: { status: entry.status } },
      h("span.tl-model-sign", { "aria-hidden": "true", style: { background: DIFFS[entry.status][host.look.isDark ? 1 : 0] } }, sign),
      h("div", {}, entry.after >= 0 ? goTo(host, entry.after, label) : h("span.tl-model-gone", { title: "It is not in the graph that is shown" }, label), h("span.tl-muted", {}, ` ${entry.status}`), entry.fields.length > 0 && changeTable(entry)));
  });
  return rows.length ? h("ul.tl-model-diff", {}, ...rows) : h("p.tl-muted", {}, "The two graphs have the same modules.");
}

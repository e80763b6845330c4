// A model graph as the page needs it: a document with its defaults filled in, its tree and its names. Pure.

import { homesOf, spreadOf } from "./homes.js";

/** The newest format of documents that this page reads. */
export const FORMAT = 2;

/** The place that holds the model itself, and its inputs and outputs. */
export const TOP = -1;

const list = (raw) => (Array.isArray(raw) ? raw : []);
const text = (raw) => (typeof raw === "string" ? raw : "");
const amount = (raw) => (typeof raw === "number" && Number.isFinite(raw) ? raw : 0);
const table = (raw) => (raw !== null && typeof raw === "object" && !Array.isArray(raw) ? raw : {});
const tensor = (raw) => ({ shape: list(raw?.shape), dims: list(raw?.dims).map(text), dtype: text(raw?.dtype), name: text(raw?.name), op: raw?.op ?? -1 });

/**
 * @typedef {object} Module
 * @property {number} index its place in the document.
 * @property {string} path "" for the model itself.
 * @property {string} name the last part of the path; of a repeat, all names.
 * @property {string} cls its class, "" for a group.
 * @property {number} parent
 * @property {number[]} children
 * @property {number} depth 0 for the model itself.
 * @property {number} count how many instances stand in a row here.
 * @property {number} inside how many modules are in it.
 * @property {number} times how many instances there are in the whole model.
 */

export class Graph {
  /**
   * @param {object} document as docs/design/model_graph.md has it.
   * @throws {Error} what cannot be read, in words for the reader.
   */
  constructor(document) {
    const meta = table(document?.meta);
    if (!Number.isInteger(meta.format_version)) throw new Error("it is no model graph: it has no meta.format_version.");
    if (meta.format_version > FORMAT) throw new Error(`it has format ${meta.format_version}, this page reads up to ${FORMAT}. Nothing is lost: a newer dashboard shows it.`);
    this.document = document;
    this.meta = {
      name: text(meta.name), cls: text(meta.class), fingerprint: text(meta.fingerprint), mode: text(meta.trace_mode) || "static", rungs: list(meta.rungs),
      isPartial: meta.is_partial === true, failedAt: text(meta.failed_at), numAssumed: amount(meta.num_assumed), numModules: amount(meta.num_modules),
      dims: table(meta.dims), totals: table(meta.totals), notes: list(meta.notes).map(text), torch: text(meta.torch),
    };
    this.modules = list(document.modules).map(readModule);
    if (this.modules.length === 0) throw new Error("it is empty: a graph has at least the model itself.");
    this.link();
    this.readOps(document);
    this.ties = list(document.ties).map((tie) => ({ modules: list(tie.modules).filter((i) => this.modules[i]), tensor: text(tie.tensor) }));
    this.homes = homesOf(this);
    this.spread = spreadOf(this, this.homes);
    this.byPath = new Map(this.modules.map((module) => [module.path, module.index]).reverse());
  }

  link() {
    for (const module of this.modules) {
      const { index, parent } = module;
      const isFine = index === 0 ? parent === TOP : Number.isInteger(parent) && parent >= 0 && parent < index;
      if (!isFine) throw new Error(`its module ${index} has no parent before it.`);
      if (index === 0) continue;
      const above = this.modules[parent];
      above.children.push(index);
      module.depth = above.depth + 1;
      module.times = above.times * module.count;
    }
    for (let i = this.modules.length - 1; i > 0; i--) this.modules[this.modules[i].parent].inside += 1 + this.modules[i].inside;
  }

  readOps({ ops, edges, inputs, outputs }) {
    const column = (raw, name) => list(table(raw)[name]);
    const names = column(ops, "name");
    this.ops = names.map((name, i) => ({
      index: i, name: text(name), kind: text(column(ops, "kind")[i]) || "other", module: column(ops, "module")[i] ?? 0, shape: list(column(ops, "shape")[i]),
      dtype: text(column(ops, "dtype")[i]), flops: amount(column(ops, "flops")[i]), bytes: amount(column(ops, "bytes")[i]), port: null,
    }));
    if (this.ops.some((op) => !this.modules[op.module])) throw new Error("an operation of it is in no module.");
    this.edges = column(edges, "source").map((source, i) => ({
      source, target: column(edges, "target")[i], kind: text(column(edges, "kind")[i]) || "tensor", bytes: amount(column(edges, "bytes")[i]), label: text(column(edges, "label")[i]),
    }));
    if (this.edges.some((edge) => !this.ops[edge.source] || !this.ops[edge.target])) throw new Error("an edge of it leads nowhere.");
    this.inputs = list(inputs).map(tensor);
    this.outputs = list(outputs).map(tensor);
    for (const port of [...this.inputs, ...this.outputs]) if (this.ops[port.op]) this.ops[port.op].port = port;
  }

  /** What is drawn in an open module: its children, and those of lists that are not drawn themselves. */
  drawn(index) {
    this.drawnCache ??= new Map();
    if (!this.drawnCache.has(index)) this.drawnCache.set(index, this.modules[index].children.flatMap((child) => (this.spread.has(child) ? this.drawn(child) : [child])));
    return this.drawnCache.get(index);
  }

  /** The module in which another one is drawn. */
  around(index) {
    let i = this.modules[index].parent;
    while (this.spread.has(i)) i = this.modules[i].parent;
    return i;
  }

  /** The name of a module where it is drawn: with that of its list where the list is not. */
  nameOf(index) {
    const { name, parent } = this.modules[index];
    return this.spread.has(parent) ? `${this.nameOf(parent)}.${name}` : name;
  }

  get isTraced() {
    return this.meta.mode !== "static";
  }

  /** The module and those around it, the model itself first. */
  chain(index) {
    const found = [];
    for (let i = index; i >= 0; i = this.modules[i].parent) found.unshift(i);
    return found;
  }

  isInside(index, container) {
    let i = index;
    while (i > container) i = this.modules[i].parent;
    return i === container;
  }

  /** What a module is called where there is room for it. */
  titleOf(index) {
    const module = this.modules[index];
    return module.path || this.meta.name || module.cls || "model";
  }

  /**
   * The module that a path of the real model stands for: itself, or what represents it in a repeat.
   * @param {string} path such as "model.layers.17.mlp".
   * @returns {number} -1 where there is none.
   */
  resolve(path) {
    if (this.byPath.has(path)) return this.byPath.get(path);
    const walk = (index, parts) => {
      if (parts.length === 0) return index;
      for (const child of this.modules[index].children) {
        const found = this.stepInto(child, parts, walk);
        if (found >= 0) return found;
      }
      return -1;
    };
    return walk(0, path.split("."));
  }

  stepInto(child, parts, walk) {
    const module = this.modules[child];
    if (module.isGroup) {
      const range = /\[(\d+):(\d+)\]$/.exec(module.path);
      const at = Number(parts[0]);
      if (!range || !Number.isInteger(at)) return -1;
      const [first, period] = [Number(range[1]), module.repeat?.period ?? 1];
      if (at < first || at >= first + period * module.count) return -1;
      return walk(child, [String(first + ((at - first) % period)), ...parts.slice(1)]);
    }
    const own = module.path.split(".").at(-1);
    return own === parts[0] || covers(module, parts[0]) ? walk(child, parts.slice(1)) : -1;
  }
}

function readModule(raw, index) {
  const params = table(raw.params);
  const repeat = raw.repeat ? { count: amount(raw.repeat.count) || 1, names: text(raw.repeat.names), period: amount(raw.repeat.period) || 1, differs: list(raw.repeat.differs).map(text) } : null;
  const count = repeat?.count ?? 1;
  return {
    index, path: text(raw.path), name: text(raw.name), cls: text(raw.class), kind: text(raw.kind) || "other", parent: raw.parent ?? TOP, fingerprint: text(raw.fingerprint),
    repeat, isGroup: raw.is_group === true, sameAs: text(raw.same_as),
    params: { own: amount(params.own), total: amount(params.total), unique: amount(params.unique), trainable: amount(params.trainable), bytes: amount(params.bytes) },
    numBuffers: amount(raw.num_buffers), dtypes: table(raw.dtypes), bits: amount(raw.bits),
    tensors: list(raw.tensors).map((item) => ({ name: text(item.name), shape: list(item.shape), dtype: text(item.dtype), trainable: item.trainable === true, isBuffer: item.is_buffer === true, isLazy: item.is_lazy === true, tiedTo: text(item.tied_to) })),
    attrs: table(raw.attrs), calls: amount(raw.calls), inputs: list(raw.inputs).map(tensor), outputs: list(raw.outputs).map(tensor),
    flops: amount(raw.flops), macs: amount(raw.macs), outBytes: amount(raw.out_bytes), peakBytes: amount(raw.peak_bytes), kvBytes: amount(raw.kv_bytes_per_token),
    isFailed: raw.is_failed === true, moe: raw.moe ? { numExperts: 0, ...readMoe(raw.moe) } : null,
    children: [], depth: 0, inside: 0, count, times: count,
  };
}

const readMoe = (raw) => ({
  numExperts: amount(raw.num_experts), topK: amount(raw.top_k), numShared: amount(raw.num_shared), router: text(raw.router), experts: text(raw.experts), activeParams: amount(raw.active_params),
});

/** The first and the last number of a repeat's names, such as `0..31` or `block1..block4`; null where they are no range. */
export function rangeOf(names) {
  const found = /^(.*?)(\d+)\.\.(.*?)(\d+)$/.exec(names);
  return found && found[1] === found[3] ? { prefix: found[1], first: Number(found[2]), last: Number(found[4]) } : null;
}

/** Whether a name is one of a repeat. */
export function covers(module, name) {
  const range = module.repeat && rangeOf(module.repeat.names);
  if (!range || !name.startsWith(range.prefix)) return false;
  const rest = name.slice(range.prefix.length);
  return /^\d+$/.test(rest) && Number(rest) >= range.first && Number(rest) <= range.last;
}

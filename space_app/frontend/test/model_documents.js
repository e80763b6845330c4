// Small documents for the tests of the Model tab, and a ruler.

import ELK from "elkjs";
import { Graph } from "../src/model/document.js";
import { Layout } from "../src/model/layout.js";
import { lift } from "../src/model/lift.js";
import { sceneOf } from "../src/model/scene.js";
import { Sizes } from "../src/model/sizes.js";

/** Width of a text, about as in a browser. */
export const measure = (text, size) => text.length * size * 0.55;

/**
 * A document.
 * @param {object[]} modules `path`, and what differs from the usual; parents are found by path.
 * @param {[string, string, string?][]} ops name, path of the module, kind.
 * @param {[number, number, string?, object?][]} edges source, target, kind, more.
 */
export function documentOf(modules, ops = [], edges = [], more = {}) {
  const paths = modules.map(({ path }) => path);
  const parentOf = (path) => (path === "" ? -1 : Math.max(0, paths.indexOf(path.slice(0, Math.max(0, path.lastIndexOf("."))))));
  return {
    meta: { format_version: 2, name: "net", class: "Net", fingerprint: "f", trace_mode: ops.length ? "meta" : "static", totals: {}, ...more.meta },
    modules: modules.map((module) => ({ name: module.path.split(".").at(-1), class: "Block", kind: "block", parent: parentOf(module.path), fingerprint: `f${module.path}`, calls: 1, ...module })),
    ops: {
      name: ops.map(([name]) => name), module: ops.map(([, path]) => paths.indexOf(path)), kind: ops.map(([, , kind]) => kind ?? "matmul"),
      shape: ops.map(() => [2, 8]), dtype: ops.map(() => "float32"), flops: ops.map(() => 0), bytes: ops.map(() => 64),
    },
    edges: {
      source: edges.map(([source]) => source), target: edges.map(([, target]) => target), kind: edges.map(([, , kind]) => kind ?? "tensor"),
      bytes: edges.map(([, , , extra]) => extra?.bytes ?? 64), label: edges.map(([, , , extra]) => extra?.label ?? ""),
    },
    ...(ops.length ? { inputs: [{ name: "x", shape: [2, 8], dtype: "float32", op: 0 }], outputs: [{ name: "y", shape: [2, 8], dtype: "float32", op: ops.length - 1 }] } : {}),
    ...more.rest,
  };
}

export const graphOf = (...parts) => new Graph(documentOf(...parts));

/** A block with a way around it, twelve times, between two layers. */
export const residual = () => graphOf(
  [
    { path: "" }, { path: "inp", class: "Linear", kind: "linear", params: { unique: 100, own: 100 } }, { path: "layers", class: "ModuleList", kind: "container", calls: 0, params: { unique: 1200 } },
    { path: "layers.0", name: "0..11", repeat: { count: 12, names: "0..11", differs: ["layer_idx"] }, params: { unique: 100 } },
    { path: "layers.0.norm", class: "LayerNorm", kind: "norm", params: { unique: 20, own: 20 } }, { path: "layers.0.fc", class: "Linear", kind: "linear", params: { unique: 80, own: 80 } },
    { path: "out", class: "Linear", kind: "head", params: { unique: 50, own: 50 } },
  ],
  [["x", "", "input"], ["mm", "inp"], ["norm", "layers.0.norm", "norm"], ["mm", "layers.0.fc"], ["add", "layers.0", "add"], ["mm", "out"], ["y", "", "output"]],
  [[0, 1], [1, 2], [2, 3], [3, 4], [1, 4, "residual"], [4, 2, "loop"], [4, 5, "tensor", { bytes: 4096 }], [5, 6]],
);

const elk = new ELK();

/** What is drawn, by the real layout. */
export async function drawn(graph, opening, joints = "main", engine = { layout: (asked) => elk.layout(asked) }) {
  const { links, frames, loops } = lift(graph, opening, joints);
  const layout = new Layout(engine);
  const laid = await layout.all(frames, new Sizes(graph, measure), (index) => graph.modules[index].depth);
  return { links, loops, layout, laid, scene: sceneOf(graph, frames, laid, links) };
}

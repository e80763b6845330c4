// The graph as text: Graphviz, Mermaid, and a plain table. Pure.

import { bytes, count, flops, jointText, shapeText, short } from "./facts.js";
import { pillTexts } from "./sizes.js";

const quoted = (text) => `"${String(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;

/** What is written on something that is drawn, line by line. */
function labelOf(graph, item) {
  if (item.what === "rest") return ["more modules"];
  if (item.what === "pill") return Object.values(pillTexts(graph.ops[item.index])).filter(Boolean);
  if (item.what === "joint") return [jointText(graph.ops[item.index])];
  const module = graph.modules[item.index];
  const name = module.name || graph.titleOf(item.index);
  const facts = [module.params.unique > 0 ? `${short(module.params.unique)} params` : "", module.outputs.length ? shapeText(module.outputs[0], "×") : ""].filter(Boolean).join(" · ");
  return [module.count > 1 ? `${name} ×${module.count}` : name, module.cls, facts].filter(Boolean);
}

const inside = (scene, container) => scene.items.filter((item) => item.container === container);

/** For Graphviz: open modules are clusters, edges join the innermost things. */
export function dotOf(graph, scene, links) {
  const lines = ["digraph model {", "  rankdir=TB; compound=true; node [shape=box, style=rounded, fontname=Helvetica]; edge [fontname=Helvetica];"];
  const walk = (container, indent) => {
    for (const item of inside(scene, container)) {
      const label = quoted(labelOf(graph, item).join("\n"));
      if (item.what === "frame") {
        lines.push(`${indent}subgraph ${quoted(`cluster_${item.id}`)} {`, `${indent}  label=${label};`);
        walk(item.index, `${indent}  `);
        lines.push(`${indent}}`);
      } else {
        const form = { pill: ", shape=box, style=\"rounded,filled\", fillcolor=gray95", joint: ", shape=ellipse", rest: ", style=dashed" }[item.what] ?? "";
        lines.push(`${indent}${quoted(item.id)} [label=${label}${form}];`);
      }
    }
  };
  walk(-1, "  ");
  for (const link of links) {
    const more = [link.label && `label=${quoted(link.label)}`, { routing: "style=dashed", loop: "style=dotted, constraint=false", residual: "color=orange", skip: "color=darkgreen, style=dashed", cross: "color=blue, style=dashed" }[link.kind]].filter(Boolean);
    lines.push(`  ${quoted(link.from)} -> ${quoted(link.to)}${more.length ? ` [${more.join(", ")}]` : ""};`);
  }
  return `${lines.join("\n")}\n}\n`;
}

/** Mermaid has its own signs: what would end a text, or be read as HTML, is written as an entity. */
const entity = (text) => String(text).replace(/[#&<>"`;]/g, (char) => `#${char.codePointAt(0)};`);

export function mermaidOf(graph, scene, links) {
  const lines = ["flowchart TB"];
  const node = (id) => id.replace(/[^a-zA-Z0-9]/g, "_");
  const walk = (container, indent) => {
    for (const item of inside(scene, container)) {
      const label = `"${labelOf(graph, item).map(entity).join("<br/>")}"`;
      if (item.what === "frame") {
        lines.push(`${indent}subgraph ${node(item.id)} [${label}]`);
        walk(item.index, `${indent}  `);
        lines.push(`${indent}end`);
      } else {
        const [open, close] = { pill: ["([", "])"], joint: ["((", "))"] }[item.what] ?? ["[", "]"];
        lines.push(`${indent}${node(item.id)}${open}${label}${close}`);
      }
    }
  };
  walk(-1, "  ");
  for (const { from, to, kind, label } of links) {
    const arrow = { routing: "-.->", loop: "-.->", skip: "==>", cross: "==>" }[kind] ?? "-->";
    lines.push(`  ${node(from)} ${arrow}${label ? `|"${entity(label)}"|` : ""} ${node(to)}`);
  }
  return `${lines.join("\n")}\n`;
}

const COLUMNS = [
  ["module", false], ["class", false], ["times", true], ["output", false], ["parameters", true], ["trainable", true], ["bytes", true], ["FLOPs", true],
];

/** Every module in a row, numbers of one instance; what is folded says how often it stands there. */
export function tableOf(graph) {
  const rows = graph.modules.map((module) => [
    `${"  ".repeat(module.depth)}${module.name || graph.titleOf(module.index)}`, module.isGroup ? "(group)" : module.cls, module.count > 1 ? `×${module.count}` : "",
    module.outputs.length ? shapeText({ shape: module.outputs[0].shape }, "×") : "", module.sameAs ? `= ${module.sameAs}` : count(module.params.unique),
    module.params.unique ? count(module.params.trainable) : "", module.params.bytes ? bytes(module.params.bytes) : "", module.flops ? flops(module.flops) : "",
  ]);
  const head = COLUMNS.map(([name]) => name);
  const widths = head.map((name, c) => Math.max(name.length, ...rows.map((row) => row[c].length)));
  const line = (row) => row.map((cell, c) => (COLUMNS[c][1] ? cell.padStart(widths[c]) : cell.padEnd(widths[c]))).join("  ").trimEnd();
  const { totals } = graph.meta;
  const foot = [
    ["Parameters", totals.unique, count], ["Trainable", totals.trainable, count], ["Met by a token", totals.active, count], ["Bytes of parameters", totals.bytes, bytes],
    ["FLOPs", totals.flops, flops], ["Largest bytes of activations", totals.peak_bytes, bytes], ["KV cache a token", totals.kv_bytes_per_token, bytes],
  ].filter(([, value]) => value > 0).map(([name, value, show]) => `${name}: ${show(value)}`);
  const rule = "-".repeat(widths.reduce((sum, width) => sum + width + 2, -2));
  return `${[line(head), rule, ...rows.map(line), rule, ...foot].join("\n")}\n`;
}

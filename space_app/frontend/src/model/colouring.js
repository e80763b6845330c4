// What colours mean: kinds, sizes, dtypes, work. Every colour has a word or a number beside it. Pure.

import { flops, kindName, short } from "./facts.js";

export const COLOURINGS = [["kind", "kind"], ["params", "parameters"], ["dtype", "dtype"], ["flops", "FLOPs"]];

/** Hues that stay apart with red-green blindness where they stand side by side; grey is what holds other things. */
const KINDS = {
  embedding: ["#7b4fc9", "#a58af0"], attention: ["#0b76c5", "#58b1f5"], mlp: ["#0b8f78", "#3fc9ad"], moe: ["#b8326f", "#f07bab"], norm: ["#7d8798", "#97a3b6"],
  linear: ["#3c6e1f", "#8cc063"], conv: ["#c9600b", "#f6a04d"], head: ["#8f6a00", "#e0b53b"], act: ["#b89b00", "#ffe066"], pool: ["#1593b3", "#7fd8ef"],
  block: ["#4a5fb0", "#93a5ef"], container: ["#8c96a6", "#7f8a9c"], other: ["#a2abb8", "#6f7a8c"],
};
const SERIES = [["#0b76c5", "#58b1f5"], ["#c9600b", "#f6a04d"], ["#0b8f78", "#3fc9ad"], ["#7b4fc9", "#a58af0"], ["#8f6a00", "#e0b53b"], ["#b8326f", "#f07bab"], ["#7d8798", "#97a3b6"]];

export const EDGES = {
  tensor: { name: "tensor", light: "#7f8b9d", dark: "#8794a8", dash: [] },
  residual: { name: "residual", light: "#d0680a", dark: "#f6a04d", dash: [] },
  skip: { name: "skip", light: "#0b8f78", dark: "#3fc9ad", dash: [10, 4] },
  cross: { name: "cross attention", light: "#0b76c5", dark: "#58b1f5", dash: [14, 3, 2, 3] },
  routing: { name: "routing", light: "#b8326f", dark: "#f07bab", dash: [5, 4] },
  loop: { name: "loop", light: "#7b4fc9", dark: "#a58af0", dash: [2, 3] },
};

export const DIFFS = { added: ["#0b76c5", "#58b1f5", "+"], removed: ["#b8326f", "#f07bab", "−"], changed: ["#c9600b", "#f6a04d", "≠"], inside: ["#c9600b", "#f6a04d", "•"] };

const rgb = (hex) => [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));

/** A colour between two, as "#rrggbb". */
export function mix(from, to, share) {
  const [a, b] = [rgb(from), rgb(to)];
  return `#${a.map((value, i) => Math.round(value + (b[i] - value) * share).toString(16).padStart(2, "0")).join("")}`;
}

/** The shade of a size: by its logarithm, so that a thousandth is still told from nothing. */
export function shadeOf(value, largest) {
  if (value <= 0 || largest <= 0) return 0;
  return Math.max(0.08, 1 + Math.log10(value / largest) / 4);
}

/**
 * @param {"kind" | "params" | "dtype" | "flops"} by
 * @returns {{isStrong: boolean, of: (module: object) => {strip: string, fill: string}, legend: object}} isStrong: fills may be dark; legend: `entries` of colours and words, or a `ramp` between two words.
 */
export function colouring(graph, by, visible, { isDark, card, ramp }) {
  const pick = (pair) => pair[isDark ? 1 : 0];
  if (by === "params" || by === "flops") {
    const valueOf = (module) => (by === "params" ? module.params.unique : module.flops) * module.times;
    const largest = Math.max(...visible.filter((i) => i > 0 || visible.length === 1).map((i) => valueOf(graph.modules[i])), 0);
    const tint = (share) => mix(card, ramp, 0.62 * share);
    return {
      isStrong: true,
      of: (module) => {
        const share = Math.min(1, shadeOf(valueOf(module), largest));
        return { strip: mix(card, ramp, 0.3 + 0.7 * share), fill: tint(share) };
      },
      legend: { title: by === "params" ? "Parameters, log" : "FLOPs, log", ramp: [tint(0), tint(0.08), tint(1)], from: "none", to: largest ? (by === "params" ? short(largest) : flops(largest)) : "none" },
    };
  }
  const wordOf = by === "kind" ? (module) => module.kind : (module) => Object.entries(module.dtypes).sort((a, b) => b[1] - a[1])[0]?.[0] ?? "none";
  const colours = by === "kind" ? KINDS : coloursOfWords(graph, wordOf);
  const present = [...new Set(visible.map((i) => wordOf(graph.modules[i])))];
  const order = Object.keys(colours);
  present.sort((a, b) => order.indexOf(a) - order.indexOf(b));
  const colourOf = (word) => pick(colours[word] ?? KINDS.other);
  return {
    isStrong: false,
    of: (module) => {
      const colour = colourOf(wordOf(module));
      return { strip: colour, fill: mix(card, colour, isDark ? 0.16 : 0.1) };
    },
    legend: { title: by === "kind" ? "Kind" : "dtype, of most weights", entries: present.map((word) => ({ word: by === "kind" ? kindName(word) : word, colour: colourOf(word) })) },
  };
}

/** Colours of dtypes: of the whole model, so that opening a module changes none. */
function coloursOfWords(graph, wordOf) {
  const num = new Map();
  for (const module of graph.modules) num.set(wordOf(module), (num.get(wordOf(module)) ?? 0) + module.params.unique);
  const words = [...num.keys()].filter((word) => word !== "none").sort((a, b) => num.get(b) - num.get(a) || (a < b ? -1 : 1));
  return Object.fromEntries([...words.map((word, i) => [word, SERIES[Math.min(i, SERIES.length - 1)]]), ["none", KINDS.other]]);
}

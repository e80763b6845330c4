// Finding modules by path, name or class. Pure.

import { covers } from "./document.js";

export const MOST_HITS = 8;

/**
 * How well a module answers: 0 not at all, more is better.
 * @param {string} query in lower case.
 */
export function rank(module, query) {
  const path = module.path.toLowerCase();
  const last = path.slice(path.lastIndexOf(".") + 1);
  const cls = module.cls.toLowerCase();
  if (path === query) return 100;
  if (last === query || module.name.toLowerCase() === query) return 90;
  if (cls === query) return 80;
  if (last.startsWith(query)) return 70;
  if (path.endsWith(query)) return 65;
  if (cls.startsWith(query)) return 60;
  if (path.split(".").some((part) => part.startsWith(query))) return 50;
  if (path.includes(query)) return 40;
  if (cls.includes(query)) return 30;
  const words = query.split(/[\s./]+/).filter(Boolean);
  if (words.length > 1 && words.every((word) => path.includes(word) || cls.includes(word))) return 20;
  return 0;
}

/** The parts of a module's path, each with the other names that it stands for. */
function partsOf(graph, index) {
  const parts = graph.modules[index].path.split(".").map((text) => ({ text, stands: () => false }));
  for (const i of graph.chain(index)) {
    const { path, repeat, isGroup, count } = graph.modules[i];
    const at = path.split(".").length - 1;
    const range = isGroup && /\[(\d+):\d+\]$/.exec(path);
    if (range) {
      // A group spans what is in it, again and again.
      const own = Number(parts[at]?.text);
      const period = repeat?.period ?? 1;
      if (parts[at]) parts[at].stands = (text) => /^\d+$/.test(text) && Number(text) >= own && (Number(text) - own) % period === 0 && Number(text) < own + period * count;
    } else if (repeat && parts[at]) parts[at].stands = (text) => covers(graph.modules[i], text);
  }
  return parts;
}

/**
 * Whether a part of a path leads to a module, through any of a repeat: "layers.17.mlp", also "layers.17.m".
 * @returns {{path: string, isWhole: boolean} | null} the path of the real model that is meant.
 */
function meant(graph, index, words) {
  const parts = partsOf(graph, index);
  for (let from = 0; from + words.length <= parts.length; from++) {
    const isEnd = from + words.length === parts.length;
    const fits = words.every((word, i) => {
      const { text, stands } = parts[from + i];
      return text.toLowerCase() === word || stands(word) || (isEnd && i === words.length - 1 && i > 0 && text.toLowerCase().startsWith(word));
    });
    if (!fits || !isEnd) continue;
    const named = parts.map(({ text, stands }, i) => (i >= from && stands(words[i - from]) ? words[i - from] : text));
    return { path: named.join("."), isWhole: parts.at(-1).text.toLowerCase() === words.at(-1) || parts.at(-1).stands(words.at(-1)) };
  }
  return null;
}

/**
 * @param {import("./document.js").Graph} graph
 * @param {string} text
 * @returns {{index: number, note: string}[]} the best first; `note` where a module stands for the one that was asked for.
 */
export function search(graph, text) {
  const query = text.trim().toLowerCase();
  if (!query) return [];
  const words = query.split(".");
  const found = [];
  for (const module of graph.modules) {
    const through = /\d/.test(query) ? meant(graph, module.index, words) : null;
    const isOther = through !== null && through.path !== module.path;
    const score = Math.max(rank(module, query), through ? (through.isWhole ? 85 : 55) : 0);
    // Of equally good ones: what is further out, then what stands first.
    if (score > 0) found.push({ index: module.index, score: score - Math.min(9, module.depth) / 10, note: isOther ? `stands for ${through.path}` : "" });
  }
  found.sort((a, b) => b.score - a.score || a.index - b.index);
  return found.slice(0, MOST_HITS).map(({ index, note }) => ({ index, note }));
}

// Finding modules by path, name or class. Pure.

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

/**
 * @param {import("./document.js").Graph} graph
 * @param {string} text
 * @returns {{index: number, note: string}[]} the best first; `note` where a module stands for the one that was asked for.
 */
export function search(graph, text) {
  const query = text.trim().toLowerCase();
  if (!query) return [];
  const found = [];
  for (const module of graph.modules) {
    const score = rank(module, query);
    // Of equally good ones: what is further out, then what stands first.
    if (score > 0) found.push({ index: module.index, score: score - Math.min(9, module.depth) / 10, note: "" });
  }
  found.sort((a, b) => b.score - a.score || a.index - b.index);
  const exact = /\d/.test(query) ? graph.resolve(text.trim()) : -1;
  if (exact >= 0 && graph.modules[exact].path !== text.trim()) {
    const others = found.filter(({ index }) => index !== exact);
    return [{ index: exact, note: `stands for ${text.trim()}` }, ...others].slice(0, MOST_HITS).map(({ index, note }) => ({ index, note }));
  }
  return found.slice(0, MOST_HITS).map(({ index, note }) => ({ index, note }));
}

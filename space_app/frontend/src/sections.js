// Which charts stand where: sections by key prefix, and the place of each card. Pure, so that 5,000 keys are a test.

const MAX_LONELY = 4;

/**
 * Groups keys by their prefix up to the last "/".
 *
 * Where a folder has more than four sub-folders of a single key each (one per layer), they become one section.
 *
 * @param {string[]} keys
 * @param {Set<string>} axes keys that other metrics are drawn over: they stand last in their section.
 * @returns {{name: string, keys: string[]}[]} the section without a prefix first, then training, validation, tests, then by name.
 */
export function sections(keys, axes = new Set()) {
  const groups = new Map();
  for (const key of keys) push(groups, prefix(key), key);
  for (;;) {
    const lonely = new Map();
    for (const [name, members] of groups) if (members.length === 1 && name.includes("/")) push(lonely, prefix(name), name);
    const merges = [...lonely].filter(([, children]) => children.length > MAX_LONELY);
    if (merges.length === 0) break;
    for (const [parent, children] of merges) {
      for (const child of children) {
        for (const key of groups.get(child)) push(groups, parent, key);
        groups.delete(child);
      }
    }
  }
  const order = new Intl.Collator("en", { numeric: true }).compare;
  return [...groups]
    .map(([name, members]) => ({ name, keys: members.sort((a, b) => Number(axes.has(a)) - Number(axes.has(b)) || order(a, b)) }))
    .sort((a, b) => rank(a.name) - rank(b.name) || order(a.name, b.name));
}

const FIRST = [/^$/, /^train/i, /^(val|dev)/i, /^eval/i, /^test/i];

/** What one looks at first stands first: no prefix, training, validation, tests; then the rest by name. */
const rank = (name) => (FIRST.findIndex((pattern) => pattern.test(name)) + 1 || FIRST.length + 1);

const prefix = (key) => key.slice(0, Math.max(0, key.lastIndexOf("/")));

function push(map, key, item) {
  const list = map.get(key);
  if (list) list.push(item);
  else map.set(key, [item]);
}

/**
 * The place of every header and card.
 *
 * The cards of a section are as wide as its rows allow: few cards grow to fill the width, up to a limit, and four are two
 * rows of two rather than three and a gap.
 *
 * @param {{id: string, name: string, keys: string[]}[]} list sections in order; `id` is unique.
 * @param {Set<string>} closed ids of the sections that show only their header.
 * @param {number} width of the whole, in CSS pixels.
 * @param {{cardWidth: number, mostWidth: number, cardHeight: number, headHeight: number, gap: number}} size cardWidth is the least.
 * @returns {{items: {type: string, id: string, key?: string, section: object, top: number, left: number,
 *   width: number, height: number}[], height: number, columns: number}} items by rising top.
 */
export function place(list, closed, width, { cardWidth, mostWidth, cardHeight, headHeight, gap }) {
  const most = Math.max(1, Math.floor((width + gap) / (cardWidth + gap)));
  const items = [];
  let top = 0;
  for (const section of list) {
    items.push({ type: "head", id: `h:${section.id}`, section, top, left: 0, width, height: headHeight });
    top += headHeight;
    if (closed.has(section.id)) continue;
    const rows = Math.ceil(section.keys.length / most);
    const columns = Math.max(1, Math.ceil(section.keys.length / rows));
    const wide = Math.max(120, Math.min(mostWidth, Math.floor((width - gap * (columns - 1)) / columns)));
    section.keys.forEach((key, i) => {
      const row = Math.floor(i / columns);
      const left = (i % columns) * (wide + gap);
      items.push({
        type: "card", id: `c:${section.id}:${key}`, key, section, top: top + row * (cardHeight + gap), left, width: wide,
        height: cardHeight,
      });
    });
    top += rows * (cardHeight + gap);
  }
  return { items, height: top, columns: most };
}

/**
 * The items that touch a range of heights.
 * @param {{top: number, height: number}[]} items by rising top.
 */
export function between(items, from, to) {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    // Heights differ, so look one tall card back from the first that starts inside.
    if (items[middle].top < from - 2000) low = middle + 1;
    else high = middle;
  }
  const found = [];
  for (let i = low; i < items.length && items[i].top < to; i++) if (items[i].top + items[i].height > from) found.push(items[i]);
  return found;
}

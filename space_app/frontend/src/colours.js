// Which colour and dash a run has: the same for the same run on every tab, whatever arrives later.

/** Ten colours, told apart on a light page, also with red-green blindness. */
export const PALETTE = [
  "#017ebd", "#d8680a", "#60986a", "#6a3da8", "#e2b215", "#b03566", "#14cbff", "#7a5201", "#988cff", "#47d78b",
];

/** The same hues for a dark page. */
export const DARK_PALETTE = [
  "#0794ae", "#f68f23", "#8cb77f", "#7c66d5", "#f1d93f", "#cc5077", "#93d2ff", "#9c7505", "#cc8efc", "#4ff9ba",
];

/** Dash patterns in CSS pixels: solid for the first ten runs, then one pattern for each further ten. */
export const DASHES = [[], [6, 3], [2, 2], [9, 3, 2, 3]];

/** FNV-1a over the characters: small, and the same everywhere. */
export function hash(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return value;
}

/**
 * Gives each run a slot; slot % 10 is its colour, floor(slot / 10) its dash.
 *
 * A run prefers the colour of its id's hash and takes the next free one among its ten; only older runs can be in its
 * way, so a new run never changes the colour of one that is already there.
 *
 * @param {{id: string, created_us: number}[]} runs in any order.
 * @param {Map<string, number>} known slots given before; they are kept.
 * @returns {Map<string, number>} known, with every run's slot added.
 */
export function assignSlots(runs, known) {
  const taken = new Set(known.values());
  const fresh = runs.filter((run) => !known.has(run.id));
  fresh.sort((a, b) => a.created_us - b.created_us || (a.id < b.id ? -1 : 1));
  let block = 0;
  const isFull = (b) => {
    for (let i = 0; i < PALETTE.length; i++) if (!taken.has(b * PALETTE.length + i)) return false;
    return true;
  };
  for (const run of fresh) {
    while (isFull(block)) block++;
    let slot = hash(run.id) % PALETTE.length;
    while (taken.has(block * PALETTE.length + slot)) slot = (slot + 1) % PALETTE.length;
    known.set(run.id, block * PALETTE.length + slot);
    taken.add(block * PALETTE.length + slot);
  }
  return known;
}

/** The background of a run's swatch: its colour, in stripes where its line is dashed. */
export const swatch = ({ colour, dash }) => (dash.length ? `repeating-linear-gradient(90deg, ${colour} 0 4px, transparent 4px 6px)` : colour);

/** Colour and dash of a slot. */
export function styleOf(slot, isDark = false) {
  const block = Math.floor(slot / PALETTE.length);
  return { colour: (isDark ? DARK_PALETTE : PALETTE)[slot % PALETTE.length], dash: DASHES[block % DASHES.length] };
}

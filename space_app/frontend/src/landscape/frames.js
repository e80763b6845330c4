// Landscapes in the order of their steps: which there are, which one is shown, which one is next. Pure.

/**
 * @typedef {object} Frame one logged landscape.
 * @property {string} id
 * @property {string} run
 * @property {string} name
 * @property {number} step
 * @property {string} media path of its file.
 * @property {object} payload as docs/design/landscape.md has it.
 *
 * @typedef {object} Series the frames of one name in one run, by step.
 * @property {string} id
 * @property {string} run
 * @property {string} name
 * @property {Frame[]} frames
 */

export const seriesId = (run, name) => JSON.stringify([run, name]);

/**
 * The landscapes of some rows. Where a step was logged twice, the later one is shown: a resumed run repeats steps.
 * @param {object[]} rows
 * @param {string[]} runs in the order in which they are listed.
 * @returns {Series[]} by run, then by name.
 */
export function seriesOf(rows, runs) {
  const found = new Map();
  for (const row of [...rows].sort((a, b) => (a.attempt ?? 0) - (b.attempt ?? 0) || (a.time_us ?? 0) - (b.time_us ?? 0))) {
    if (!row.media || !row.payload) continue;
    const id = seriesId(row.run, row.key);
    if (!found.has(id)) found.set(id, { id, run: row.run, name: row.key, steps: new Map() });
    const step = row.step ?? 0;
    found.get(id).steps.set(step, { id: `${row.run} ${row.media}`, run: row.run, name: row.key, step, media: row.media, payload: row.payload });
  }
  const place = new Map(runs.map((run, i) => [run, i]));
  return [...found.values()]
    .map(({ steps, ...series }) => ({ ...series, frames: [...steps.values()].sort((a, b) => a.step - b.step) }))
    .sort((a, b) => (place.get(a.run) ?? Infinity) - (place.get(b.run) ?? Infinity) || ORDER.compare(a.name, b.name));
}

const ORDER = new Intl.Collator("en", { numeric: true });

/**
 * Which frame a step asks for: the last one at or before it, so that a link to a step that is gone shows its neighbour.
 * @param {Frame[]} frames
 * @param {number | null} step null is the newest.
 */
export function indexOf(frames, step) {
  if (step === null || frames.length === 0) return frames.length - 1;
  let found = 0;
  for (let i = 0; i < frames.length && frames[i].step <= step; i++) found = i;
  return found;
}

/** The step to remember for a frame: null at the end, where newer frames are to be shown as they come. */
export const stepOf = (frames, index) => (index >= frames.length - 1 ? null : frames[index].step);

/**
 * The frame after this one in a replay.
 * @returns {number} -1 where the replay is over.
 */
export function following(index, num, isLoop) {
  if (index + 1 < num) return index + 1;
  return isLoop && num > 1 ? 0 : -1;
}

/** What to fetch once a frame is shown: those that come next, then the one before. */
export function neighbours(index, num, isPlaying, isLoop) {
  const wanted = [];
  let next = index;
  for (let i = 0; i < (isPlaying ? 4 : 1); i++) {
    next = following(next, num, isPlaying && isLoop);
    if (next < 0 || next === index) break;
    wanted.push(next);
  }
  if (!isPlaying && index > 0) wanted.push(index - 1);
  return wanted;
}

/** When frames of a replay are due. A frame that comes late moves the later ones: none is skipped, none hurried. */
export class Clock {
  /** @param {number} perSecond */
  constructor(perSecond, now) {
    this.interval = 1000 / perSecond;
    this.dueAt = now + this.interval;
  }

  isDue(now) {
    return now >= this.dueAt - 1;
  }

  shown(now) {
    this.dueAt = Math.max(this.dueAt + this.interval, now + this.interval / 2);
  }

  pace(perSecond, now) {
    this.interval = 1000 / perSecond;
    this.dueAt = Math.min(this.dueAt, now + this.interval);
  }
}

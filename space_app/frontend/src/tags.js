// Tags of several runs as one text: what is typed changes what they share, and leaves alone what only some have.

/** Splits what was typed into tags: by commas, without doubles. */
export const parseTags = (text) => [...new Set(text.split(",").map((tag) => tag.trim()).filter(Boolean))];

/** The tags that all of the runs have, in the order of the first one. */
export function sharedTags(runs) {
  const [first, ...rest] = runs.map((run) => run.tags ?? []);
  return (first ?? []).filter((tag) => rest.every((tags) => tags.includes(tag)));
}

/**
 * What to send so that the runs share other tags than before.
 * @param {{id: string, tags?: string[]}[]} runs
 * @param {string[]} wanted the tags that all of them are to have, instead of those that all of them have now.
 * @returns {{tags: string[], runs: string[]}[]} one entry for each set of tags, with the ids of the runs that get it; runs
 * that stay as they are have none.
 */
export function retagged(runs, wanted) {
  const gone = new Set(sharedTags(runs).filter((tag) => !wanted.includes(tag)));
  const sets = new Map();
  for (const run of runs) {
    const before = run.tags ?? [];
    const own = before.filter((tag) => !gone.has(tag) && !wanted.includes(tag));
    const tags = runs.length === 1 ? wanted : [...wanted, ...own];
    const text = JSON.stringify(tags);
    if (text === JSON.stringify(before)) continue;
    if (!sets.has(text)) sets.set(text, { tags, runs: [] });
    sets.get(text).runs.push(run.id);
  }
  return [...sets.values()];
}

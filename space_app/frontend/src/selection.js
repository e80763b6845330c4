// Which runs are drawn: a small value that fits into a link and keeps its meaning when new runs arrive.

/** Runs that are drawn before the reader chooses. */
export const DEFAULT_RUNS = 30;

/**
 * @typedef {{mode: "auto" | "only" | "except", ids: Set<string>}} Selection
 * auto: the newest 30; only: these; except: all but these, also those that start later.
 */

/** @returns {Selection} */
export const AUTO = Object.freeze({ mode: "auto", ids: new Set() });

/**
 * Ids of the selected runs.
 * @param {Selection} selection
 * @param {{id: string}[]} runs newest first.
 */
export function selected(selection, runs) {
  if (selection.mode === "only") return runs.filter((run) => selection.ids.has(run.id)).map((run) => run.id);
  if (selection.mode === "except") return runs.filter((run) => !selection.ids.has(run.id)).map((run) => run.id);
  return runs.slice(0, DEFAULT_RUNS).map((run) => run.id);
}

/**
 * The selection after some runs were switched on or off.
 * @returns {Selection} "except" while it follows new runs, "only" once the reader has picked from many.
 */
export function toggled(selection, runs, ids, isOn) {
  const now = new Set(selected(selection, runs));
  for (const id of ids) isOn ? now.add(id) : now.delete(id);
  const follows = selection.mode === "except" || (selection.mode === "auto" && runs.length <= DEFAULT_RUNS);
  if (now.size === runs.length && runs.length <= DEFAULT_RUNS) return AUTO;
  if (follows && now.size > 0) return { mode: "except", ids: new Set(runs.map((run) => run.id).filter((id) => !now.has(id))) };
  if (now.size === runs.length) return { mode: "except", ids: new Set() };
  return { mode: "only", ids: now };
}

/** @param {Selection} selection */
export function formatSelection({ mode, ids }) {
  if (mode === "auto") return "";
  const list = [...ids].map(encodeURIComponent).join(",");
  return mode === "only" ? list || "none" : `all${list ? `,-${[...ids].map(encodeURIComponent).join(",-")}` : ""}`;
}

/** @returns {Selection} */
export function parseSelection(text) {
  if (!text) return AUTO;
  if (text === "none") return { mode: "only", ids: new Set() };
  const parts = text.split(",").filter(Boolean);
  const decode = (part) => decodeURIComponent(part);
  if (parts[0] === "all") return { mode: "except", ids: new Set(parts.slice(1).map((part) => decode(part.replace(/^-/, "")))) };
  return { mode: "only", ids: new Set(parts.map(decode)) };
}

// Graphs that are at hand: each file is read once, the most recently shown ones are kept.

import { TL } from "../core.js";
import { Graph } from "./document.js";

const MOST_KEPT = 12;
const RETRY_MS = 4000;

export class Documents {
  /** @param {() => void} onChange told after each that came, or did not. */
  constructor(onChange) {
    this.onChange = onChange;
    this.known = new Map();
  }

  /** @returns {{graph?: Graph, problem?: string} | null} null while it is on its way. */
  get(frame) {
    const entry = this.known.get(frame.id);
    if (!entry) {
      this.known.set(frame.id, { isOnItsWay: true });
      void this.load(frame);
      return null;
    }
    this.known.delete(frame.id);
    this.known.set(frame.id, entry);
    return entry.isOnItsWay ? null : entry;
  }

  async load(frame) {
    let entry;
    try {
      const file = await TL.source.media({ project: TL.store.project, run: frame.run, path: frame.media });
      entry = { graph: new Graph(JSON.parse(new TextDecoder().decode(file))) };
    } catch (error) {
      entry = { problem: error instanceof SyntaxError ? "its file is damaged." : error.message };
    }
    this.known.set(frame.id, entry);
    if (entry.problem) setTimeout(() => this.forget(frame, entry), RETRY_MS);
    for (const id of this.known.keys()) {
      if (this.known.size <= MOST_KEPT) break;
      this.known.delete(id);
    }
    this.onChange();
  }

  /** A file may still come: it is asked for again. */
  forget(frame, entry) {
    if (this.known.get(frame.id) !== entry) return;
    this.known.delete(frame.id);
    this.onChange();
  }
}

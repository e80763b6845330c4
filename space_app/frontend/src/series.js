// The points that the page holds of one chart: replaced or extended by answers, kept in order of x.

const KEEP_FACTOR = 3;

/** One line: the points of one run (and writer) under one key. */
export class Series {
  constructor(meta, x, y) {
    this.replace(meta, x, y);
  }

  replace(meta, x, y) {
    this.run = meta.run;
    this.key = meta.key;
    this.lane = meta.lane ?? 0;
    this.x = x;
    this.y = y;
    this.length = x.length;
    this.describe(meta);
  }

  /** Counts of raw points; they come with every change. */
  describe(meta) {
    this.lanes = meta.lanes ?? 1;
    this.numPoints = meta.num_points;
    this.numNonFinite = meta.num_non_finite;
    this.isExact = meta.is_exact;
  }

  append(meta, x, y) {
    const length = this.length + x.length;
    if (length > this.x.length || this.x.buffer === x.buffer) {
      const room = Math.max(length, Math.ceil(length * 1.5));
      this.x = grown(this.x, this.length, room);
      this.y = grown(this.y, this.length, room);
    }
    this.x.set(x, this.length);
    this.y.set(y, this.length);
    const isSorted = this.length === 0 || x.length === 0 || x[0] >= this.x[this.length - 1];
    this.length = length;
    if (!isSorted || !rises(x)) this.sort();
    this.describe(meta);
  }

  /** Puts the points in order of x, equal ones in the order they came: steps may go back. */
  sort() {
    const order = Array.from({ length: this.length }, (_, i) => i).sort((a, b) => this.x[a] - this.x[b] || a - b);
    this.x = Float64Array.from(order, (i) => this.x[i]);
    this.y = Float64Array.from(order, (i) => this.y[i]);
  }
}

function grown(array, length, room) {
  const next = new Float64Array(room);
  next.set(array.subarray(0, length));
  return next;
}

function rises(x) {
  for (let i = 1; i < x.length; i++) if (!(x[i] >= x[i - 1])) return false;
  return true;
}

/** The lines of one chart for one question (axis, runs, detail, window), and how far they are known. */
export class Layer {
  constructor() {
    this.signature = null;
    this.since = 0;
    this.lines = new Map();
    this.isLoaded = false;
  }

  /** The request's part for a question; a new question starts from nothing, but the old lines stay until it is answered. */
  ask(signature) {
    if (signature !== this.signature) {
      this.signature = signature;
      this.since = 0;
    }
    return this.since;
  }

  /**
   * Takes the answer to a question.
   * @param {string} signature the question that was asked.
   * @param {boolean} isWhole the answer holds every line, not only the changed ones.
   * @param {{meta: object, x: Float64Array, y: Float64Array}[]} parts
   * @param {number} cursor how far the lines are known with it.
   * @param {number} budget points per line that were asked for.
   * @returns {boolean} whether anything changed.
   */
  apply(signature, isWhole, parts, cursor, budget) {
    if (signature !== this.signature) return false;
    const isFirst = !this.isLoaded;
    if (isWhole) {
      const kept = this.lines;
      this.lines = new Map();
      for (const { meta, x, y } of parts) {
        const id = `${meta.run} ${meta.lane ?? 0}`;
        const line = kept.get(id);
        if (line) line.replace(meta, x, y);
        this.lines.set(id, line ?? new Series(meta, x, y));
      }
    } else {
      for (const { meta, x, y } of parts) {
        const id = `${meta.run} ${meta.lane ?? 0}`;
        const line = this.lines.get(id);
        if (!line) this.lines.set(id, new Series(meta, x, y));
        else if (meta.mode === "append") line.append(meta, x, y);
        else line.replace(meta, x, y);
      }
    }
    this.since = cursor;
    this.isLoaded = true;
    // Points are appended as they are logged; once there are many more than the chart needs, ask for the short form.
    for (const line of this.lines.values()) if (line.length > KEEP_FACTOR * budget) this.since = 0;
    return isWhole || isFirst || parts.length > 0;
  }
}

// Grids that are at hand: read one at a time, the most recently seen ones kept.

const MOST_BYTES = 24 << 20;
const RETRY_MS = 4000;

/** What a grid takes: 8 bytes for a loss, 2 for what it is. */
const sizeOf = (grid) => grid.rows * grid.cols * 10 + 16 * (grid.rows + grid.cols);

export class FrameCache {
  /**
   * @param {object} parts
   * @param {(frame: object) => Promise<import("./grid.js").Grid>} parts.load
   * @param {() => void} parts.onChange told after each frame that came, or did not.
   * @param {number} parts.mostBytes
   * @param {() => number} parts.now
   * @param {(act: () => void, ms: number) => void} parts.later
   */
  constructor({ load, onChange, mostBytes = MOST_BYTES, now = () => performance.now(), later = setTimeout.bind(globalThis) }) {
    Object.assign(this, { load, onChange, mostBytes, now, later });
    this.grids = new Map();
    this.errors = new Map();
    this.wishes = [];
    this.loading = null;
    this.bytes = 0;
  }

  /** The grid of a frame, or null where it is not at hand. */
  get(frame) {
    const grid = this.grids.get(frame.id) ?? null;
    if (grid) {
      this.grids.delete(frame.id);
      this.grids.set(frame.id, grid);
    }
    return grid;
  }

  has(frame) {
    return this.grids.has(frame.id);
  }

  /** Why a frame could not be read, "" where nothing is known against it. */
  problem(frame) {
    return this.errors.get(frame.id)?.message ?? "";
  }

  /** Says which frames are wanted, the most urgent first; what was wanted before and not begun is forgotten. */
  want(frames) {
    this.wishes = frames;
    void this.next();
  }

  async next() {
    if (this.loading) return;
    const frame = this.wishes.find((wish) => !this.grids.has(wish.id) && !(this.errors.get(wish.id)?.until > this.now()));
    if (!frame) return;
    this.loading = frame;
    try {
      this.keep(frame, await this.load(frame));
      this.errors.delete(frame.id);
    } catch (error) {
      this.errors.set(frame.id, { message: error.message, until: this.now() + RETRY_MS });
      this.later(() => void this.next(), RETRY_MS + 1);
    }
    this.loading = null;
    this.onChange(frame);
    void this.next();
  }

  keep(frame, grid) {
    this.grids.set(frame.id, grid);
    this.bytes += sizeOf(grid);
    const isWanted = new Set(this.wishes.map((wish) => wish.id));
    for (const [id, old] of this.grids) {
      if (this.bytes <= this.mostBytes) break;
      if (id === frame.id || isWanted.has(id)) continue;
      this.grids.delete(id);
      this.bytes -= sizeOf(old);
    }
  }
}

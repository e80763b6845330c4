// One question at a time to /t/poll, for everything that is visible; waits, backs off and recovers by itself.

const MAX_BACKOFF_MS = 30_000;

/** Time to the next poll: the rhythm while all is well, doubled with each failure up to half a minute. */
export const nextDelay = (rhythmMs, failures) => (failures === 0 ? rhythmMs : Math.min(MAX_BACKOFF_MS, rhythmMs * 2 ** (failures - 1)));

/** How often a page of this host asks. */
export const rhythm = (hostname) => (hostname.endsWith(".hf.space") ? 2000 : 1000);

export class Poller {
  /**
   * @param {object} parts
   * @param {(signal: AbortSignal) => Promise<void>} parts.ask one round; throws where the server did not answer.
   * @param {(failures: number) => void} parts.onHealth told after each round how many failed in a row.
   * @param {number} parts.rhythmMs Infinity where nothing changes: then only a poke asks.
   */
  constructor({ ask, onHealth, rhythmMs }) {
    this.ask = ask;
    this.onHealth = onHealth;
    this.rhythmMs = rhythmMs;
    this.failures = 0;
    this.rounds = 0;
    this.timer = null;
    this.isAsking = false;
    this.isPoked = false;
    this.isPaused = false;
    this.abort = null;
  }

  /** Asks now, or right after the question under way. */
  poke() {
    if (this.isPaused) return;
    if (this.isAsking) {
      this.isPoked = true;
      return;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.round(), 0);
  }

  pause(isPaused) {
    if (isPaused === this.isPaused) return;
    this.isPaused = isPaused;
    if (isPaused) clearTimeout(this.timer);
    else this.poke();
  }

  /** Drops the question under way: its answer would be about something else. */
  drop() {
    this.abort?.abort();
  }

  async round() {
    this.isAsking = true;
    this.isPoked = false;
    this.abort = new AbortController();
    try {
      await this.ask(this.abort.signal);
      this.failures = 0;
    } catch (error) {
      if (this.abort.signal.aborted) this.isPoked = true;
      else {
        this.failures++;
        this.lastError = error;
      }
    }
    this.isAsking = false;
    this.rounds++;
    this.onHealth(this.failures);
    if (this.isPaused) return;
    const delay = this.isPoked && this.failures === 0 ? 0 : nextDelay(this.rhythmMs, this.failures);
    if (delay < Infinity) this.timer = setTimeout(() => this.round(), delay);
  }
}

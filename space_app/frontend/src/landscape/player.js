// The steps of one landscape: a slider with the real step numbers, and a replay.

import { button, h, icon, setText } from "../dom.js";
import { count } from "../format.js";
import { Clock, following, stepOf } from "./frames.js";
import { SPEEDS } from "./settings.js";

export class Player {
  /**
   * @param {object} parts
   * @param {(step: number | null) => void} parts.onStep told which step is wanted; null is the newest.
   * @param {(patch: object) => void} parts.onChange told of another speed.
   * @param {(frame: object) => boolean} parts.isReady whether a frame is at hand.
   * @param {() => void} parts.onState told when a replay begins or ends.
   */
  constructor({ onStep, onChange, isReady, onState }) {
    Object.assign(this, { onStep, onChange, isReady, onState });
    this.frames = [];
    this.index = -1;
    this.clock = null;
    this.play = button("Play", { iconName: "play", onClick: () => this.toggle(), data: { role: "play" } });
    this.slider = h("input.tl-slider", { type: "range", min: 0, max: 0, step: 1, "aria-label": "Step", on: { input: () => this.moved(Number(this.slider.value)) } });
    this.output = h("output.tl-land-step", { "aria-live": "off" });
    this.speed = h("select.tl-input.tl-land-speed", { "aria-label": "Frames per second", title: "Frames per second", on: { change: () => this.onChange({ speed: Number(this.speed.value) }) } },
      ...SPEEDS.map((speed) => h("option", { value: speed }, `${speed}/s`)));
    this.loop = button("Start again at the end", { iconName: "loop", onClick: () => this.onChange({ loop: !this.isLoop }), data: { role: "loop" } });
    this.root = h("div.tl-land-player", { role: "group", "aria-label": "Steps" }, this.play, this.slider, this.output, this.speed, this.loop);
  }

  get isPlaying() {
    return this.clock !== null;
  }

  /** Takes the frames, which of them is shown, and whether it may be chosen here. */
  set(frames, index, settings, canPlay) {
    this.frames = frames;
    this.index = index;
    this.isLoop = settings.loop;
    if (this.clock && settings.speed !== this.perSecond) this.clock.pace(settings.speed, performance.now());
    this.perSecond = settings.speed;
    const isAlone = frames.length < 2 || !canPlay;
    for (const part of [this.play, this.slider, this.speed, this.loop]) part.hidden = isAlone;
    this.slider.max = String(Math.max(0, frames.length - 1));
    if (Number(this.slider.value) !== index) this.slider.value = String(index);
    const step = frames[index]?.step;
    const text = step === undefined ? "" : `step ${count(step)}`;
    setText(this.output, isAlone ? text : `${text} · ${count(index + 1)} of ${count(frames.length)}`);
    this.slider.setAttribute("aria-valuetext", `${text}, ${index + 1} of ${frames.length}`);
    if (Number(this.speed.value) !== settings.speed) this.speed.value = String(settings.speed);
    this.loop.setAttribute("aria-pressed", String(settings.loop));
  }

  moved(index) {
    this.pause();
    this.onStep(stepOf(this.frames, index));
  }

  /** One frame on or back, as far as there are any. */
  move(by) {
    const index = Math.min(this.frames.length - 1, Math.max(0, this.index + by));
    if (index !== this.index) this.moved(index);
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.start();
  }

  start() {
    if (this.frames.length < 2) return;
    this.clock = new Clock(this.perSecond, performance.now());
    // From the end, a replay shows all.
    if (this.index === this.frames.length - 1) this.onStep(this.frames[0].step);
    this.drawState();
    const tick = () => {
      if (!this.clock) return;
      this.tick(performance.now());
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  tick(now) {
    if (!this.clock.isDue(now)) return;
    const next = following(this.index, this.frames.length, this.isLoop);
    if (next < 0) {
      this.pause();
      this.onStep(null);
    } else if (this.isReady(this.frames[next])) {
      this.clock.shown(now);
      this.onStep(this.frames[next].step);
    }
  }

  pause() {
    if (!this.clock) return;
    this.clock = null;
    this.drawState();
  }

  drawState() {
    const label = this.isPlaying ? "Pause" : "Play";
    this.play.replaceChildren(icon(label.toLowerCase()));
    this.play.title = label;
    this.play.setAttribute("aria-label", label);
    this.onState();
  }
}

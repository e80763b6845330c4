// Exponential smoothing as a debiased average: exact for constants, blind to what is not a finite number.

export const MAX_SMOOTHING = 0.99;

/**
 * The debiased exponential moving average of the finite values.
 *
 * Each point's weight is `weight` to the power of how many finite points came after it, over the sum of all weights.
 * Written as a running mean with a growing sum of weights, so a constant stays that constant to the last bit.
 *
 * @param {ArrayLike<number>} values [N]
 * @param {number} weight in 0..0.99; 0 returns the values.
 * @param {ArrayLike<number>} before values ahead of the first, so that a zoomed window starts where the whole curve is.
 * @returns {Float64Array} [N] NaN where the value is not finite.
 */
export function smooth(values, weight, before = []) {
  const w = Math.min(Math.max(weight, 0), MAX_SMOOTHING);
  const smoothed = new Float64Array(values.length);
  let mean = 0;
  let sum = 0;
  for (let i = 0; i < before.length; i++) {
    if (!Number.isFinite(before[i])) continue;
    sum = w * sum + 1;
    mean += (before[i] - mean) / sum;
  }
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (!Number.isFinite(value)) {
      smoothed[i] = NaN;
      continue;
    }
    sum = w * sum + 1;
    // The first point replaces the mean: subtracting it from 0 and adding it again may round.
    mean = sum === 1 ? value : mean + (value - mean) / sum;
    smoothed[i] = mean;
  }
  return smoothed;
}

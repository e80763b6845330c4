// Fewer points, the same picture: the rules of trackio_like/maths/decimate.py, which a frozen page applies by itself.

const MAX_GRID = 2 ** 50;
const ROUNDED_UP = 1 + 2 ** -50;
const [GRID_LEAST, GRID_MOST] = [1e-300, 1e300];

/**
 * The inner edges of the buckets of a range of x, on multiples of a width with few significant bits.
 * @param {number} first smallest x, finite.
 * @param {number} last largest x, finite.
 * @param {number} numBuckets how many are wanted at most.
 * @returns {number[]} rising; a bucket holds its left edge.
 */
export function bucketEdges(first, last, numBuckets) {
  if (!(first < last) || numBuckets < 2) return [];
  const raw = ((last - first) / (numBuckets - 1)) * ROUNDED_UP;
  if (raw > GRID_LEAST && raw < GRID_MOST) {
    const width = roundedUp(raw);
    if (Math.max(Math.abs(first), Math.abs(last)) / width < MAX_GRID) {
      const from = Math.floor(first / width) + 1;
      const num = Math.floor(last / width) + 1 - from;
      if (num < numBuckets) return Array.from({ length: Math.max(0, num) }, (_, i) => (from + i) * width);
    }
  }
  // Weighted ends, because their difference may be beyond float64.
  const edges = [];
  for (let i = 1; i < numBuckets; i++) {
    const weight = i / numBuckets;
    const edge = first * (1 - weight) + last * weight;
    if (edge > first && edge <= last) edges.push(edge);
  }
  return [...new Set(edges.sort((a, b) => a - b))];
}

/** The next number from this one on, 1 of whose 8 leading parts it is: `ceil(mantissa * 8) / 8` with its exponent. */
function roundedUp(value) {
  let exponent = Math.floor(Math.log2(value)) + 1;
  // log2 rounds: the mantissa has to lie in [0.5, 1). Each step is exact, for it only moves the exponent.
  let mantissa = scaled(value, -exponent);
  if (mantissa >= 1) [mantissa, exponent] = [mantissa / 2, exponent + 1];
  else if (mantissa < 0.5) [mantissa, exponent] = [mantissa * 2, exponent - 1];
  return scaled(Math.ceil(mantissa * 8) / 8, exponent);
}

/** `value * 2 ** exponent`, in two steps where one power alone would leave float64. */
const scaled = (value, exponent) => value * 2 ** Math.trunc(exponent / 2) * 2 ** (exponent - Math.trunc(exponent / 2));

/**
 * Which points to draw: the first smallest and first largest finite y of each bucket, its first one that is not finite,
 * and the two ends.
 * @param {ArrayLike<number>} x rising, finite.
 * @param {ArrayLike<number>} y
 * @param {number} numBuckets
 * @param {number} numPoints how many there are in all, where x and y are a selection that keeps what this would keep.
 * @returns {number[]} rising indices.
 */
export function decimate(x, y, numBuckets, numPoints = x.length) {
  const length = x.length;
  if (numPoints <= 2 * numBuckets) return Array.from({ length }, (_, i) => i);
  const edges = bucketEdges(x[0], x[length - 1], numBuckets);
  const kept = new Set([0, length - 1]);
  for (let bucket = 0, at = 0; bucket <= edges.length; bucket++) {
    const end = bucket < edges.length ? lowerBound(x, edges[bucket], at) : length;
    pick(y, at, end, kept);
    at = end;
  }
  return [...kept].sort((a, b) => a - b);
}

function pick(y, start, end, kept) {
  let [low, high, odd] = [-1, -1, -1];
  for (let i = start; i < end; i++) {
    const value = y[i];
    if (!Number.isFinite(value)) {
      if (odd < 0) odd = i;
      continue;
    }
    if (low < 0 || value < y[low]) low = i;
    if (high < 0 || value > y[high]) high = i;
  }
  for (const i of [low, high, odd]) if (i >= 0) kept.add(i);
}

/** Index of the first item from `start` on that is not below a value. */
export function lowerBound(items, value, start = 0) {
  let [a, b] = [start, items.length];
  while (a < b) {
    const middle = (a + b) >> 1;
    if (items[middle] < value) a = middle + 1;
    else b = middle;
  }
  return a;
}

/** Index of the first item that is above a value. */
export function upperBound(items, value) {
  let [a, b] = [0, items.length];
  while (a < b) {
    const middle = (a + b) >> 1;
    if (items[middle] <= value) a = middle + 1;
    else b = middle;
  }
  return a;
}

/** The points of a window, inclusive: index of the first, and of the first one behind it; null is no bound. */
export function window(x, x0, x1) {
  const start = x0 === null ? 0 : lowerBound(x, x0);
  const stop = x1 === null ? x.length : upperBound(x, x1);
  return [start, Math.max(start, stop)];
}

/**
 * How to sort points by x, equal ones in the order given; those whose x is not finite are left out.
 * @returns {Uint32Array | null} null where they all stay as they are.
 */
export function orderByX(x) {
  let isInOrder = true;
  let numFinite = 0;
  let before = -Infinity;
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(x[i])) {
      isInOrder = false;
      continue;
    }
    if (x[i] < before) isInOrder = false;
    before = x[i];
    numFinite++;
  }
  if (isInOrder) return null;
  const kept = new Uint32Array(numFinite);
  for (let i = 0, to = 0; i < x.length; i++) if (Number.isFinite(x[i])) kept[to++] = i;
  return kept.sort((a, b) => x[a] - x[b] || a - b);
}

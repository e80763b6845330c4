// Decodes the answer of /t/poll: a JSON header, then float64 arrays.

/**
 * @param {ArrayBuffer} buffer u32 n, n bytes of JSON padded so that 4 + n is a multiple of 8, then the arrays.
 * @returns {{header: object, arrays: Float64Array[]}} views into the buffer, no copies.
 */
export function decode(buffer) {
  if (buffer.byteLength < 4) throw new Error(`The answer has ${buffer.byteLength} bytes; at least 4 were expected.`);
  const length = new DataView(buffer).getUint32(0, true);
  const start = 4 + length;
  if (start > buffer.byteLength) throw new Error(`The answer was cut short at ${buffer.byteLength} of ${start} bytes.`);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = (header.arrays ?? []).map(({ offset, length: items }) => new Float64Array(buffer, start + offset, items));
  return { header, arrays };
}

/** A JSON value of the API as JavaScript has it: `$int` becomes a BigInt, `$float` NaN or an infinity. */
export function revive(value) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    if (typeof value.$int === "string") return BigInt(value.$int);
    if (typeof value.$float === "string") return Number(value.$float);
  }
  return value;
}

// How a copy of a bucket or dataset stands, in words.

import { bytes, count } from "./format.js";

/** Whether the copy is on its way, so that the page should ask more often. */
export const isCopying = (mirror) => mirror !== null && mirror !== undefined && ["starting", "copying"].includes(mirror.state);

/** The line for a copy's state; "" where all is well and there is nothing to say. */
export function mirrorText(mirror) {
  if (!mirror) return "";
  const { what, num_files: total, num_done: done, num_bytes: size, num_bytes_done: sizeDone, message } = mirror;
  if (!isCopying(mirror)) return message;
  const part = total > done ? `: ${count(done)} of ${count(total)} files (${bytes(sizeDone)} of ${bytes(size)})` : " …";
  return `Copying from ${what}${part}${message && part.endsWith(")") ? "." : ""} ${message}`.trimEnd();
}

/** How much of the copy is here, in percent; null while that is not known. */
export function percentDone({ num_files: total, num_done: done, num_bytes: size, num_bytes_done: sizeDone }) {
  if (size > 0) return Math.floor((100 * sizeDone) / size);
  return total > 0 ? Math.floor((100 * done) / total) : null;
}

// How a copy of a bucket or dataset stands, in words.

import { bytes, count } from "./format.js";

/** The line for a copy's state; "" where all is well and there is nothing to say. */
export function mirrorText(mirror) {
  if (!mirror) return "";
  const { what, state, num_files: total, num_done: done, num_bytes: size, num_bytes_done: sizeDone, message } = mirror;
  const part = total > done ? `${count(done)} of ${count(total)} files (${bytes(sizeDone)} of ${bytes(size)})` : "";
  if (state === "starting" || state === "copying") return `Copying ${what}${part ? `: ${part}` : " …"}`;
  return message;
}

/** Whether the copy is on its way, so that the page should ask more often. */
export const isCopying = (mirror) => mirror !== null && mirror !== undefined && ["starting", "copying"].includes(mirror.state);

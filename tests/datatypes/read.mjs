// Reads columns as the page does: `node read.mjs SOURCES FILE NAME...`, as JSON on stdout.

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [sources, path, ...names] = process.argv.slice(2);
const { readColumns } = await import(pathToFileURL(`${sources}/parquet.js`));
const bytes = await readFile(path);
const columns = await readColumns(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength), names);

/** Doubles as the hex of their bits: JSON has neither NaN nor infinities. */
const bits = (value) => {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return view.getBigUint64(0).toString(16).padStart(16, "0");
};
const told = ([name, items]) => [name, { kind: items.constructor.name, items: Array.from(items, (item) => (typeof item === "number" && items.constructor !== Uint8Array ? bits(item) : item)) }];
process.stdout.write(JSON.stringify(Object.fromEntries(Object.entries(columns).map(told))));

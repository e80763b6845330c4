// Columns out of a small Parquet file that is here already; a page that needs none never loads this.

import { parquetMetadataAsync, parquetRead } from "hyparquet";
import { decompress } from "fzstd";

const COMPRESSORS = { ZSTD: (input, length) => decompress(input, new Uint8Array(length)) };
/** Microseconds as they stand: a Date has no more than milliseconds. */
const PARSERS = { timestampFromMicroseconds: (micros) => micros };

/**
 * Some columns of a file, whole.
 * @param {ArrayBuffer | {byteLength: number, slice: Function}} file its bytes, or what gives parts of them.
 * @param {string[]} names
 * @param {{rowEnd?: number}} [options] rowEnd: only the rows before this one.
 * @returns {Promise<Record<string, Float64Array | BigInt64Array | Uint8Array | any[]>>} by name: doubles, whole numbers
 *   (times in microseconds) and truth values (1 or 0) as typed arrays where no cell is null; else a list, with null.
 * @throws {Error} the file is damaged or lacks a column.
 */
export async function readColumns(file, names, { rowEnd } = {}) {
  const metadata = await parquetMetadataAsync(file, { geoparquet: false });
  const there = new Set(metadata.schema.slice(1).map(({ name }) => name));
  const missing = names.filter((name) => !there.has(name));
  if (missing.length) throw new Error(`The file has no column ${missing.join(", ")}.`);
  const num = Math.min(rowEnd ?? Infinity, Number(metadata.num_rows));
  const found = Object.fromEntries(names.map((name) => [name, new Array(num).fill(null)]));
  if (num > 0) {
    await parquetRead({
      file, metadata, columns: names, rowStart: 0, rowEnd: num, geoparquet: false,
      compressors: COMPRESSORS, parsers: PARSERS,
      onChunk: ({ columnName, columnData, rowStart }) => {
        const rows = Math.min(columnData.length, num - rowStart);
        for (let i = 0; i < rows; i++) found[columnName][rowStart + i] = columnData[i] ?? null;
      },
    });
  }
  const types = Object.fromEntries(metadata.schema.slice(1).map(({ name, type }) => [name, type]));
  return Object.fromEntries(names.map((name) => [name, typed(found[name], types[name])]));
}

function typed(items, type) {
  if (items.includes(null)) return items;
  if (type === "DOUBLE") return Float64Array.from(items);
  if (type === "INT64") return BigInt64Array.from(items, BigInt);
  return type === "BOOLEAN" ? Uint8Array.from(items, Number) : items;
}

/**
 * JSON as Python writes it, with bare words for what is not finite and whole numbers of any size, as the server's
 * routes have it: `{"$float": "NaN"}` and `{"$int": "9223372036854775807"}`.
 */
export function parsePayload(text) {
  return JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (word) => {
    if (word[0] === '"') return word;
    if (/[IN]/.test(word)) return `{"$float":"${word}"}`;
    const isWhole = /^-?\d+$/.test(word);
    return isWhole && Math.abs(Number(word)) >= 2 ** 53 && !isWithin(word) ? `{"$int":"${word}"}` : word;
  }));
}

const isWithin = (word) => BigInt(word) <= 2n ** 53n && BigInt(word) >= -(2n ** 53n);

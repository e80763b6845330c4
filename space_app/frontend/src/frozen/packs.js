// Series out of Parquet files of many series; the footer says which rows are which.

import { parquetMetadataAsync, parquetRead } from "hyparquet";
import { decompress } from "fzstd";
import { RemoteFile } from "./bytes.js";

const FOOTER_KEY = "trackio_like";
const FOOTER_BYTES = 1 << 16;
const COMPRESSORS = { ZSTD: (input, length) => decompress(input, new Uint8Array(length)) };
/** Share of a file's rows up to which parts of it are asked for: each column of each row group is a request. */
const MOST_IN_PARTS = 0.3;
/** Microseconds as they stand: a Date has no more than milliseconds. */
const PARSERS = { timestampFromMicroseconds: (micros) => micros };

export class Pack {
  /** @param {{file: string, num_bytes: number, keys: string[]}} about as the index has it. */
  constructor(folder, about) {
    this.keys = new Set(about.keys);
    this.file = new RemoteFile(new URL(about.file, folder), about.num_bytes);
    this.opening = null;
  }

  /** The footer, and the parts: what each says of itself, its first row and the one behind its last. */
  open() {
    this.opening ??= this.read().catch((error) => {
      this.opening = null;
      throw error;
    });
    return this.opening;
  }

  async read() {
    const metadata = await parquetMetadataAsync(this.file, { initialFetchSize: Math.min(FOOTER_BYTES, this.file.byteLength), geoparquet: false });
    const text = metadata.key_value_metadata.find(({ key }) => key === FOOTER_KEY).value;
    let row = 0;
    const parts = JSON.parse(text).parts.map((part) => {
      const [key, run] = part;
      const num = part[part.length - 1];
      row += num;
      return { key, run, rest: part.slice(2, -1), start: row - num, end: row };
    });
    return { metadata, parts };
  }

  /**
   * The rows of some parts; neighbours are read together.
   * @param {{start: number, end: number}[]} parts in order.
   * @param {string[]} columns
   * @returns {Promise<Record<string, ArrayLike<number | bigint | null>>[]>} the columns of each part.
   */
  async rows(parts, columns) {
    const { metadata } = await this.open();
    const num = parts.reduce((sum, { start, end }) => sum + end - start, 0);
    if (num > MOST_IN_PARTS * Number(metadata.num_rows)) await this.file.all();
    const spans = [];
    for (const part of parts) {
      const last = spans.at(-1);
      if (last && last.end === part.start) last.end = part.end;
      else spans.push({ start: part.start, end: part.end });
    }
    const read = await Promise.all(spans.map((span) => this.span(metadata, span, columns)));
    return parts.map(({ start, end }) => {
      const i = spans.findIndex((span) => span.start <= start && end <= span.end);
      const cut = (items) => items.slice(start - spans[i].start, end - spans[i].start);
      return Object.fromEntries(columns.map((name) => [name, cut(read[i][name])]));
    });
  }

  async span(metadata, { start, end }, columns) {
    const found = Object.fromEntries(columns.map((name) => [name, null]));
    await parquetRead({
      file: this.file, metadata, columns, rowStart: start, rowEnd: end, useOffsetIndex: true, geoparquet: false,
      compressors: COMPRESSORS, parsers: PARSERS,
      onChunk: ({ columnName, columnData, rowStart, rowEnd }) => {
        const target = (found[columnName] ??= columnData instanceof Float64Array ? new Float64Array(end - start) : new Array(end - start));
        for (let row = Math.max(start, rowStart); row < Math.min(end, rowEnd); row++) target[row - start] = columnData[row - rowStart];
      },
    });
    return found;
  }
}

/**
 * The parts of one key in the files that hold it.
 * @param {Pack[]} packs
 * @param {(part: {run: number}) => boolean} wants
 * @returns {Promise<{part: object, columns: object}[]>}
 */
export async function readParts(packs, key, columns, wants) {
  const having = packs.filter((pack) => pack.keys.has(key));
  const found = await Promise.all(having.map(async (pack) => {
    const parts = (await pack.open()).parts.filter((part) => part.key === key && wants(part));
    if (parts.length === 0) return [];
    const rows = await pack.rows(parts, columns);
    return parts.map((part, i) => ({ part, columns: rows[i] }));
  }));
  return found.flat();
}

/** A column as float64: integers as the nearest double. */
export const floats = (column) => (column instanceof Float64Array ? column : Float64Array.from(column, Number));

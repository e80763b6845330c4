// A file on a static server, read in parts where the server can send parts, else whole and then kept.

/** Files up to here are fetched whole: one request is faster than two. */
const WHOLE_BYTES = 1 << 20;
const KEPT_BYTES = 64 << 20;

const kept = new Set();
let canSendParts = true;

export class RemoteFile {
  /**
   * @param {URL} url
   * @param {number} byteLength as the index says; another size means that the copy was replaced.
   */
  constructor(url, byteLength) {
    this.url = url;
    this.byteLength = byteLength;
    this.whole = null;
  }

  /** As hyparquet asks for bytes. */
  async slice(start, end = this.byteLength) {
    if (!this.whole && canSendParts && this.byteLength > WHOLE_BYTES) {
      const response = await asked(this.url, { headers: { Range: `bytes=${start}-${end - 1}` } });
      if (response.status === 206) return this.checked(await response.arrayBuffer(), end - start);
      // This server cannot send parts: what it sends is the file.
      canSendParts = false;
      this.keep(response.arrayBuffer());
    }
    return (await this.all()).slice(start, end);
  }

  /** The file at once, where most of it is wanted. */
  all() {
    if (!this.whole) this.keep(asked(this.url).then((response) => response.arrayBuffer()));
    return this.whole;
  }

  keep(bytes) {
    this.whole = bytes.then((buffer) => this.checked(buffer, this.byteLength));
    this.whole.catch(() => this.forget());
    kept.delete(this);
    kept.add(this);
    let sum = 0;
    for (const file of [...kept].reverse()) if ((sum += file.byteLength) > KEPT_BYTES && file !== this) file.forget();
  }

  forget() {
    kept.delete(this);
    this.whole = null;
  }

  checked(buffer, length) {
    if (buffer.byteLength !== length) throw new Error("The files of this copy were replaced; load the page again.");
    return buffer;
  }
}

/** Fetches, and makes an answer that is not a file an error. */
export async function asked(url, options) {
  const response = await fetch(url, options);
  if (!response.ok) throw new Error(`The server answered ${response.status} to ${url.pathname}.`);
  return response;
}

/** Reads JSON once; after a failure it is read again when it is asked for next. */
export function remembered(read) {
  const known = new Map();
  return (name) => {
    if (!known.has(name)) {
      const result = read(name);
      known.set(name, result);
      result.catch(() => known.delete(name));
    }
    return known.get(name);
  };
}

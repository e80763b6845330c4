// Where the page gets its answers: the server's routes, or the files of a frozen copy.

import { decode } from "./wire.js";

/** An address of this page's server, below whatever path the page is mounted at. */
export const url = (path) => new URL(path, document.baseURI);

/** Reads JSON from a route; an answer that is not 2xx becomes an error with the server's words. */
export async function getJson(path, parameters = {}) {
  const response = await fetch(withQuery(path, parameters));
  if (!response.ok) throw await errorOf(response);
  return response.json();
}

/** What a server that refuses says. */
async function errorOf(response) {
  return new Error((await response.json().catch(() => ({}))).error ?? `${response.status} ${response.statusText}`);
}

/** Sends JSON to a route, and reads its answer; an answer that is not 2xx becomes an error with the server's words. */
async function postJson(path, body, signal) {
  const response = await fetch(url(path), { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `${response.status} ${response.statusText}`);
  return answer;
}

function withQuery(path, parameters) {
  const address = url(path);
  for (const [name, value] of Object.entries(parameters)) if (value !== null && value !== undefined) address.searchParams.set(name, value);
  return address;
}

const live = {
  isLive: true,

  async meta(signal) {
    const response = await fetch(url("t/meta"), { signal });
    if (!response.ok) throw new Error(`The server answered ${response.status} to t/meta.`);
    return response.json();
  },

  /** The changes of one project, as docs/http_api.md says; null where there is no such project. */
  async poll(question, signal) {
    const response = await fetch(url("t/poll"), {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question), signal,
    });
    if (response.status === 404) return null;
    if (!response.ok) throw new Error(`The server answered ${response.status} to t/poll.`);
    return decode(await response.arrayBuffer());
  },

  run: (question) => getJson("t/run", question),
  me: () => getJson("t/me"),
  deleted: (question) => getJson("t/deleted", question),
  change: (body) => postJson("t/change", body),
  purge: (body) => postJson("t/purge", body),
  signOut: () => postJson("t/logout", {}),
  rows: (question) => getJson("t/rows", question),

  /**
   * The logged objects of some runs, as docs/http_api.md says; `objects` is null where `since` is still the version.
   * @param {{project: string, runs: string[], types: string[], since?: string | null}} question
   */
  objects: (question, signal) => postJson("t/objects", question, signal),

  /**
   * The bytes of a file that a row of `objects` names.
   * @param {{project: string, run: string, path: string}} question path: the row's `media`.
   * @returns {Promise<ArrayBuffer>}
   */
  async media(question, signal) {
    const response = await fetch(withQuery("t/media", question), { signal });
    if (!response.ok) throw await errorOf(response);
    return response.arrayBuffer();
  },

  /** Every row of one metric of a run; null where the run does not have it. */
  async csv(question) {
    const response = await fetch(withQuery("t/rows", { ...question, format: "csv", limit: 1_000_000 }));
    return response.ok ? response.text() : null;
  },
};

/** The same answers from files; what reads them is loaded only by a page that is a frozen copy. */
function frozen({ data }) {
  const loading = import("./frozen/source.js").then(({ FrozenSource }) => new FrozenSource(url(data)));
  const ask = (name) => async (question) => (await loading)[name](question);
  return { isLive: false, ...Object.fromEntries(["meta", "poll", "run", "rows", "csv", "objects", "media"].map((name) => [name, ask(name)])) };
}

export const sourceOf = (config) => (config.frozen ? frozen(config.frozen) : live);

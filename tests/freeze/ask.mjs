// Asks what a frozen page asks: `node ask.mjs CHUNK DATA_URL`, questions and answers as lines of JSON.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [chunk, data] = process.argv.slice(2);
const { FrozenSource, bucketEdges, decimate } = await import(pathToFileURL(chunk));
const source = new FrozenSource(new URL(data));

/** JSON has neither NaN, infinities nor -0: they travel as text. */
const whole = (array) => Array.from(array, (item) => (Number.isFinite(item) && !Object.is(item, -0) ? item : Object.is(item, -0) ? "-0.0" : String(item)));
const number = (item) => (typeof item === "string" ? Number(item) : item);

/** Everything that a page gets: it asks again for what was not ready. */
async function everything(question) {
  const series = [];
  let header = null;
  for (let panels = question.panels; ;) {
    const answer = await source.poll({ ...question, panels });
    if (!answer) return null;
    header ??= answer.header;
    series.push(...answer.header.series.map((line) => ({ ...line, x: whole(answer.arrays[line.x]), y: whole(answer.arrays[line.y]) })));
    if (answer.pending.size === 0) return { header: { ...header, series } };
    panels = panels.filter(({ id }) => answer.pending.has(id));
  }
}

const ANSWERS = {
  poll: everything,
  run: (question) => source.run(question),
  rows: (question) => source.rows(question),
  csv: (question) => source.csv(question),
  meta: () => source.meta(),
  objects: (question) => source.objects(question),
  media: async (question) => ({ base64: Buffer.from(await source.media(question)).toString("base64") }),
  edges: ({ first, last, buckets }) => whole(bucketEdges(number(first), number(last), buckets)),
  decimate: ({ x, y, buckets }) => decimate(x.map(number), y.map(number), buckets),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name, question] = JSON.parse(line);
  const answer = await Promise.resolve(ANSWERS[name](question)).catch((error) => ({ error: error.message }));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

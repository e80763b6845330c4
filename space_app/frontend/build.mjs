// Bundles src/ into ../static/dist: content-hashed names, so that pages may cache them for good.
import { build } from "esbuild";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";

const OUT = "../static/dist";

await rm(OUT, { recursive: true, force: true });
await mkdir(OUT, { recursive: true });
const result = await build({
  entryPoints: { app: "src/app.js", frozen: "src/frozen/frozen.css" },
  outdir: OUT,
  bundle: true,
  format: "esm",
  splitting: true,
  minify: true,
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  entryNames: "[name]-[hash]",
  chunkNames: "chunk-[hash]",
  // elkjs is no part of the bundle: its worker is a file of its own, copied as it is.
  loader: { ".min.js": "file" },
  assetNames: "[name]-[hash]",
  metafile: true,
  logLevel: "warning",
});

const files = Object.entries(result.metafile.outputs);
const [script, entry] = files.find(([, output]) => output.entryPoint === "src/app.js");
const [frozenStyle] = files.find(([, output]) => output.entryPoint === "src/frozen/frozen.css");
const [frozenScript] = files.find(([, output]) => output.entryPoint === "src/frozen/source.js");
const chunks = entry.imports.filter((item) => item.kind === "import-statement").map((item) => basename(item.path));
const manifest = { script: basename(script), style: basename(entry.cssBundle), preload: chunks.sort(), frozen_style: basename(frozenStyle), frozen_script: basename(frozenScript) };
await writeFile(`${OUT}/manifest.json`, JSON.stringify(manifest, null, 2) + "\n");

/** What is bundled or lies beside the bundle, what it is called by those who wrote it, and what is to be known of it. */
const LIBRARIES = {
  uplot: ["uPlot"], three: ["three.js"], hyparquet: ["hyparquet"], fzstd: ["fzstd"],
  elkjs: ["elkjs", "The file elk-worker.min-*.js is its lib/elk-worker.min.js, unmodified. It is used under the EPL-2.0; its source is at https://github.com/kieler/elkjs."],
};
const licences = await Promise.all(Object.entries(LIBRARIES).map(async ([folder, [name, note]]) => {
  const { version } = JSON.parse(await readFile(`node_modules/${folder}/package.json`, "utf8"));
  const licence = await readFile(`node_modules/${folder}/LICENSE${folder === "elkjs" ? ".md" : ""}`, "utf8");
  return `${name} ${version}\n\n${note ? `${note}\n\n` : ""}${licence.trimEnd()}\n`;
}));
await writeFile(`${OUT}/LICENSES.txt`, licences.join(`\n${"-".repeat(80)}\n\n`));

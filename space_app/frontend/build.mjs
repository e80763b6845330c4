// Bundles src/ into ../static/dist: content-hashed names, so that pages may cache them for good.
import { build } from "esbuild";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";

const OUT = "../static/dist";

await rm(OUT, { recursive: true, force: true });
await mkdir(OUT, { recursive: true });
const result = await build({
  entryPoints: { app: "src/app.js" },
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
  metafile: true,
  logLevel: "warning",
});

const files = Object.entries(result.metafile.outputs);
const [script, entry] = files.find(([, output]) => output.entryPoint === "src/app.js");
const chunks = entry.imports.filter((item) => item.kind === "import-statement").map((item) => basename(item.path));
const manifest = { script: basename(script), style: basename(entry.cssBundle), preload: chunks.sort() };
await writeFile(`${OUT}/manifest.json`, JSON.stringify(manifest, null, 2) + "\n");

const licence = await readFile("node_modules/uplot/LICENSE", "utf8");
const { version } = JSON.parse(await readFile("node_modules/uplot/package.json", "utf8"));
await writeFile(`${OUT}/LICENSES.txt`, `uPlot ${version}\n\n${licence.trimEnd()}\n`);

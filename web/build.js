// Builds the page into the package: scripts and styles of all pages, the frame, the licenses of what is bundled, and the digest of
// the sources, by which a test can tell whether the package holds what the sources say.

import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, transform } from "esbuild";

const OUT = "../src/scumble/show/page";
const common = {
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
};

const engine = await build({
  ...common,
  entryPoints: ["src/engine/index.js"],
  globalName: "ScumbleEngine",
  outfile: `${OUT}/engine.js`,
});
const tableEngine = await build({
  ...common,
  entryPoints: ["src/engine/tabular/index.js"],
  globalName: "ScumbleTables",
  outfile: `${OUT}/tableengine.js`,
});
const page = await build({ ...common, entryPoints: ["src/page/main.js"], outfile: `${OUT}/page.js` });
const table = await build({ ...common, entryPoints: ["src/table/main.js"], outfile: `${OUT}/table.js` });
const stream = await build({ ...common, entryPoints: ["src/stream/main.js"], outfile: `${OUT}/stream.js` });
for (const name of ["page.html", "page.css"]) copyFileSync(`src/page/${name}`, `${OUT}/${name}`);
for (const name of ["table", "stream"]) {
  const style = ["src/page/page.css", `src/${name}/${name}.css`].map((path) => readFileSync(path, "utf8")).join("");
  const { code } = await transform(style, { loader: "css", minify: true, charset: "utf8" });
  writeFileSync(`${OUT}/${name}.css`, code);
}

const inputs = [engine, tableEngine, page, table, stream].flatMap(({ metafile }) => Object.keys(metafile.inputs));
const packages = [...new Set(inputs.map((path) => /^node_modules\/([^/]+)\//.exec(path)?.[1]).filter(Boolean))].sort();
const licenses = packages.map((name) => {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
});
writeFileSync(`${OUT}/LICENSES.txt`, `The page bundles these libraries.\n\n${licenses.join("\n----\n\n")}`);

// The sources in the order of their names, each with its name: the twin of tests/show/test_page.py.
const hash = createHash("sha256");
for (const name of ["package-lock.json", ...files("src")].sort()) hash.update(`${name}\n`).update(readFileSync(name));
writeFileSync(`${OUT}/sources.sha256`, `${hash.digest("hex")}\n`);

function files(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? files(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}

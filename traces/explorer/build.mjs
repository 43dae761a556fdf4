// Builds the page: script and style in one file, which the Python package carries. The same sources give the same bytes;
// with --check nothing is written, and it is an error if the file is not what the sources give.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const given = process.argv.slice(2).filter((one) => one !== "--check");
const output = given[0] ?? `${here}../rocketproof_traces/explorer/page.html`;

async function bundle(entry) {
  const { outputFiles } = await build({
    entryPoints: [`${here}src/${entry}`],
    absWorkingDir: here,
    bundle: true,
    write: false,
    minify: true,
    legalComments: "none",
    format: "iife",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    alias: { "react": "preact/compat" },
  });
  return outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const [script, style, template] = await Promise.all([bundle("main.tsx"), bundle("style.css"), readFile(`${here}src/page.html`, "utf8")]);
if (/<\/(script|style)|<!--/i.test(script + style)) throw new Error("the bundle would end its own element");
const policy = ["default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(style)}`, "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'"].join("; ");
const page = template.replace("{policy}", () => policy).replace("{style}", () => style).replace("{script}", () => script);
if (process.argv.includes("--check")) {
  if ((await readFile(output, "utf8").catch(() => "")) !== page) throw new Error(`${output} is not what the sources give: run \`npm run build\` in traces/explorer and commit it`);
} else await writeFile(output, page);
console.log(`${output}: ${(Buffer.byteLength(page) / 1000).toFixed(0)} kB`);

// Bundles the tests and runs them with node's own runner: the logic's by default, with `browser` those that walk in Chromium.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const suffix = process.argv.includes("browser") ? ".browser.ts" : ".test.ts";
const entryPoints = readdirSync(here).filter((name) => name.endsWith(suffix)).map((name) => here + name);
const outdir = mkdtempSync(join(here, "../node_modules/.tests-")); // there, so that what is not bundled is found
process.env.EXPLORER = join(here, "..");
try {
  await build({ entryPoints, outdir, bundle: true, platform: "node", format: "esm", outExtension: { ".js": ".mjs" }, external: ["playwright-core"], logLevel: "warning", jsx: "automatic", jsxImportSource: "preact" });
  const files = readdirSync(outdir).map((name) => join(outdir, name));
  process.exitCode = spawnSync(process.execPath, ["--test", "--test-reporter=spec", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(outdir, { recursive: true, force: true });
}

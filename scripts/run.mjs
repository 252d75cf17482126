// @ts-check
/**
 * The one door to every command of this repository: `node scripts/run.mjs <verb> [arguments]`.
 *
 * Each verb first makes sure that what it needs is there (dependencies, then dist), so a new clone
 * needs no other step, then runs the tool with the arguments it was given. This is not left to npm's
 * `pre` hooks: they are skipped under `ignore-scripts`. Knows which tools exist, not what they check.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { endWithParent, exitOf, outputOf } from './child.mjs';
import { ensureBuilt, ensureInstalled, say, unsupportedNode } from './setup.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** A tool is a script for this Node: no shell, no PATH, the same on every platform. */
const TOOLS = {
  biome: [join(ROOT, 'node_modules/@biomejs/biome/bin/biome')],
  tsc: [join(ROOT, 'node_modules/typescript/bin/tsc')],
  knip: [join(ROOT, 'node_modules/knip/bin/knip.js')],
  vitest: [join(ROOT, 'node_modules/vitest/vitest.mjs')],
  tsx: [join(ROOT, 'node_modules/tsx/dist/cli.mjs')],
  generate: [...['--conditions=writ-source', '--import', 'tsx'], join(ROOT, 'scripts/generate.ts')],
  bench: [...['--conditions=writ-source', '--import', 'tsx'], join(ROOT, 'bench/run.ts')],
};

/** The showcase, as it is built and as it is written. */
const SHOWCASE = join(ROOT, 'dist/examples/travel/main.js');
const SHOWCASE_SOURCE = join(ROOT, 'examples/travel/main.ts');

/** In this order: the quick and common mistakes first. */
const CHECKS = /** @type {const} */ ([
  ['lint and format', 'biome', ['check', '.']],
  ['types', 'tsc', ['--noEmit']],
  ['generated documents', 'generate', ['--check']],
  ['unused code and dependencies', 'knip', []],
]);

/**
 * What each verb needs and does. A verb resolves to its exit code, or to nothing when it goes on
 * running in this process.
 *
 * @type {Record<string, { needs: 'nothing' | 'dependencies' | 'dist', run: Verb }>}
 * @typedef {(args: string[]) => Promise<number | undefined>} Verb
 */
const VERBS = {
  start: { needs: 'dist', run: start },
  test: { needs: 'dist', run: test },
  check: { needs: 'dependencies', run: check },
  ok: { needs: 'dist', run: ok },
  fix: { needs: 'dependencies', run: fix },
  dev: { needs: 'dependencies', run: dev },
  build: { needs: 'dist', run: async () => 0 },
  generate: { needs: 'dependencies', run: (args) => runTool('generate', args) },
  bench: { needs: 'dist', run: (args) => runTool('bench', args) },
};

await main(process.argv.slice(2));

/** @param {string[]} argv */
async function main([name = '', ...args]) {
  const tooOld = unsupportedNode(process.versions.node);
  if (tooOld !== undefined) return fail(tooOld);

  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (verb === undefined) {
    return fail(`Cannot run "${name}": the verbs are ${Object.keys(VERBS).join(', ')}`);
  }

  // Elsewhere a parent may well end first: a service started in the background outlives its shell.
  if (process.env.npm_lifecycle_event !== undefined) endWithParent();
  try {
    if (verb.needs !== 'nothing') await ensureInstalled(ROOT);
    if (verb.needs === 'dist') await ensureBuilt(ROOT);
    process.exitCode = await verb.run(args);
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
}

/** @param {string} message */
function fail(message) {
  say(message);
  process.exitCode = 1;
}

/**
 * Runs the showcase in this process, so that a signal sent to it needs no relay and its exit code
 * is ours.
 *
 * @type {Verb}
 */
async function start(args) {
  process.setSourceMapsEnabled(true);
  process.argv.splice(1, process.argv.length, SHOWCASE, ...args);
  await import(pathToFileURL(SHOWCASE).href);
  return undefined;
}

/** @type {Verb} */
async function test(args) {
  const report = process.env.WRIT_TEST_REPORT;
  const reporters = report
    ? ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    : [];
  // Set, not inherited: the suite must not depend on whose NODE_ENV it runs under.
  return await runTool('vitest', ['run', ...reporters, ...args], { NODE_ENV: 'test' });
}

/**
 * Stops at the first failure and shows what the tool said; a step that passes is one line.
 *
 * @type {Verb}
 */
async function check() {
  for (const [name, tool, args] of CHECKS) {
    const { code, output } = await captureTool(tool, [...args]);
    process.stdout.write(`${code === 0 ? 'ok' : 'failed'}  ${name}\n`);
    if (code !== 0) {
      process.stdout.write(output);
      return code;
    }
  }
  return 0;
}

/** @type {Verb} */
async function ok(args) {
  return (await check([])) || (await test(args));
}

/** @type {Verb} */
async function fix(args) {
  return (await runTool('biome', ['check', '--write', '.', ...args])) || runTool('generate', []);
}

/** @type {Verb} */
async function dev(args) {
  if (!existsSync(SHOWCASE_SOURCE)) {
    process.stdout.write(NO_SHOWCASE);
    return 0;
  }
  return await runTool('tsx', ['watch', '--conditions=writ-source', SHOWCASE_SOURCE, ...args]);
}

/**
 * Runs a tool on our own terminal.
 *
 * @param {keyof typeof TOOLS} tool
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @returns {Promise<number>}
 */
async function runTool(tool, args, env = {}) {
  const child = spawn(process.execPath, [...TOOLS[tool], ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return await exitOf(child);
}

/**
 * Runs a tool and keeps what it prints.
 *
 * @param {keyof typeof TOOLS} tool
 * @param {string[]} args
 * @returns {Promise<{ code: number, output: string }>}
 */
async function captureTool(tool, args) {
  const child = spawn(process.execPath, [...TOOLS[tool], ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = outputOf(child);
  const code = await exitOf(child);
  return { code, output: output() };
}

// @ts-check
/**
 * Runs a command of this repository in a clone as it is:
 *
 *     node scripts/run.mjs start|test|test:all|test:rest|check|ok|fix|dev|build|prepack [arguments]
 *     node scripts/run.mjs [--build] [--site] <program of TypeScript> [arguments]
 *
 * Installs when package-lock.json changed (with `--site` what builds the site too), compiles what is stale, then runs
 * the tool. Exit codes and signals pass through. A new clone needs no other step. npm's `pre` hooks cannot do this,
 * because npm skips them under `ignore-scripts`. Uses Node alone, since it runs before any dependency is there.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimes,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** Has its own lock file: only those who build the site install what it takes. */
const SITE = join(ROOT, 'site');
const SHOWCASE = join(ROOT, 'dist/examples/travel/main.js');

/** What tsc does not make: the file that is written last, the files and folders that it is made of, and the tools. */
const VITE = ['vite', 'build', '--config', 'scripts/vite.config.ts', '--logLevel', 'warn'];
const PAGES = [
  {
    made: 'dist/src/openapi/page.json',
    of: ['scripts/api-page.ts', 'src/http/page', 'src/openapi', 'src/domain', 'src/protocol'],
    by: [['api-page']],
  },
  {
    made: 'dist/src/console-page/index.html',
    of: [
      'scripts/vite.config.ts',
      'src/console',
      'src/verify',
      'src/client',
      'src/domain',
      'src/protocol',
    ],
    by: [[...VITE, '--mode', 'verifier'], VITE],
  },
];
/** A stopped service frees its port before a person starts it again. */
const SHELL_POLL_MS = 200;

/** Exists while a run of this script installs or compiles. Outside node_modules, which `npm ci` empties. */
const LOCK = join(ROOT, '.writ-lock');
const LOCK_POLL_MS = 200;
/** In milliseconds. The coarsest file system tells times apart that are two seconds apart. */
const LOCK_TOUCH_MS = 1_000;
/** In milliseconds. A busy machine may touch late; a person waits this long once, after a crash. */
const LOCK_LEFT_MS = 10_000;
let hasLock = false;

/**
 * Checkers of the compiler: each of them looks at the same types again, so four of them, which is its
 * default, take twice the CPU time of one.
 */
const CHECKERS_MAX = 4;

/** The projects of vitest.config.ts that `npm test` runs, and the others. */
const QUICK = ['unit', 'smoke'];
const REST = ['long', 'process', 'alone'];

const SOURCES = ['--conditions=writ-source', '--import', 'tsx'];

/** Each tool is a script for this Node: no shell, no PATH, the same on every platform. */
const TOOLS = {
  biome: ['node_modules/@biomejs/biome/bin/biome'],
  tsc: ['node_modules/typescript/bin/tsc'],
  knip: ['node_modules/knip/bin/knip.js'],
  vite: ['node_modules/vite/bin/vite.js'],
  vitest: ['node_modules/vitest/vitest.mjs'],
  tsx: ['node_modules/tsx/dist/cli.mjs'],
  'api-page': [...SOURCES, 'scripts/api-page.ts'],
  generate: [...SOURCES, 'scripts/generate.ts'],
};

/** @type {Record<string, (args: string[]) => Promise<number | undefined>>} */
const VERBS = {
  start: async (args) => (await build()) || start(args),
  test: async (args) => (await build()) || test(args),
  'test:all': async (args) => (await build()) || test(['--project=*', ...args]),
  'test:rest': async (args) =>
    (await build()) || test([...REST.map((name) => `--project=${name}`), ...args]),
  check,
  ok: async (args) => (await build()) || (await check()) || test(args),
  fix: async () => (await run('biome', ['check', '--write', '.'])) || run('generate', []),
  // The pages that it serves are those of the build.
  dev: async (args) =>
    (await build()) || run('tsx', ['watch', `${SOURCES[0]}`, 'examples/travel/main.ts', ...args]),
  build,
  prepack: async () => rmSync(join(ROOT, 'dist'), { recursive: true, force: true }) ?? build(),
};

const words = process.argv.slice(2);
const flags = new Set();
while (words[0] === '--build' || words[0] === '--site') flags.add(words.shift());
const [name = '', ...args] = words;
const fault = olderNode() ?? unknownVerb();
if (fault) {
  say(fault);
  process.exitCode = 1;
} else {
  endWithShell();
  const code = (await install()) || (await (VERBS[name] ?? program)(args));
  // The showcase runs in this process and sets its own exit code.
  if (code !== undefined) process.exitCode = code;
}

async function program(/** @type {string[]} */ args) {
  const code =
    (flags.has('--site') && (await install(SITE))) || (flags.has('--build') && (await build()));
  return code || exitOf([process.execPath, ...SOURCES, name, ...args], {});
}

function unknownVerb() {
  if (Object.hasOwn(VERBS, name) || (name.endsWith('.ts') && existsSync(join(ROOT, name))))
    return undefined;
  return `Cannot run "${name}": the verbs are ${Object.keys(VERBS).join(', ')}`;
}

/** The oldest Node is the one in package.json, which says ">=major.minor". */
function olderNode() {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [majorMin = 0, minorMin = 0] = engines.node.slice('>='.length).split('.').map(Number);
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return undefined;
  return `Cannot run on Node ${process.versions.node}: Writ needs Node ${majorMin}.${minorMin} or later`;
}

/** The stamp is removed before an install begins and written after it ended. */
async function install(folder = ROOT) {
  const lock = createHash('sha256').update(readFileSync(join(folder, 'package-lock.json')));
  const [major] = process.versions.node.split('.');
  const wanted = `${lock.digest('hex')} ${process.platform}-${process.arch} node${major}`;
  if (stamp(folder) === wanted) return 0;
  // The run that was waited for may have installed the same.
  return alone(async () => (stamp(folder) === wanted ? 0 : installNow(folder, wanted)));
}

async function installNow(/** @type {string} */ folder, /** @type {string} */ wanted) {
  say(folder === ROOT ? 'Installing dependencies' : 'Installing what builds the site');
  rmSync(stampOf(folder), { force: true });
  // `--include=dev`: under NODE_ENV=production npm would leave out the compiler.
  const flags = ['--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
  const code = await exitOf([...npm(), 'ci', ...flags, '--loglevel=error'], {
    cwd: folder,
    quiet: true,
  });
  if (code === 0) writeFileSync(stampOf(folder), wanted);
  else say(`Cannot install the dependencies: npm ci ended with exit code ${code}`);
  return code;
}

function stamp(/** @type {string} */ folder) {
  try {
    return readFileSync(stampOf(folder), 'utf8');
  } catch {
    return undefined;
  }
}

function stampOf(/** @type {string} */ folder) {
  return join(folder, 'node_modules/.writ-install');
}

/** The npm that started this script; another package manager cannot read the lock file. */
function npm() {
  const path = process.env.npm_execpath ?? '';
  return basename(path) === 'npm-cli.js' ? [process.execPath, path] : ['npm'];
}

function build() {
  const tsc = ['-b', 'tsconfig.build.json', ...checkers(1)];
  return alone(async () => (await run('tsc', tsc)) || buildPages());
}

/** As many as there are cores for each of this many programs that run at once. */
function checkers(/** @type {number} */ programs) {
  const count = Math.floor(availableParallelism() / programs);
  return ['--checkers', String(Math.min(CHECKERS_MAX, Math.max(1, count)))];
}

/** Each page whose parts, or the tools that make it, are newer than it is. */
async function buildPages() {
  for (const { made, of, by } of PAGES) {
    const madeAt = statSync(join(ROOT, made), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (['package-lock.json', ...of].flatMap(timesIn).every((time) => time < madeAt)) continue;
    for (const [tool = '', ...args] of by) {
      const code = await run(tool, args);
      if (code !== 0) return code;
    }
  }
  return 0;
}

/** When a file changed, or each file of a folder. */
function timesIn(/** @type {string} */ path) {
  const whole = join(ROOT, path);
  if (statSync(whole).isFile()) return [statSync(whole).mtimeMs];
  return readdirSync(whole, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs);
}

/**
 * Does what writes to this folder while no other run of this script does. The holder of the lock
 * touches it. A lock that stays untouched was left by a crash, and the next run removes it.
 *
 * @param {() => Promise<number>} work
 */
async function alone(work) {
  for (let touched = 0, stillMs = 0; !locked(); stillMs += LOCK_POLL_MS) {
    const now = statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (stillMs > LOCK_LEFT_MS && now === touched) unlock();
    if (touched === 0) say('Waiting for another run that installs or compiles in this folder');
    if (now !== touched) [touched, stillMs] = [now, 0];
    await pause(LOCK_POLL_MS);
  }
  const timer = setInterval(() => utimes(LOCK, new Date(), new Date(), () => {}), LOCK_TOUCH_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (hasLock) unlock();
  }
}

/** A folder that cannot be written to needs no lock: every file in it is there already. */
function locked() {
  try {
    mkdirSync(LOCK);
    hasLock = true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST';
  }
  return true;
}

function unlock() {
  hasLock = false;
  rmSync(LOCK, { recursive: true, force: true });
}

/** Runs the showcase in this process, so that a signal reaches it and its exit code is ours. */
async function start(/** @type {string[]} */ args) {
  process.setSourceMapsEnabled(true);
  process.argv.splice(1, process.argv.length, SHOWCASE, ...args);
  await import(pathToFileURL(SHOWCASE).href);
  return undefined;
}

/** The quick tier; a path or `--project` chooses from all tests. */
function test(/** @type {string[]} */ args) {
  const isChoice = args.some((each) => !each.startsWith('-') || each.startsWith('--project'));
  const tier = isChoice ? [] : QUICK.map((name) => `--project=${name}`);
  // Set, not inherited: the suite must not depend on the NODE_ENV of its caller.
  return run('vitest', ['run', ...tier, ...args], { NODE_ENV: 'test' });
}

/** The quick and common mistakes first; then all the others at once, since most use one core alone. */
async function check() {
  const code = await run('biome', ['check', '.']);
  if (code !== 0) return code;
  const codes = await Promise.all([
    run('tsc', ['--noEmit', ...remembered('types'), ...checkers(4)]),
    run('tsc', ['--project', 'src/console', ...remembered('console'), ...checkers(4)]),
    run('generate', ['--check']),
    run('knip', []),
  ]);
  return codes.find((each) => each !== 0) ?? 0;
}

/** The compiler looks again only at what changed since the run before, and at what imports it. */
function remembered(/** @type {string} */ what) {
  return ['--incremental', '--tsBuildInfoFile', `node_modules/.cache/${what}.tsbuildinfo`];
}

/**
 * @param {keyof typeof TOOLS} tool
 * @param {string[]} args
 * @param {Record<string, string>} environment
 */
function run(tool, args, environment = {}) {
  return exitOf([process.execPath, ...TOOLS[tool], ...args], { environment });
}

/**
 * Waits for a command and passes on what would end this process. A command that a signal ended ends
 * this process in the same way.
 *
 * @param {string[]} command
 * @param {{ cwd?: string, environment?: Record<string, string>, quiet?: boolean }} options
 * @returns {Promise<number>}
 */
async function exitOf([file = '', ...rest], { cwd = ROOT, environment = {}, quiet = false }) {
  const relay = (/** @type {NodeJS.Signals} */ signal) => {
    // A terminal sends Ctrl-C to the child as well; most tools take a second one as "at once".
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);
  // Before the child is there: a signal that ended this process now would leave the child, or the lock.
  for (const signal of signals) process.on(signal, relay);
  const child = spawn(file, rest, {
    cwd,
    env: { ...process.env, ...environment },
    stdio: quiet ? ['ignore', 'ignore', 'inherit'] : 'inherit',
  });
  const [code, signal] = await once(child, 'exit').catch((/** @type {Error} */ { message }) => {
    say(`Cannot run ${file}: ${message}`);
    return [1, null];
  });
  for (const each of signals) process.off(each, relay);
  if (signal) {
    if (hasLock) unlock();
    process.kill(process.pid, signal);
  }
  return code ?? 1;
}

/**
 * Raises SIGTERM in this process when npm ends, or the shell that npm ran it in. npm signals that shell,
 * and a shell that did not replace itself by this process dies without passing the signal on. When a
 * signal ends npm itself, the shell lives on without it. See docs/decisions/27-npm-and-the-checkout.md.
 */
function endWithShell() {
  // Outside npm a parent may end first: a service in the background outlives its shell.
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const shell = isShell(parent) ? parent : undefined;
  const above = shell && parentOf(shell);
  const timer = setInterval(() => {
    if (process.ppid === parent && (shell && parentOf(shell)) === above) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, SHELL_POLL_MS);
  timer.unref();
}

/** Whether npm ran this process in a shell. Only Linux says so; elsewhere the parent alone is watched. */
function isShell(/** @type {number} */ pid) {
  const script = process.env.npm_lifecycle_script;
  try {
    const [, , command = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return Boolean(script) && command.startsWith(`${script}`);
  } catch {
    return false;
  }
}

function parentOf(/** @type {number} */ pid) {
  try {
    // "pid (command) state ppid": a command may have parentheses in it.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1];
  } catch {
    return undefined;
  }
}

function say(/** @type {string} */ line) {
  // Standard output belongs to the command that was asked for.
  process.stderr.write(`${line}\n`);
}

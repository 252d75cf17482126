// @ts-check
/**
 * Runs every command of this repository: `node scripts/run.mjs <verb> [arguments]`.
 *
 * Installs when package-lock.json changed, compiles what is stale, then runs the tool. Exit codes and
 * signals pass through. A new clone needs no other step. npm's `pre` hooks cannot do this, because
 * npm skips them under `ignore-scripts`. Uses Node alone, since it runs before any dependency is there.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimes,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** Has its own lock file: only those who build the site install what it takes. */
const SITE = join(ROOT, 'site');
const SHOWCASE = join(ROOT, 'dist/examples/travel/main.js');
/** Of the console: written last, and made of the sources in these folders. */
const PAGES = join(ROOT, 'dist/src/console-page/index.html');
const PAGE_SOURCES = ['src/console', 'src/verify', 'src/client', 'src/domain', 'src/protocol'];
/** In milliseconds. A stopped service frees its port before a person starts it again. */
const SHELL_POLL_MS = 200;

/** Exists while a run of this script installs or compiles. Outside node_modules, which `npm ci` empties. */
const LOCK = join(ROOT, '.writ-lock');
const LOCK_POLL_MS = 200;
/** In milliseconds. The coarsest file system tells times apart that are two seconds apart. */
const LOCK_TOUCH_MS = 1_000;
/** In milliseconds. A busy machine may touch late; a person waits this long once, after a crash. */
const LOCK_LEFT_MS = 10_000;
let hasLock = false;

/** Each release line that package.json admits and that is maintained or widely used. */
const NODES = ['20', '22', '24'];
/** What a new clone does not have. */
const NOT_CLONED = [
  ...['node_modules', 'dist', 'coverage', '.writ', '.writ-lock'],
  ...['site/node_modules', 'site/dist'],
];

/**
 * Checkers of the compiler: each of them looks at the same types again, so four of them, which is its
 * default, take twice the CPU time of one.
 */
const CHECKERS_MAX = 4;

const SOURCES = ['--conditions=writ-source', '--import', 'tsx'];

/** Each tool is a script for this Node: no shell, no PATH, the same on every platform. */
const TOOLS = {
  biome: ['node_modules/@biomejs/biome/bin/biome'],
  tsc: ['node_modules/typescript/bin/tsc'],
  knip: ['node_modules/knip/bin/knip.js'],
  vite: ['node_modules/vite/bin/vite.js'],
  vitest: ['node_modules/vitest/vitest.mjs'],
  tsx: ['node_modules/tsx/dist/cli.mjs'],
  generate: [...SOURCES, 'scripts/generate.ts'],
  bench: [...SOURCES, 'bench/run.ts'],
  figures: [...SOURCES, 'scripts/figures.ts'],
  fuzz: [...SOURCES, 'scripts/fuzz.ts'],
  pictures: [...SOURCES, 'scripts/pictures.ts'],
  'try-deploy': [...SOURCES, 'scripts/try-deploy.ts'],
  release: [...SOURCES, 'scripts/release.ts'],
  site: [...SOURCES, 'scripts/site.ts'],
  'try-site': [...SOURCES, 'scripts/try-site.ts'],
  'fast-tests': [...SOURCES, 'scripts/fast-tests.ts'],
  demo: [...SOURCES, 'scripts/demo/main.ts'],
  sbom: [...SOURCES, 'scripts/sbom.ts'],
  suites: [...SOURCES, 'scripts/suites.ts'],
  vectors: [...SOURCES, 'scripts/vectors.ts'],
  simulate: [...SOURCES, 'scripts/simulate.ts'],
  mutants: [...SOURCES, 'scripts/mutants.ts'],
  kills: [...SOURCES, 'scripts/kills.ts'],
  rolling: [...SOURCES, 'scripts/rolling.ts'],
};

/** @type {Record<string, (args: string[]) => Promise<number | undefined>>} */
const VERBS = {
  start: async (args) => (await build()) || start(args),
  test: async (args) => (await build()) || test(args),
  'test:fast': (args) => run('fast-tests', args),
  'test:nodes': testNodes,
  check,
  ok: async (args) => (await build()) || (await check()) || test(args),
  fix: async () => (await run('biome', ['check', '--write', '.'])) || run('generate', []),
  dev: (args) => run('tsx', ['watch', SOURCES[0], 'examples/travel/main.ts', ...args]),
  build,
  prepack: async () => rmSync(join(ROOT, 'dist'), { recursive: true, force: true }) ?? build(),
  generate: (args) => run('generate', args),
  bench: async (args) => (await build()) || run('bench', args),
  figures: (args) => run('figures', args),
  fuzz: (args) => run('fuzz', args),
  pictures: (args) => run('pictures', args),
  'deploy:try': async (args) => (await build()) || run('try-deploy', args),
  'release:notes': (args) => run('release', args),
  site: async (args) => (await install(SITE)) || run('site', args),
  'site:try': async (args) =>
    (await install(SITE)) || (await run('tsc', ['--project', 'site'])) || run('try-site', args),
  demo: async (args) => (await build()) || run('demo', args),
  sbom: (args) => run('sbom', args),
  suites: async (args) => (await build()) || run('suites', args),
  vectors: (args) => run('vectors', args),
  simulate: (args) => run('simulate', args),
  mutants: (args) => run('mutants', args),
  kills: (args) => run('kills', args),
  rolling: async (args) => (await build()) || run('rolling', args),
};

const [name = '', ...args] = process.argv.slice(2);
const fault = olderNode() ?? unknownVerb();
if (fault) {
  say(fault);
  process.exitCode = 1;
} else {
  endWithShell();
  const code = (await install()) || (await VERBS[name]?.(args));
  // The showcase runs in this process and sets its own exit code.
  if (code !== undefined) process.exitCode = code;
}

function unknownVerb() {
  if (Object.hasOwn(VERBS, name)) return undefined;
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

/** The pages of the console, when a file that they may be made of is newer than they are. */
async function buildPages() {
  const made = statSync(PAGES, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const inputs = [
    'package-lock.json',
    'scripts/vite.config.ts',
    ...PAGE_SOURCES.flatMap((folder) => filesIn(folder)),
  ];
  if (inputs.every((file) => statSync(join(ROOT, file)).mtimeMs < made)) return 0;
  const vite = ['build', '--config', 'scripts/vite.config.ts', '--logLevel', 'warn'];
  return (await run('vite', [...vite, '--mode', 'verifier'])) || run('vite', vite);
}

function filesIn(/** @type {string} */ folder) {
  const found = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return found
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)));
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

function test(/** @type {string[]} */ args) {
  const report = process.env.WRIT_TEST_REPORT;
  const json = report ? ['--reporter=json', `--outputFile.json=${report}`] : [];
  // Set, not inherited: the suite must not depend on the NODE_ENV of its caller.
  return run('vitest', ['run', '--reporter=default', ...json, ...args], { NODE_ENV: 'test' });
}

/** Runs the suite on every Node of `NODES`, each with an install of its own. All of them run. */
async function testNodes(/** @type {string[]} */ args) {
  const folder = mkdtempSync(join(tmpdir(), 'writ-nodes-'));
  try {
    const codes = [];
    for (const major of NODES) {
      say(`Node ${major}: running the suite`);
      codes.push(await testOn(major, join(folder, major), args));
    }
    for (const [index, major] of NODES.entries()) {
      say(`Node ${major}: the suite ended with exit code ${codes[index]}`);
    }
    return codes.find((code) => code !== 0) ?? 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} major
 * @param {string} folder
 * @param {string[]} args
 */
async function testOn(major, folder, args) {
  // The package `node` would fetch its binary by an install script; these have it inside.
  const name = `node-${process.platform}-${process.arch}`;
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const install = [...npm(), 'install', '--prefix', folder, ...flags, `${name}@${major}`];
  const code = await exitOf(install, { quiet: true });
  if (code !== 0) return code;

  const clone = join(folder, 'clone');
  const filter = (/** @type {string} */ path) => !NOT_CLONED.includes(relative(ROOT, path));
  cpSync(ROOT, clone, { recursive: true, filter });
  const bin = join(folder, 'node_modules', name, 'bin');
  return exitOf([join(bin, 'node'), 'scripts/run.mjs', 'test', ...args], {
    cwd: clone,
    environment: { PATH: `${bin}${delimiter}${process.env.PATH}` },
  });
}

/** The quick and common mistakes first; then all the others at once, since most use one core alone. */
async function check() {
  const code = await run('biome', ['check', '.']);
  if (code !== 0) return code;
  const codes = await Promise.all([
    run('tsc', ['--noEmit', ...checkers(4)]),
    run('tsc', ['--project', 'src/console', ...checkers(4)]),
    run('generate', ['--check']),
    run('knip', []),
  ]);
  return codes.find((each) => each !== 0) ?? 0;
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
 * signal ends npm itself, the shell lives on without it. See docs/decisions/0045-signals-to-npm.md.
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

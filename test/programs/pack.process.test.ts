/**
 * The package as others get it: packed from a clean copy of the repository, installed into an empty
 * folder, and used there by its command, its types and every export. It is compiled already; that npm compiles it anew
 * before a pack is shown by `test/repository/run-script.process.test.ts`.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Analysis, checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, test } from 'vitest';
import { launchGroup, seen } from '../support/launch.ts';

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

/** In bytes. */
const TARBALL_MAX = 1_850_000;

/** In milliseconds. Only to end a test that hangs: the registry may be far away. */
const PATIENT = 300_000;

/** The same for the tests that work long. */
const LONG = { timeout: PATIENT };

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const root = mkdtempSync(join(tmpdir(), 'writ-pack-'));
const copy = join(root, 'copy');
const folder = join(root, 'empty');
let packed: Packed;
let installed: { readonly status: number | null; readonly stderr: string };

beforeAll(() => {
  copyRepository(copy);
  const how = ['--json', '--ignore-scripts', '--pack-destination', root];
  const { stdout, stderr } = run('npm', ['pack', ...how], copy);
  assert.match(stdout, /^\[/, stderr);
  [packed] = JSON.parse(stdout);

  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const tarball = join(root, packed.filename);
  installed = run('npm', ['install', '--no-audit', '--no-fund', tarball], folder);
}, PATIENT);
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** What a new clone has, what is about to be committed and what was compiled; the dependencies of this one serve it too. */
function copyRepository(to: string): void {
  const { stdout } = run('git', ['ls-files', '-z', '-co', '--exclude-standard'], '.');
  for (const path of stdout.split('\0').filter((each) => each !== '' && existsSync(each))) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    cpSync(path, join(to, path));
  }
  cpSync('dist/src', join(to, 'dist/src'), { recursive: true });
  // Each by a link of its own: an install in the copy removes links, and nothing of this repository.
  mkdirSync(join(to, 'node_modules'));
  for (const name of readdirSync('node_modules')) {
    symlinkSync(resolve('node_modules', name), join(to, 'node_modules', name));
  }
}

function run(program: string, args: readonly string[], cwd: string, more: object = {}) {
  // What an npm around the suite says of itself is not meant for the ones in here.
  const own = Object.entries(process.env).filter(
    ([name]) => !/^npm_(?!config_)|prefix$/i.test(name),
  );
  const env = { ...Object.fromEntries(own), ...more };
  return spawnSync(program, args, { cwd, env, encoding: 'utf8' });
}

/** What npm warns about, without the settings of this machine. */
function warnings(stderr: string): string[] {
  const lines = stderr.split('\n').filter((line) => /^npm (warn|error)/i.test(line));
  return lines.filter((line) => !/Unknown (user|env|project|global) config/.test(line));
}

function node(source: string, more?: object) {
  const args = ['--input-type=module', '--eval', source];
  return run(process.execPath, args, folder, more);
}

function writ(...args: string[]) {
  return run(join(folder, 'node_modules/.bin/writ'), args, folder);
}

test('npm pack ships the compiled sources, the API page and the pages of the console, and no test, benchmark or tool', () => {
  const paths = packed.files.map(({ path }) => path);
  const pages = paths.filter((path) => path.startsWith('dist/src/console-page/'));
  const odd = paths.filter(
    (path) => !/^dist\/src\/.*\.(js|d\.ts)$/.test(path) && !pages.includes(path),
  );

  assert.deepEqual(odd.sort(), [
    'LICENSE',
    'README.md',
    'dist/src/openapi/page.json',
    'package.json',
  ]);
  const assets = /^dist\/src\/console-page\/assets\/[\w-]+-[\w-]{8}\.(js|css|svg)$/;
  assert.deepEqual(pages.filter((path) => !assets.test(path)).sort(), [
    'dist/src/console-page/index.html',
    'dist/src/console-page/verify.html',
  ]);
  assert.ok(
    pages.some((path) => path.endsWith('.js')) && pages.some((path) => path.endsWith('.css')),
  );
  assert.deepEqual(
    paths.filter((path) => path.includes('.test.')),
    [],
  );
  assert.ok(paths.includes('dist/src/cli/bin.js'));
  assert.ok(packed.size < TARBALL_MAX, `the tarball has ${packed.size} bytes`);
});

test('the package runs nothing when it is installed', () => {
  const hooks = ['preinstall', 'install', 'postinstall', 'prepare'];

  assert.deepEqual(
    hooks.filter((hook) => hook in manifest.scripts),
    [],
  );
  assert.equal(existsSync('binding.gyp'), false);
});

test('npm install warns about nothing that the package could change', () => {
  // npm advises from 11.16 on to review the scripts of the SQLite package: its binaries are in the package,
  // so its script has nothing to do.
  const ours = warnings(installed.stderr);
  const advised = ours.filter((line) => / install-scripts +\S+@.*\((pre|post)?install:/.test(line));

  assert.equal(installed.status, 0, installed.stderr);
  assert.deepEqual(
    ours.filter((line) => !line.includes('install-scripts')),
    [],
  );
  assert.deepEqual(
    advised.filter((line) => !line.includes(' @photostructure/sqlite@')),
    [],
  );
});

test('the command prints its version and help, and exits with 2 for an unknown command', () => {
  const version = writ('--version');
  const help = writ('--help');
  const unknown = writ('sing');

  assert.deepEqual([version.status, version.stdout], [0, `${manifest.version}\n`]);
  assert.equal(help.status, 0);
  assert.match(help.stdout, /^Usage: writ [\s\S]*--version[\s\S]* verify /);
  assert.deepEqual([unknown.status, unknown.stdout], [2, '']);
});

const EXPORTS = Object.keys(manifest.exports).map((name) => name.replace(/^\./, 'writ'));
for (const name of EXPORTS) {
  test(`${name} can be imported`, () => {
    const { stdout, stderr } = node(`console.log(Object.keys(await import('${name}')).length);`);

    assert.ok(Number(stdout) > 0, stderr);
  });
}

const DESK = `
import { createService, defineCapability, serve } from 'writ';
const hello = defineCapability({
  name: 'hello', description: 'Say hello', inputs: [], side_effect: 'read',
  output: { type: 'greeting', fields: ['said'] }, minimum_scope: ['greet'],
  handler: () => ({ said: 'hello' }),
});
const desk = createService({ id: 'small-desk', capabilities: [hello] });`;

test('a service of a few lines runs on the package alone, with its store in a file', () => {
  const { status, stdout, stderr } = node(`${DESK}
    const { url, close } = await serve(desk, { environment: { PORT: '0', WRIT_LOG_LEVEL: 'silent' } });
    const { svc_discovery } = await (await fetch(url + '/.well-known/svc')).json();
    console.log(svc_discovery.service_id, Object.keys(svc_discovery.capabilities));
    await close();`);

  assert.equal(status, 0, stderr);
  assert.equal(stdout, "small-desk [ 'hello' ]\n");
  assert.ok(existsSync(join(folder, '.writ/writ.db')));
});

test('telemetry that is enabled and not installed names the packages to install', () => {
  const { status, stderr } = node(`${DESK}
    await serve(desk, { environment: { PORT: '0', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' } })
      .catch(({ message }) => { console.error(message); process.exitCode = 3; });`);

  assert.equal(existsSync(join(folder, 'node_modules/@opentelemetry')), false);
  assert.equal(status, 3);
  assert.match(
    stderr,
    /^Cannot use OTEL_EXPORTER_OTLP_ENDPOINT: its packages are not installed; run: /,
  );
  for (const [name, range] of Object.entries(manifest.peerDependencies)) {
    assert.ok(stderr.includes(` ${name}@${range}`), name);
    assert.equal(manifest.peerDependenciesMeta[name]?.optional, true, name);
  }
});

test('npm publish has nothing to correct, and publishes for all with provenance', LONG, () => {
  // The copy, not the tarball: npm corrects only the package.json of a folder.
  const args = ['publish', '--dry-run', '--ignore-scripts', '--loglevel=notice'];
  const { status, stderr } = run('npm', args, copy);

  assert.equal(status, 0, stderr);
  assert.deepEqual(
    warnings(stderr).filter(
      (line) => !/requires you to be logged in|^npm warn publish *$/.test(line),
    ),
    [],
  );
  assert.match(stderr, /^npm notice Publishing to \S+ with tag latest and public access/m);
  assert.deepEqual(manifest.publishConfig, { access: 'public', provenance: true });
});

test('publint finds nothing in the package, not even a suggestion', async () => {
  const tarball = new Uint8Array(readFileSync(join(root, packed.filename)));
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true });

  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg)),
    [],
  );
});

test(
  'attw resolves the types of every export as ESM, for Node and for bundlers',
  LONG,
  async () => {
    const tarball = new Uint8Array(readFileSync(join(root, packed.filename)));
    const { types, problems, entrypoints } = (await checkPackage(
      createPackageFromTarballData(tarball),
    )) as Analysis;
    // The profile of an ESM-only package. "node10" does not know exports, and under "node16-cjs" the package is
    // ESM, which every Node that it runs on can require: the test after this one does.
    const others = ['node10', 'node16-cjs'];
    const ours = problems.filter(
      (each) => !('resolutionKind' in each && others.includes(each.resolutionKind)),
    );

    assert.equal(types.kind, 'included');
    assert.deepEqual(ours, []);
    assert.deepEqual(Object.keys(entrypoints), Object.keys(manifest.exports));
  },
);

test('CommonJS can require every export', LONG, () => {
  const source = `for (const name of ${JSON.stringify(EXPORTS)}) if (!require(name)) process.exit(1);`;
  const { status, stderr } = run(process.execPath, ['--eval', source], folder);

  assert.equal(status, 0, stderr);
});

/** What a user of TypeScript writes, and what must not compile. */
const USE = `${EXPORTS.map((name, index) => `import * as part${index} from '${name}';`).join('\n')}
${DESK}
export const parts = [${EXPORTS.map((_, index) => `part${index}`).join(', ')}];
export const url: Promise<string> = serve(desk).then((running) => running.url);
const COMMON = { name: 'pay', description: 'Pay', side_effect: 'write', minimum_scope: ['pay'] } as const;
export const pay = defineCapability({
  ...COMMON,
  inputs: [{ name: 'amount', type: 'number' }],
  handler: ({ amount }) => ({ paid: amount + 1 }),
});
// @ts-expect-error: a capability has a name.
defineCapability({ description: 'Say hello' });
// @ts-expect-error: an input of a list has no field "minimum".
defineCapability({ ...COMMON, inputs: [{ name: 'amount', type: 'number', minimum: 1 }] });
// @ts-expect-error: a capability has no field "dedline".
defineCapability({ ...COMMON, dedline: 'PT1S' });
`;

test(
  'the types of every export compile in strict mode, with TypeScript 5.9 for Node and with 7 for bundlers',
  LONG,
  async () => {
    writeFileSync(join(folder, 'use.ts'), USE);
    const options = ['--strict', '--noEmit', '--target', 'es2023', '--skipDefaultLibCheck'];
    const types = ['--types', 'node', '--typeRoots', resolve('node_modules/@types')];
    const nodenext = ['--module', 'nodenext', '--moduleResolution', 'nodenext'];
    const bundler = ['--module', 'esnext', '--moduleResolution', 'bundler'];
    const compile = async (name: string, how: readonly string[]) => {
      const program = resolve('node_modules', name, 'bin/tsc');
      const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'));
      const args = [program, ...options, ...how, ...types, 'use.ts'];
      const faults = await promisify(execFile)(process.execPath, args, { cwd: folder }).then(
        () => '',
        ({ stdout, stderr }) => stdout + stderr,
      );
      return [version.replace(/\.\d+$/, ''), how.at(-1), faults];
    };

    const compiled = await Promise.all([
      compile('typescript-5.9', nodenext),
      // attw shows that both ways lead to the same declarations.
      compile('typescript', ['--checkers', '1', ...bundler]),
    ]);

    assert.deepEqual(compiled, [
      ['5.9', 'nodenext', ''],
      ['7.0', 'bundler', ''],
    ]);
  },
);

test(
  'writ init makes a service that installs, passes its tests, compiles and starts',
  LONG,
  async () => {
    const office = join(root, 'office');
    const own = { XDG_STATE_HOME: join(root, 'state') };
    const tarball = `file:${join(root, packed.filename)}`;
    const made = writ('init', office, '--package', tarball);
    assert.equal(made.status, 0, made.stderr);

    const npm = (...args: string[]) => run('npm', args, office, own);
    // Most packages are there since the first installation: npm checks them and adds the others.
    cpSync(join(folder, 'node_modules'), join(office, 'node_modules'), {
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
    });
    const fetched = npm('install', '--prefer-offline', '--no-audit', '--no-fund');
    assert.equal(fetched.status, 0, fetched.stderr);
    const tested = npm('test');
    assert.match(tested.stdout, /^\S+ pass 3$/m, tested.stdout + tested.stderr);
    assert.equal(tested.status, 0);
    const typed = npm('run', 'types');
    assert.equal(typed.status, 0, typed.stdout);

    const service = launchGroup(['npm', 'start'], office, own);
    const url = await seen(service, /Serving at (http:\/\/127\.0\.0\.1:\d+) /);
    // As the README there says.
    const named = { ...own, WRIT_CLIENT_SERVICE: url };
    const asked = (...args: string[]) =>
      run(join(office, 'node_modules/.bin/writ'), args, office, named);
    const scopes = ['--scope', 'supplies.read', '--scope', 'supplies.order'];
    const terms = ['--subject', 'agent:clerk', '--budget', '300 EUR', '--out', 'clerk.token'];
    const issued = asked('token', 'issue', '--token-file', 'owner.key', ...scopes, ...terms);
    assert.equal(issued.status, 0, issued.stderr);
    const order = ['invoke', 'order_item', '--token-file', 'clerk.token', '--json'];
    const chair = () => asked(...order, '--param', 'item=chair', '--param', 'count=1');
    const waiting = chair();
    assert.equal(waiting.status, 3, waiting.stderr);
    const { approval_request_id } = JSON.parse(waiting.stdout).failure;
    const owned = [approval_request_id, '--token-file', 'owner.key'];
    const seenByOwner = asked('approvals', 'show', ...owned);
    const [, digest] = /Parameters +([0-9a-f]{64})/.exec(seenByOwner.stdout) ?? [];
    const decided = asked('approvals', 'approve', ...owned, '--yes', `--digest=sha256:${digest}`);
    assert.equal(decided.status, 0, decided.stderr);
    const ordered = chair();
    assert.equal(ordered.status, 0, ordered.stderr);
    const result = { order_id: 'order-1', item: 'chair', count: 1 };
    assert.deepEqual(JSON.parse(ordered.stdout).result, result);
    service.stop('SIGINT');
    await service.ended;
    assert.match(service.output.err, /"msg":"stopped"/);
  },
);

test('the command and the import report in one line that Node is too old', () => {
  const path = join(folder, 'node_modules/writ/package.json');
  const content = readFileSync(path, 'utf8');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(content), engines: { node: '>=99.1' } }));
  try {
    const line = `Cannot run on Node ${process.versions.node}: Writ needs Node 99.1 or later\n`;
    const command = writ('verify', '--help');
    const imported = node(`await import('writ').catch(({ message }) => console.log(message));`);

    assert.deepEqual([command.status, command.stdout, command.stderr], [2, '', line]);
    assert.equal(imported.stdout, line);
  } finally {
    writeFileSync(path, content);
  }
});

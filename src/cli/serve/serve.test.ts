import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../../test/support/ends.ts';
import { main } from '../main.ts';

async function writ(args: readonly string[], env = {}) {
  const [out, err]: [string[], string[]] = [[], []];
  const status = await main(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env,
  });
  return { status, out: out.join(''), err: err.join('') };
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

/** A folder as `npm install` leaves it, with these files. */
function project(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(process.cwd(), join(folder, 'node_modules/writ'));
  write(folder, files);
  return folder;
}

const SERVICE = `import { createService } from 'writ';
export default createService({ id: 'a', capabilities: [] });`;
const SEVERAL = `import { createService } from 'writ';
export const a = createService({ id: 'a', capabilities: [] });
export const b = createService({ id: 'b', capabilities: [] });`;

/** Those that Node finds while it imports are in test/programs/serve-file.process.test.ts. What is written after `Cannot serve "<file>": `. */
const REFUSED: [name: string, files: Record<string, string>, file: string, says: RegExp][] = [
  ['a file that is not there', {}, 'a.mjs', /^there is no such file$/],
  ['a folder', {}, '.', /^it is a folder, expected a file$/],
  ['another language', { 'a.json': '{}' }, 'a.json', /^expected a name that ends with \.ts, /],
  [
    'TypeScript outside of an ES module package',
    { 'package.json': '{}', 'a.ts': '' },
    'a.ts',
    /^it is not an ES module; write "type": "module" into its package\.json$/,
  ],
  [
    'a broken package.json',
    { 'package.json': '{', 'a.ts': '' },
    'a.ts',
    /^".*package\.json" is not JSON$/,
  ],
  [
    'a file that throws',
    { 'a.mjs': "\n\nthrow new Error('set SHOP_REGION\\u001b first');" },
    'a.mjs',
    /^\S*a\.mjs:3: set SHOP_REGION\\u\{1b\} first$/,
  ],
  ['a file that throws no error', { 'a.mjs': 'throw 3;' }, 'a.mjs', /^it throws 3$/],
  [
    'a file without a service',
    { 'a.mjs': 'export const service = {};' },
    'a.mjs',
    /^it exports no service; write "export const service = createService\(…\)", without serve\(\)$/,
  ],
  [
    'several services',
    { 'a.mjs': SEVERAL },
    'a.mjs',
    /^it exports several services \(a, b\); name one of them "service"$/,
  ],
];

for (const command of ['serve', 'stdio']) {
  for (const [name, files, file, says] of REFUSED) {
    test(`writ ${command} refuses ${name} in one line`, async () => {
      const path = join(project(files), file);
      const pipes = { input: process.stdin, output: process.stderr };
      const errors: string[] = [];
      const io = {
        out: assert.fail,
        err: (text: string) => void errors.push(text),
        env: {},
        pipes,
      };

      const status = await main([command, path], io);

      assert.equal(status, 2);
      const [line = '', ...more] = errors.join('').trimEnd().split('\n');
      assert.deepEqual(more, []);
      assert.equal(line.startsWith(`Cannot serve "${path}": `), true, line);
      assert.match(line.slice(`Cannot serve "${path}": `.length), says);
    });
  }
}

test('writ serve refuses a file that uses another installation of the package', async () => {
  const folder = temporaryFolder();
  write(join(folder, 'node_modules/writ'), {
    'package.json': '{ "name": "writ", "type": "module", "exports": "./index.js" }',
    'index.js': '',
  });
  write(folder, { 'a.mjs': "import 'writ';" });

  const { status, err } = await writ(['serve', join(folder, 'a.mjs')]);

  assert.equal(status, 2);
  assert.match(err, /: it uses another installation of writ .*; run "npx writ" in its folder\n$/);
});

test('writ serve lists the faults of the configuration', async () => {
  const env = { WRIT_LOG_LEVEL: 'loud', WRIT_STOER: 'x' };

  const { status, err } = await writ(['serve', join(project({ 'a.mjs': SERVICE }), 'a.mjs')], env);

  assert.equal(status, 2);
  assert.match(
    err,
    /^Cannot start with this configuration:\n {2}Cannot use variable "WRIT_STOER": .*\n {2}Cannot use setting "log_level": .*\n$/,
  );
});

test('writ serve --watch refuses several workers', async () => {
  const { status, err } = await writ(['serve', 'a.mjs', '--watch'], { WRIT_WORKERS: '2' });

  assert.equal(status, 2);
  assert.equal(err, 'Cannot serve "a.mjs": --watch is for one process; leave out WRIT_WORKERS\n');
});

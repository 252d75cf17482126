/**
 * `writ serve` and `writ stdio` as processes, in a folder where the package is installed: what they serve, what they
 * print, and how they end.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { type Launched, launch, seen } from '../support/launch.ts';

const BIN = join(process.cwd(), 'dist/src/cli/bin.js');

/** Only to end a test that hangs: a busy machine starts processes slowly. */
const PATIENT = { timeout: 120_000 };

const ENVIRONMENT = { WRIT_STORE: 'memory:', WRIT_LOG_LEVEL: 'warn' };

const SERVICE = (description: string) => `
import { createService, defineCapability, HandlerFailure } from 'writ';
import { found } from './stock.ts';
console.log('printed by the file');
interface Asked { readonly product: string }
const look = defineCapability({
  name: 'look', description: '${description}', side_effect: 'read', minimum_scope: ['stock.read'],
  inputs: [{ name: 'product', type: 'string' }],
  handler({ product }: Asked) {
    console.log('printed by a handler');
    if (product === 'none') throw new HandlerFailure('Cannot find it', 'outcome_unknown');
    return { found: found() };
  },
});
export const service = createService({ id: 'stock', capabilities: [look] });
`;

/** A folder as `npm install` leaves it, with these files. */
function project(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(process.cwd(), join(folder, 'node_modules/writ'));
  write(folder, { 'package.json': '{ "type": "module" }', ...files });
  return folder;
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

const STOCK = {
  'service.ts': SERVICE('Looks'),
  'stock.ts': 'export const found = (): number => 7;\n',
  'writ.config.yaml': `
identities:
  - principal: human:ann
    key: key-of-ann
    scopes: [stock.read]
`,
};

function writ(args: readonly string[], folder: string, environment = {}): Launched {
  return launch([BIN, ...args], folder, { ...ENVIRONMENT, XDG_STATE_HOME: folder, ...environment });
}

const SERVING =
  /Serving at (http:\/\/127\.0\.0\.1:\d+) \(console: http:\S+\/console\/, MCP: http:\S+\/mcp\)\n/;

async function asked(url: string, path: string, body?: object, bearer = '') {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${bearer}` };
  const post = body && { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(url + path, { headers: bearer ? headers : {}, ...post });
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  return (await response.json()) as any;
}

async function described(url: string): Promise<string> {
  const { svc_discovery } = await asked(url, '/.well-known/svc');
  return svc_discovery.capabilities.look.description;
}

describe('writ serve', PATIENT, () => {
  test('serves a TypeScript file with the settings of the folder, until a signal', async () => {
    const service = writ(['serve', 'service.ts'], project(STOCK));
    const url = await seen(service, SERVING);

    const { token } = await asked(url, '/svc/tokens', { scope: ['stock.read'] }, 'key-of-ann');
    const look = (product: string) =>
      asked(url, '/svc/invoke/look', { parameters: { product } }, token);
    assert.deepEqual((await look('lamp')).result, { found: 7 });
    // The error of the file's own copy of the package is known to the service.
    assert.equal((await look('none')).failure.type, 'outcome_unknown');
    service.child.kill('SIGTERM');
    assert.equal(await service.ended, 0);
    assert.match(service.output.out, SERVING);
  });

  test('serves by the workers of WRIT_WORKERS, and says once where', async () => {
    const more = { WRIT_WORKERS: '2', WRIT_STORE: 'sqlite:stock.db', WRIT_LOG_LEVEL: 'info' };
    const service = writ(['serve', 'service.ts'], project(STOCK), more);
    const url = await seen(service, SERVING);

    assert.equal(await described(url), 'Looks');
    assert.equal(service.output.err.split('"msg":"worker started"').length, 3);
    service.child.kill('SIGTERM');
    assert.equal(await service.ended, 0);
    assert.equal(service.output.out.split('Serving at').length, 2);
  });

  test('--watch serves the changed file and what it imports, and keeps the old one while the new is faulty', async () => {
    const folder = project(STOCK);
    const service = writ(['serve', 'service.ts', '--watch'], folder);
    const url = await seen(service, SERVING);
    const { token } = await asked(url, '/svc/tokens', { scope: ['stock.read'] }, 'key-of-ann');
    const look = async () =>
      (await asked(url, '/svc/invoke/look', { parameters: { product: 'lamp' } }, token)).result;

    write(folder, { 'stock.ts': 'export const found = (): number => 8;\n' });
    await seen(service, /(Reloaded "service.ts")/);
    assert.deepEqual(await look(), { found: 8 });
    write(folder, { 'stock.ts': 'export const found = (): number => ;\n' });
    await seen(
      service,
      /(Cannot reload "service.ts" \(the service goes on as before\): stock\.ts:1: )/,
    );
    assert.deepEqual(await look(), { found: 8 });
    write(folder, { 'stock.ts': 'export const found = (): number => 9;\n' });
    await seen(service, /Reloaded[\s\S]*(Reloaded)/);
    assert.deepEqual(await look(), { found: 9 });
    write(folder, { 'service.ts': SERVICE('Looks').replace("id: 'stock'", "id: 'shop'") });
    await seen(service, /(Cannot reload "stock": the definition is of "shop")/);
    write(folder, { 'service.ts': SERVICE('Looks again') });
    await seen(service, /(?:Reloaded[\s\S]*){2}(Reloaded)/);
    assert.equal(await described(url), 'Looks again');
    service.child.kill('SIGTERM');
    assert.equal(await service.ended, 0);
  });

  test('--watch follows CommonJS modules too', async () => {
    const folder = project({
      'service.cjs': `
const { createService, defineCapability } = require('writ');
const look = defineCapability({
  name: 'look', description: require('./text.cjs'), side_effect: 'read', minimum_scope: ['a.b'],
  handler: () => ({}),
});
module.exports = { service: createService({ id: 'stock', capabilities: [look] }) };`,
      'text.cjs': "module.exports = 'Looks';",
    });
    const service = writ(['serve', 'service.cjs', '--watch'], folder);
    const url = await seen(service, SERVING);
    assert.equal(await described(url), 'Looks');

    write(folder, { 'text.cjs': "module.exports = 'Looks again';" });
    await seen(service, /(Reloaded)/);
    assert.equal(await described(url), 'Looks again');
  });

  test('ends with one line where the port is taken', async () => {
    const folder = project(STOCK);
    const first = writ(['serve', 'service.ts'], folder);
    const { port } = new URL(await seen(first, SERVING));

    const second = writ(['serve', 'service.ts'], folder, { PORT: port });

    assert.equal(await second.ended, 2);
    assert.match(
      second.output.err,
      /^Cannot listen on 127\.0\.0\.1:\d+: another program listens there; .*\n$/m,
    );
  });
});

const THROWS = `interface Shop { readonly name: string }

const shop: Shop = { name: 'x' };
function stop(): never { throw new Error('set SHOP_REGION first'); }
if (shop) stop();
`;
const FAULTY = `import { createService, defineCapability } from 'writ';

export const service = createService({ id: 'a b', capabilities: [defineCapability({ name: 'look' } as never)] });
`;

interface Refused {
  readonly name: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly file?: string;
  readonly says: RegExp;
}

/** All that standard error has. */
const REFUSED: readonly Refused[] = [
  {
    name: 'TypeScript that does not parse',
    files: { 'a.ts': 'const a: number = 1;\nconst = 3;\n' },
    says: /^Cannot serve "a\.ts": a\.ts:2: Expected identifier but found "="\n$/,
  },
  {
    name: 'JavaScript that does not parse',
    files: { 'a.mjs': 'const a = 1;\nconst = 3;\n' },
    file: 'a.mjs',
    says: /^Cannot serve "a\.mjs": a\.mjs:2: Unexpected token '='\n$/,
  },
  {
    name: 'an imported file that does not parse',
    files: { 'a.mjs': "import './b.mjs';", 'b.mjs': 'const = 3;' },
    file: 'a.mjs',
    says: /^Cannot serve "a\.mjs": (a file that it imports does not parse|b\.mjs:1): Unexpected token '='\n$/,
  },
  {
    name: 'an import of a file that is not there',
    files: { 'a.mjs': "import './b.mjs';" },
    file: 'a.mjs',
    says: /^Cannot serve "a\.mjs": cannot find module '.*b\.mjs' imported from .*a\.mjs\n$/,
  },
  {
    name: 'TypeScript that throws',
    files: { 'a.ts': THROWS },
    says: /^Cannot serve "a\.ts": a\.ts:4: set SHOP_REGION first\n$/,
  },
  {
    name: 'a file that never finishes loading',
    files: { 'a.mjs': 'await new Promise(() => {});' },
    file: 'a.mjs',
    says: /^Cannot serve "a\.mjs": it never finished loading: .*\n$/,
  },
  {
    name: 'a definition with faults, each on a line',
    files: { 'a.ts': FAULTY },
    says: /^Cannot serve "a\.ts": a\.ts:3: the definition has faults:\n {2}service "a b": .*\n( {2}capability look: .*\n)+$/,
  },
  {
    name: 'a file without a service, although it keeps the process alive',
    files: { 'a.mjs': "import { createServer } from 'node:http';\ncreateServer().listen(0);\n" },
    file: 'a.mjs',
    says: /^Cannot serve "a\.mjs": it exports no service; write .*, without serve\(\)\n$/,
  },
];

describe('writ serve ends with 2 and says why, without a stack, for', PATIENT, () => {
  for (const { name, files = {}, file = 'a.ts', says } of REFUSED) {
    test(name, async () => {
      const service = writ(['serve', file], project(files));

      assert.equal(await service.ended, 2, service.output.err);
      assert.match(service.output.err, says);
      assert.equal(service.output.out, '');
    });
  }
});

describe('writ stdio', PATIENT, () => {
  test('prints nothing but the protocol, whatever the file prints, and ends with its input', async () => {
    const service = writ(['stdio', 'service.ts'], project(STOCK));
    const { stdin } = service.child;
    const ask = (id: number, method: string, params: object) =>
      stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    ask(1, 'svc.tokens.issue', { auth: { bearer: 'key-of-ann' }, scope: ['stock.read'] });
    const token = await seen(service, /"token":"([^"]+)"/);
    const parameters = { product: 'lamp' };
    ask(2, 'svc.invoke', { auth: { bearer: token }, capability: 'look', parameters });
    await seen(service, /("id":2,)/);
    stdin.end();

    assert.equal(await service.ended, 0);
    const lines = service.output.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ id }) => id),
      [1, 2],
    );
    assert.deepEqual(lines[1].result.result, { found: 7 });
    assert.match(service.output.err, /printed by the file\n[\s\S]*printed by a handler\n/);
  });

  test('ends with 2 and says why for a file without a service', async () => {
    const service = writ(['stdio', 'a.mjs'], project({ 'a.mjs': 'console.log("hello");' }));

    assert.equal(await service.ended, 2);
    assert.match(service.output.err, /^hello\nCannot serve "a\.mjs": it exports no service; .*\n$/);
    assert.equal(service.output.out, '');
  });
});

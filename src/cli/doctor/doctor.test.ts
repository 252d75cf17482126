import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { beforeEach, test } from 'vitest';
import { atEnd, temporaryFolder } from '../../../test/support/ends.ts';
import { entry } from '../../../test/support/fixtures.ts';
import { freshDatabase, runSql } from '../../../test/support/postgres.ts';
import { rotateKey } from '../../keyring/key-folder.ts';
import { openKeyring } from '../../keyring/keyring.ts';
import { openMark, openStore } from '../../storage/open.ts';
import { main } from '../main.ts';
import type { Finding } from './finding.ts';
import { checkKeys } from './keys-check.ts';

let folder: string;
let env: Record<string, string>;
beforeEach(() => {
  folder = temporaryFolder();
  env = { WRIT_DATA: join(folder, 'data'), WRIT_MARK: join(folder, 'elsewhere/mark.db') };
  configure({});
});

const file = () => join(folder, 'data/writ.db');

/** A file of its own each time: a file is read once in a process. */
function configure(settings: object): void {
  const path = join(folder, `writ.config-${readdirSync(folder).length}.json`);
  writeFileSync(path, JSON.stringify(settings), { mode: 0o600 });
  env.WRIT_CONFIG = path;
}

async function doctor(...args: string[]) {
  let out = '';
  let err = '';
  const io = {
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
    env,
  };
  const status = await main(['doctor', '--json', ...args], io);
  const findings = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Finding);
  return { status, findings, out, err };
}

/** The findings of one thing, as lines. */
function about(findings: readonly Finding[], what: string): string {
  return findings
    .filter((each) => each.what === what)
    .map(({ level, found, advice }) => `${level} ${found} — ${advice}`)
    .join('\n');
}

/** A store with entries, its mark and its keys, as a service leaves them. */
async function whole(): Promise<void> {
  openKeyring({ folder: join(folder, 'data/keys') }, QUIET).close();
  const store = await openStore(`sqlite:${file()}`);
  await store.append([entry(), entry()]);
  const mark = await openMark(`sqlite:${env.WRIT_MARK}`);
  await mark.setStatus(store.logId, 'accepted');
  await mark.close();
  await store.close();
}

const QUIET = { now: () => new Date(), onWarning: () => undefined };

test('writ doctor finds nothing in a whole service, and prints every version', async () => {
  await whole();

  const { status, findings, err } = await doctor();

  assert.equal(err, '');
  assert.deepEqual(
    findings.filter(({ level }) => level === 'fault'),
    [],
  );
  assert.equal(status, 0);
  assert.match(
    about(findings, 'versions'),
    /writ \d.*Node \d.*svc\/\d.*schema \d+ \(SQLite\) and \d+ \(PostgreSQL\).*writ-backup\/1/,
  );
  assert.match(about(findings, 'store'), /^ok sqlite:.*opens, log [0-9a-f-]{36}/);
  assert.match(about(findings, 'store write'), /^ok/);
  assert.match(about(findings, 'mark'), /^ok/);
  assert.match(about(findings, 'clock'), /^ok the clock of the store differs by/);
  assert.match(about(findings, 'keys'), /^ok the token key has signed for 0 days/);
});

test('writ doctor prints one line for each check to people, in colour on a terminal', async () => {
  let out = '';
  const io = {
    out: (text: string) => {
      out += text;
    },
    err: () => undefined,
    env,
  };
  await main(['doctor'], io);
  assert.match(out, /^ok {5}versions: /m);
  assert.match(out, /^warn {3}store: there is no store in .* {2}— start the service once/m);

  out = '';
  await main(['doctor'], { ...io, isTerminal: { out: true, err: false } });
  assert.ok(out.includes('\u001b[32mok\u001b[39m'));
});

test('writ doctor makes nothing where nothing is', async () => {
  const { status, findings } = await doctor();

  assert.equal(status, 0);
  assert.match(about(findings, 'keys'), /^warn there is no folder/);
  assert.deepEqual(readdirSync(folder), ['writ.config-0.json']);
});

test('writ doctor warns of variables that are no settings', async () => {
  Object.assign(env, { WRIT_SERVICE_HOST: '10.0.0.7', WRIT_PORT: 'tcp://10.0.0.7:80' });

  const { status, findings } = await doctor();

  assert.equal(status, 0);
  assert.match(
    about(findings, 'configuration'),
    /^warn no settings, and ignored: WRIT_SERVICE_HOST, WRIT_PORT — .*enableServiceLinks: false/m,
  );
});

test('writ doctor names every fault of the configuration', async () => {
  configure({ port: 'x', stoer: 'memory:' });
  env.WRIT_PROT = '1';

  const { status, findings } = await doctor();

  assert.equal(status, 1);
  const text = about(findings, 'configuration');
  for (const part of ['"port"', '"stoer"', 'WRIT_PROT']) assert.ok(text.includes(part), text);
});

test('writ doctor warns of values that are allowed and unwise, without printing them', async () => {
  configure({
    store: 'memory:',
    log_level: 'silent',
    identities: [{ principal: 'service:one', key: 'hunter2-hunter2', scopes: ['operator:*'] }],
  });
  chmodSync(env.WRIT_CONFIG as string, 0o644);

  const { findings, out } = await doctor();

  const text = about(findings, 'configuration');
  for (const part of ['in memory', 'hides alarms', 'service:one', 'others can read']) {
    assert.ok(text.includes(part), text);
  }
  assert.doesNotMatch(out, /hunter2/);
});

test('writ doctor warns of an open service without TLS', async () => {
  configure({ public_url: 'http://desk.invalid' });

  const { findings } = await doctor();

  assert.match(about(findings, 'configuration'), /public_url has no TLS/);
  assert.match(about(findings, 'service'), /^warn .*does not answer/);
});

for (const [name, open, raise] of [
  [
    'SQLite',
    async () => `sqlite:${file()}`,
    async () => {
      const raw = new DatabaseSync(file());
      raw.exec('PRAGMA user_version = 900');
      raw.close();
    },
  ],
  [
    'PostgreSQL',
    async () => (await freshDatabase()).url,
    async (url: string) => runSql(url, 'UPDATE meta SET version = 900'),
  ],
] as const) {
  test(`every command refuses a newer store in ${name}, names both versions and says what to do`, async () => {
    const url = await open();
    await (await openStore(url)).close();
    await raise(url);
    env.WRIT_STORE = url;
    await (await openMark(`sqlite:${env.WRIT_MARK}`)).close();
    configure({ identities: [{ principal: 'service:op', key: 'op-key', scopes: ['operator:*'] }] });
    const message =
      /version 900 of the schema, this program knows \d+; start the version of the program that wrote it/;

    const { status, findings } = await doctor();
    assert.equal(status, 1);
    assert.match(about(findings, 'store'), message);
    for (const args of [
      ['fsck'],
      ['backup', '--out', join(folder, 'out.gz')],
      ['recover', '--accept-loss'],
    ]) {
      let err = '';
      const io = {
        out: () => undefined,
        err: (text: string) => {
          err += text;
        },
        env: { ...env, WRIT_CLIENT_CREDENTIAL: 'op-key' },
      };
      assert.equal(await main(args, io), 2);
      assert.match(err, message);
    }
    assert.equal(existsSync(join(folder, 'out.gz')), false);
  });
}

test('writ doctor finds a store that cannot be written', async () => {
  await whole();
  const raw = new DatabaseSync(file());
  raw.exec("CREATE TRIGGER stop BEFORE INSERT ON probes BEGIN SELECT raise(ABORT, 'no'); END");
  raw.close();

  const { status, findings } = await doctor();

  assert.equal(status, 1);
  assert.match(about(findings, 'store write'), /^fault no —/);
});

test('writ doctor finds a database that does not answer, and shows no password', async () => {
  env.WRIT_STORE = 'postgres://writ:hunter2@127.0.0.1:1/writ';

  const { status, findings, out } = await doctor();

  assert.equal(status, 1);
  assert.match(about(findings, 'store'), /^fault postgres:\/\/127\.0\.0\.1:1\/writ: /);
  assert.doesNotMatch(out, /hunter2/);
});

test('writ doctor warns of a long write-ahead log', async () => {
  await whole();
  // A copy: a closed connection deletes the log of its own file when its statements are collected.
  const copy = join(folder, 'copy.db');
  cpSync(file(), copy);
  writeFileSync(`${copy}-wal`, '');
  truncateSync(`${copy}-wal`, 300 * 1024 ** 2);
  env.WRIT_STORE = `sqlite:${copy}`;

  const { findings } = await doctor();

  assert.match(about(findings, 'disk'), /^warn the write-ahead log has 300 MiB/m);
});

test('writ doctor finds keys that others can read', async () => {
  await whole();
  const keys = join(folder, 'data/keys');
  chmodSync(join(keys, 'log-0001.json'), 0o644);
  chmodSync(keys, 0o750);

  const { status, findings } = await doctor();

  assert.equal(status, 1);
  const text = about(findings, 'keys');
  assert.match(text, /^fault others have access to ".*keys" \(mode 750\) — chmod 700/m);
  assert.match(text, /^fault .*log-0001\.json.*others have access to it \(mode 0644\)/m);
});

test('writ doctor finds compromised keys, old keys, and the next rotation', async () => {
  await whole();
  const keys = join(folder, 'data/keys');
  const config = { keys } as Parameters<typeof checkKeys>[0];
  const year = 366 * 86_400_000;

  assert.match(
    about(checkKeys(config, Date.now() + year), 'keys'),
    /^warn the log key has signed for 366/m,
  );
  rotateKey(keys, 'log', { now: new Date() });
  assert.match(
    about(checkKeys(config, Date.now()), 'keys'),
    /^ok the log key .*the next one signs from/m,
  );
  const path = join(keys, 'token-0001.json');
  const content = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...content, compromised: true }));
  const text = about(checkKeys(config, Date.now()), 'keys');
  assert.match(text, /^warn the token key \S+ is compromised/m);
  assert.match(text, /^fault no token key may sign — writ keys rotate token/m);
  assert.ok(!text.includes(content.jwk.d));
});

test('writ doctor finds a mark that is missing, in the data folder, or ahead of the log', async () => {
  await whole();
  const mark = env.WRIT_MARK as string;
  env.WRIT_MARK = join(folder, 'nowhere/mark.db');
  assert.match(about((await doctor()).findings, 'mark'), /^fault there is no mark in/);
  assert.equal(existsSync(join(folder, 'nowhere')), false);

  env.WRIT_MARK = join(folder, 'data/mark.db');
  const inside = await openMark(`sqlite:${env.WRIT_MARK}`);
  const store = await openStore(`sqlite:${file()}`);
  await inside.setStatus(store.logId, 'accepted');
  await inside.close();
  assert.match(about((await doctor()).findings, 'mark'), /^warn the mark of its log lies in/);
  configure({ public_url: 'https://desk.invalid' });
  assert.match(about((await doctor()).findings, 'mark'), /^fault the mark of its log lies in/);

  configure({});
  env.WRIT_MARK = mark;
  const ahead = await openMark(`sqlite:${mark}`);
  const signed = { checkpoint_id: 'c', sequence: 1, size: 9, root: new Uint8Array(32) };
  const record = { ...signed, created_at: new Date(0), signature: 's', note: 'n' };
  await ahead.advance(store.logId, undefined, record);
  await ahead.close();
  await store.close();
  const { status, findings } = await doctor();
  assert.equal(status, 1);
  assert.match(
    about(findings, 'mark'),
    /^fault checkpoint 1 was signed over 9 entries, the log has 2/,
  );
});

test('writ doctor asks the service: not ready, another clock, no answer', async () => {
  const address = await listening((request, response) => {
    response.setHeader('date', new Date(Date.now() - 60_000).toUTCString());
    response.statusCode = request.url === '/readyz' ? 503 : 200;
    response.end(JSON.stringify({ status: 'unready', reasons: ['the disk is full'] }));
  });

  const { status, findings } = await doctor('--service', address);

  assert.equal(status, 1);
  assert.match(about(findings, 'service'), /^ok http.* answers/);
  assert.match(about(findings, 'service'), /^fault not ready: the disk is full/m);
  assert.match(about(findings, 'clock'), /^warn the clock of the service differs by -(?:59|60)/m);
  const gone = await doctor('--service', 'http://127.0.0.1:1');
  assert.equal(gone.status, 1);
  assert.match(about(gone.findings, 'service'), /^fault "http:\/\/127\.0\.0\.1:1" does not answer/);
});

test('writ doctor finds a provider, a webhook host and a witness that cannot be reached', async () => {
  const other = await listening((_, response) => {
    response.end(JSON.stringify({ issuer: 'http://127.0.0.1:2' }));
  });
  configure({
    oidc: [{ issuer: other, audience: 'writ' }],
    witnesses: [{ url: 'http://127.0.0.1:1', vkey: witnessKey() }],
    webhooks: [
      {
        name: 'hook',
        url: 'https://hook.invalid/T0/secret-path',
        secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      },
    ],
  });

  const { status, findings, out } = await doctor();

  assert.equal(status, 1, out);
  assert.match(about(findings, 'provider'), /^fault the discovery of ".*" names another issuer/);
  assert.match(about(findings, 'webhook'), /^fault the host hook\.invalid has no address/);
  assert.match(about(findings, 'witness'), /^fault "http:\/\/127\.0\.0\.1:1" does not answer/);
  assert.doesNotMatch(out, /secret-path|whsec/);
});

/** The public key of a witness that cosigns, of the type 4. */
function witnessKey(): string {
  const typed = Buffer.concat([Buffer.from([4]), Buffer.alloc(32, 7)]);
  const name = 'witness.example.com';
  const id = createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4);
  return `${name}+${id.toString('hex')}+${typed.toString('base64')}`;
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

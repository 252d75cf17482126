/**
 * The witness over loopback: every status with its exact body, and a service that has its log cosigned.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { beforeEach, test, vi } from 'vitest';
import { main } from '../../src/cli/main.ts';
import {
  appendLeaves,
  EMPTY_ROOT,
  type Hash,
  hashLeaf,
  rootOf,
} from '../../src/domain/log/merkle.ts';
import { consistencyNodes, foldAll } from '../../src/domain/log/merkle-proof.ts';
import { headText, writeNote } from '../../src/domain/log/note.ts';
import { type NoteKey, noteKey, readVkey, vkeyText } from '../../src/domain/log/note-key.ts';
import { openWitnessKey } from '../../src/witness/key.ts';
import { serveWitness, type WitnessServer } from '../../src/witness/server.ts';
import { calmDesk, sealed } from '../log/support.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { ALICE, testService } from '../support/world.ts';

const ORIGIN = 'desk.example/log/1';
const NAME = 'witness.example/w1';
const NOW = new Date('2030-01-01T00:00:00.000Z');
const SECONDS = NOW.getTime() / 1_000;

const own = generateKeyPairSync('ed25519');
const logKey = noteKey(ORIGIN, 'ed25519', raw(own.publicKey));

let folder: string;
let witness: WitnessServer;
let logKeys: NoteKey[];

beforeEach(async () => {
  folder = temporaryFolder();
  logKeys = [logKey];
  witness = await start();
  atEnd(() => witness.close());
});

function start(): Promise<WitnessServer> {
  const key = openWitnessKey(folder, NAME);
  const options = { host: '127.0.0.1', port: 0, now: () => NOW, onError: () => undefined };
  return serveWitness({ folder, key, logKeys }, options);
}

function raw(key: ReturnType<typeof createPublicKey>): Uint8Array {
  return new Uint8Array(key.export({ type: 'spki', format: 'der' }).subarray(-32));
}

/** Leaves of one history; another `kind` is another history, and a fork begins with the first three. */
function leavesOf(size: number, kind = 'a'): Hash[] {
  return Array.from({ length: size }, (_, i) =>
    hashLeaf(Buffer.from(`${kind === 'fork' && i < 3 ? 'a' : kind} ${i}`)),
  );
}

function note(
  size: number,
  { kind = 'a', origin = ORIGIN, root = rootOf(leavesOf(size, kind)), extensions = '' } = {},
) {
  const text = `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n${extensions}`;
  const signature = new Uint8Array(sign(null, Buffer.from(text), own.privateKey));
  return writeNote({ text, signatures: [{ name: origin, keyId: logKey.id, signature }] });
}

function proof(from: number, to: number, kind = 'a'): string[] {
  const { nodes } = appendLeaves(0, [], leavesOf(to, kind));
  const read = ({ level, index }: { level: number; index: number }) =>
    nodes.find((node) => node.level === level && node.index === index)?.hash as Hash;
  return foldAll(consistencyNodes(from, to), read).map((hash) =>
    Buffer.from(hash).toString('base64'),
  );
}

function body(old: number | string, hashes: readonly string[], checkpoint: string): string {
  return [`old ${old}`, ...hashes, '', checkpoint].join('\n');
}

async function add(text: string) {
  const response = await fetch(`${witness.url}/add-checkpoint`, { method: 'POST', body: text });
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    body: await response.text(),
  };
}

const grow = (from: number, to: number, kind?: string) =>
  add(body(from, from === 0 ? [] : proof(from, to, kind), note(to, kind ? { kind } : {})));

test('add-checkpoint answers 200 with a cosignature that verifies by its specification', async () => {
  const answer = await grow(0, 3);
  const [dash, name, encoded = ''] = answer.body.trimEnd().split(' ');
  const blob = Buffer.from(encoded, 'base64');
  const { key, id } = readVkey(vkeyText(openWitnessKey(folder, NAME).noteKey)) as NoteKey;
  const x = Buffer.from(key).toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const text = headText({ origin: ORIGIN, size: 3, root: rootOf(leavesOf(3)) });

  assert.equal(answer.status, 200);
  assert.match(answer.body, /^— witness\.example\/w1 [A-Za-z0-9+/]+=*\n$/);
  assert.deepEqual([dash, name], ['—', NAME]);
  assert.deepEqual(new Uint8Array(blob.subarray(0, 4)), id);
  assert.equal(blob.readBigUInt64BE(4), BigInt(SECONDS));
  const message = Buffer.from(`cosignature/v1\ntime ${SECONDS}\n${text}`);
  assert.equal(verify(null, message, publicKey, blob.subarray(12)), true);
});

test('add-checkpoint cosigns an extension of the last checkpoint, and the last one again', async () => {
  for (const [from, to] of [
    [0, 3],
    [3, 7],
    [7, 7],
    [7, 8],
    [8, 20],
  ] as const) {
    const answer = await grow(from, to);
    assert.equal(answer.status, 200, `${from} to ${to}: ${answer.body}`);
  }
});

// C2SP tlog-cosignature: extension lines that a log signs are part of what the witness signs.
test('add-checkpoint cosigns the whole text of a checkpoint with extension lines', async () => {
  const extensions = 'Timestamp: 1689748607742585419\n— not a signature\n';
  const answer = await add(body(0, [], note(3, { extensions })));
  const again = await add(body(3, proof(3, 7), note(7, { extensions: 'other\n' })));
  const [, , encoded = ''] = answer.body.trimEnd().split(' ');
  const blob = Buffer.from(encoded, 'base64');
  const x = Buffer.from(openWitnessKey(folder, NAME).noteKey.key).toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const root = Buffer.from(rootOf(leavesOf(3))).toString('base64');
  const message = `cosignature/v1\ntime ${SECONDS}\n${ORIGIN}\n3\n${root}\n${extensions}`;

  assert.equal(answer.status, 200, answer.body);
  assert.equal(verify(null, Buffer.from(message), publicKey, blob.subarray(12)), true);
  assert.equal(again.status, 200, again.body);
});

test('add-checkpoint refuses extension lines that the log has not signed, or that are too long', async () => {
  const added = note(3).replace('\n\n', '\nmore\n\n');
  const long = note(3, { extensions: `${'x'.repeat(16 * 1024)}\n` });

  assert.equal((await add(body(0, [], added))).status, 403);
  assert.equal((await add(body(0, [], long))).status, 400);
  assert.equal((await grow(0, 3)).status, 200);
});

test('add-checkpoint answers 409 with the last size it saw, also after a restart', async () => {
  await grow(0, 3);
  for (const round of ['running', 'restarted']) {
    if (round === 'restarted') {
      await witness.close();
      witness = await start();
    }
    for (const old of [0, 2]) {
      const answer = await add(body(old, [], note(5)));
      assert.deepEqual(answer, { status: 409, type: 'text/x.tlog.size', body: '3\n' });
    }
  }
});

test('add-checkpoint answers 409 with 0 for a log that it has not seen', async () => {
  const answer = await add(body(2, proof(2, 5), note(5)));

  assert.deepEqual(answer, { status: 409, type: 'text/x.tlog.size', body: '0\n' });
});

test('add-checkpoint answers 422 to another history, and keeps the one it saw', async () => {
  await grow(0, 3);
  const refused = [
    await grow(3, 7, 'b'),
    await add(body(3, [], note(7))),
    await add(body(3, proof(3, 7).toReversed(), note(7))),
    await add(body(3, [...proof(3, 7), proof(3, 7)[0] as string], note(7))),
    await add(body(3, [], note(3, { kind: 'b' }))),
  ];

  assert.deepEqual(
    refused.map(({ status }) => status),
    [422, 422, 422, 422, 422],
  );
  assert.equal((await grow(3, 7)).status, 200);
});

test('add-checkpoint answers 422 to a proof from nothing and to an empty log with a root', async () => {
  const fromNothing = await add(body(0, proof(2, 3), note(3)));
  const rooted = await add(body(0, [], note(0, { root: rootOf(leavesOf(1)) })));
  const empty = await add(body(0, [], note(0, { root: EMPTY_ROOT })));

  assert.deepEqual([fromNothing.status, rooted.status, empty.status], [422, 422, 200]);
});

test('add-checkpoint answers 404 for a log that it does not watch', async () => {
  for (const origin of ['other.example/log', 'a log + 1']) {
    const sent = note(3, { origin }).replace(/— .* (\S+)\n$/, '— other.example/log $1\n');

    assert.equal((await add(body(0, [], sent))).status, 404);
  }
});

test('add-checkpoint answers 403 unless a known key of the log has signed', async () => {
  const other = note(3).replace(
    /— (\S+) .*/,
    (_, name) => `— ${name} ${Buffer.alloc(68).toString('base64')}`,
  );
  const moved = note(3).replace('\n3\n', '\n4\n');

  for (const checkpoint of [other, moved]) {
    assert.equal((await add(body(0, [], checkpoint))).status, 403);
  }
  assert.equal((await grow(0, 3)).status, 200);
});

const malformed: [name: string, text: string][] = [
  ['nothing', ''],
  ['no old size', note(3)],
  ['an old size with a leading zero', body('03', [], note(3))],
  ['a negative old size', body('-1', [], note(3))],
  ['an old size above that of the checkpoint', body(4, [], note(3))],
  ['a proof line that is not base64', body(0, ['!'], note(3))],
  ['a proof line that is not a hash', body(0, ['AAAA'], note(3))],
  [
    'more than 63 proof lines',
    body(0, Array(64).fill(Buffer.alloc(32).toString('base64')), note(3)),
  ],
  ['a checkpoint without signature', body(0, [], note(3).replace(/— .*\n/, ''))],
  ['a checkpoint with an empty extension line', body(0, [], note(3, { extensions: '\nmore\n' }))],
  ['line breaks of another kind', body(0, [], note(3)).replaceAll('\n', '\r\n')],
];
for (const [name, text] of malformed) {
  test(`add-checkpoint answers 400 to ${name}`, async () => {
    assert.equal((await add(text)).status, 400);
  });
}

test('the witness has one path and one method, and takes no long body', async () => {
  const get = await fetch(`${witness.url}/add-checkpoint`);
  const elsewhere = await fetch(`${witness.url}/`, { method: 'POST', body: body(0, [], note(3)) });

  assert.equal(get.status, 405);
  assert.equal(elsewhere.status, 404);
  assert.equal(await statusOfLong(), 413);
  assert.equal((await grow(0, 3)).status, 200);
});

/** A client that goes on writing, whatever it is answered. */
function statusOfLong(): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(`${witness.url}/add-checkpoint`, { method: 'POST' }, (response) => {
      response.resume();
      resolve(response.statusCode);
      sent.destroy();
    });
    sent.on('error', reject);
    sent.write(Buffer.alloc(33 * 1024));
  });
}

test('the witness cosigns only one of two racing histories, once', async () => {
  await grow(0, 3);
  const kinds = Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? 'a' : 'fork'));
  const answers = await Promise.all(kinds.map((kind) => grow(3, 7, kind)));

  const cosigned = answers.filter(({ status }) => status === 200);
  const late = answers.filter(({ status, body: size }) => status === 409 && size === '7\n');
  assert.equal(cosigned.length, 1);
  assert.equal(late.length, 15);
});

test('openWitnessKey() makes one key that only this user can read, and uses it again', () => {
  const [first, second] = [openWitnessKey(folder, NAME), openWitnessKey(folder, NAME)];
  const [file = ''] = readdirSync(folder);
  const path = join(folder, file);

  assert.equal(vkeyText(first.noteKey), vkeyText(second.noteKey));
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const pem = readFileSync(path, 'utf8');
  chmodSync(path, 0o644);
  assert.throws(() => openWitnessKey(folder, NAME), /others have access to it; chmod 600/);
  chmodSync(path, 0o600);
  writeFileSync(path, pem.replace(/[A-Za-z]{8}/, 'AAAAAAAA').slice(0, 60));
  assert.throws(() => openWitnessKey(folder, NAME), /it is not a private Ed25519 key$/);
});

test('a service has its checkpoints cosigned, and writ verify finds the witness', async () => {
  const vkey = vkeyText(openWitnessKey(folder, NAME).noteKey);
  const settings = { witnesses: [{ url: witness.url, vkey }] };
  const service = await testService({ definition: calmDesk, settings });
  const line = service.log.find((text) => text.includes('"log keys"')) ?? '{"keys":[]}';
  logKeys.push(...(JSON.parse(line).keys as string[]).map((text) => readVkey(text) as NoteKey));
  await service.issue(ALICE, { scope: ['travel.search'] });
  const { checkpoint_id } = await sealed(service);
  const detail = await cosignedDetail(service, checkpoint_id);
  const { body: jwks } = await service.ask('GET', '/.well-known/jwks.json');
  writeFileSync(join(folder, 'checkpoint.json'), JSON.stringify(detail));
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify(jwks));

  const args = ['--jwks', join(folder, 'jwks.json'), '--service-id', calmDesk.id, '--vkey', vkey];
  const out: string[] = [];
  const status = await main(['verify', 'checkpoint', join(folder, 'checkpoint.json'), ...args], {
    out: (text) => void out.push(text),
    err: (text) => void out.push(text),
    env: {},
  });

  assert.equal(status, 0, out.join(''));
  assert.match(out.join(''), /^ok +note signature of "witness\.example\/w1" +seen at 2030-/m);
});

/** Cosignatures come after the seal, so they are waited for. */
async function cosignedDetail(service: Awaited<ReturnType<typeof testService>>, id: string) {
  for (let tries = 0; tries < 200; tries++) {
    const { body: detail } = await service.ask('GET', `/svc/checkpoints/${id}`);
    if (detail.tree_head.includes(`— ${NAME} `)) return detail;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('Cannot continue: the witness did not cosign');
}

test('writ witness runs until it is stopped, and prints its key and address', async () => {
  const out: string[] = [];
  let answered = 0;
  const status = await main(
    ['witness', '--name', NAME, '--folder', folder, '--port', '0', '--log', vkeyText(logKey)],
    {
      out: (text) => void out.push(text),
      err: (text) => void out.push(text),
      env: {},
      untilStopped: async () => {
        await vi.waitFor(() => assert.match(out.join(''), /listening on/));
        const [, url] = /listening on (\S+)/.exec(out.join('')) ?? [];
        const sent = body(0, [], note(3));
        answered = (await fetch(`${url}/add-checkpoint`, { method: 'POST', body: sent })).status;
      },
    },
  );

  assert.equal(status, 0, out.join(''));
  assert.equal(answered, 200);
  assert.match(out.join(''), /^witness witness\.example\/w1\+[0-9a-f]{8}\+\S+\n/);
});

const refusals: [name: string, args: string[], why: RegExp][] = [
  ['no name', ['--log', vkeyText(logKey)], /required option "--name <name>" not specified/],
  ['no log', ['--name', NAME], /no log is named/],
  ['a key that is none', ['--name', NAME, '--log', 'x'], /not a key of a log/],
  [
    'a port that is none',
    ['--name', NAME, '--log', vkeyText(logKey), '--port', '70000'],
    /not a port/,
  ],
];
for (const [name, args, why] of refusals) {
  test(`writ witness ends with 2 when given ${name}`, async () => {
    const err: string[] = [];
    const io = { out: () => undefined, err: (text: string) => void err.push(text), env: {} };

    assert.equal(await main(['witness', ...args], io), 2);
    assert.match(err.join(''), why);
  });
}

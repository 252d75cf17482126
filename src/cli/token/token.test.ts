import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JWTHeaderParameters, SignJWT } from 'jose';
import { test } from 'vitest';
import { temporaryFolder } from '../../../test/support/ends.ts';
import { openKeyring } from '../../keyring/keyring.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import { main } from '../main.ts';
import { readAll } from '../shell/command.ts';

const folder = temporaryFolder();

const keys = join(folder, 'keys');
const keyring = openKeyring({ folder: keys }, { now: () => new Date(), onWarning: assert.fail });
keyring.close();

const now = Math.floor(Date.now() / 1_000);
const HOUR = 3_600;

/** A delegation token as the service signs it. */
function own(claims: object = {}): string {
  const { use, typ } = ARTEFACTS.delegation;
  const payload = { iss: 'desk', sub: 'agent:planner', iat: now, exp: now + HOUR, ...claims };
  return keyring.sign(use, typ, new TextEncoder().encode(JSON.stringify(payload)));
}

/** The name of a new file with the token, in the place of a token. */
function inFile(word: string): string {
  if (!/^[\w-]+\.[\w-]+\.[\w-]*$/.test(word) || !word.startsWith('ey')) return word;
  const file = join(folder, `${randomUUID()}.token`);
  writeFileSync(file, word);
  return file;
}

/** Runs the command line, and gives what it wrote and ended with. Tokens among the arguments go to files. */
async function writ(args: string[], { input, env = {} }: { input?: string; env?: object } = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const status = await main(['token', ...args.map(inFile)], {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: { ...env },
    ...(input !== undefined && { input: async () => input }),
  });
  return { status, out: out.join(''), err: err.join('') };
}

const signers: [alg: string, pair: { publicKey: KeyObject; privateKey: KeyObject }][] = [
  ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ['RS256', generateKeyPairSync('rsa', { modulusLength: 2_048 })],
];
const jwks = join(folder, 'jwks.json');
writeFileSync(
  jwks,
  JSON.stringify({
    keys: signers.map(([alg, { publicKey }]) => ({
      ...publicKey.export({ format: 'jwk' }),
      kid: alg,
    })),
  }),
);

function foreign(alg: string, claims: object = {}, header: object = {}): Promise<string> {
  const isRsa = /^[RP]S/.test(alg);
  const [kid, { privateKey }] = signers[isRsa ? 1 : 0] as (typeof signers)[number];
  return new SignJWT({ iss: 'https://login.example', sub: 's', exp: now + HOUR, ...claims })
    .setProtectedHeader({ alg, kid, ...header } as JWTHeaderParameters)
    .sign(privateKey);
}

test('writ token inspect shows what an own token says, and by which key it verifies', async () => {
  const { status, out, err } = await writ(['inspect', '--keys', keys, own({ scope: ['a.b'] })]);

  assert.equal(status, 0);
  assert.equal(err, '');
  assert.match(out, /^ {2}typ {2}"svc-delegation\+jwt"$/m);
  assert.match(out, /^ {2}sub {4}"agent:planner"$/m);
  assert.match(out, /^ {2}scope {2}\["a\.b"\]$/m);
  assert.match(out, /^ {2}exp {4}\d+ \(\d{4}-.*Z, ahead\)$/m);
  assert.match(out, /^Signature verifies by "token-0001\.json" in ".*keys"$/m);
  assert.match(out, /^Verified$/m);
  assert.match(out, /^Not checked: whether the service has stored the token, or revoked/m);
});

test('writ token inspect reads standard input when no token is given, or "-"', async () => {
  for (const args of [['inspect'], ['inspect', '-']]) {
    for (const input of [own(), `${own()}\n`, `Bearer ${own()}`]) {
      const { status } = await writ(args, { input, env: { WRIT_KEYS: keys } });
      assert.equal(status, 0);
    }
  }
});

test('writ token inspect never prints the token again', async () => {
  const text = own();
  const parts = text.split('.') as [string, string, string];

  for (const args of [['--keys', keys, text], [text, text], [`${text}!`], ['--jwks', jwks, text]]) {
    const { out, err } = await writ(['inspect', ...args]);
    for (const part of parts) assert.equal((out + err).includes(part), false);
  }
});

for (const words of [
  ['token', 'inspect'],
  ['verify', 'token'],
  ['permissions', '--service', 'http://127.0.0.1:9', '--token-file'],
]) {
  test(`writ ${words[0]} refuses a token as an argument, and does not repeat it`, async () => {
    const text = own();
    const printed: string[] = [];
    const status = await main([...words, text], {
      out: assert.fail,
      err: (more) => void printed.push(more),
      env: { WRIT_KEYS: keys },
    });
    const err = printed.join('');

    assert.equal(status, 2);
    assert.match(err, /^Cannot .*: expected a file, not a token: arguments show in the list of/);
    for (const part of text.split('.')) assert.equal(err.includes(part), false);
  });
}

test('writ token inspect tells a token that has expired or is not valid yet', async () => {
  const expired = await writ(['inspect', '--keys', keys, own({ exp: now - HOUR })]);
  const early = await writ(['inspect', '--keys', keys, own({ nbf: now + HOUR })]);

  assert.equal(expired.status, 1);
  assert.match(expired.out, /^Signature verifies by /m);
  assert.match(expired.out, /^Not verified: it has expired$/m);
  assert.match(expired.out, /past\)$/m);
  assert.equal(early.status, 1);
  assert.match(early.out, /^Not verified: it is not valid yet$/m);
});

for (const exp of ['2099-01-01', null, [now + HOUR]]) {
  test(`writ token inspect does not take ${JSON.stringify(exp)} for a time`, async () => {
    assert.equal((await writ(['inspect', '--keys', keys, own({ exp })])).status, 1);
  });
}

test('writ token inspect tells a token that was altered', async () => {
  const [header, , signature] = own().split('.');
  const [, payload] = own({ sub: 'human:root' }).split('.');

  const { status, out } = await writ([
    'inspect',
    '--keys',
    keys,
    `${header}.${payload}.${signature}`,
  ]);

  assert.equal(status, 1);
  assert.match(out, /"human:root"/);
  assert.match(out, /^Not verified: its signature does not verify$/m);
});

test('writ token inspect tells a token of other keys', async () => {
  const { status, out } = await writ(['inspect', '--keys', keys, await foreign('ES256')]);

  assert.equal(status, 1);
  assert.match(out, /^Not verified: none of 2 keys has its kid$/m);
});

for (const alg of ['ES256', 'RS256', 'PS256']) {
  test(`writ token inspect verifies ${alg} by a saved key set`, async () => {
    const { status, out } = await writ(['inspect', '--jwks', jwks, await foreign(alg)]);

    assert.equal(status, 0);
    assert.match(out, /^Signature verifies by key \d of ".*jwks\.json"$/m);
    assert.match(out, /^Not checked: whether the issuer still publishes the key$/m);
    assert.match(out, /^Not checked: whether issuer, audience and party/m);
  });
}

test('writ token inspect takes both keys when both are named', async () => {
  for (const text of [own(), await foreign('ES256')]) {
    assert.equal((await writ(['inspect', '--keys', keys, '--jwks', jwks, text])).status, 0);
  }
});

test('writ token inspect does not verify an own kind by a key of another use', async () => {
  const { use, typ } = ARTEFACTS.checkpoint;
  const payload = new TextEncoder().encode('{"exp":9999999999}');
  const asLog = keyring.sign(use, typ, payload);
  const asToken = keyring.sign('log', 'svc-delegation+jwt', payload);

  assert.equal((await writ(['inspect', '--keys', keys, asLog])).status, 0);
  const { status, out } = await writ(['inspect', '--keys', keys, asToken]);
  assert.equal(status, 1);
  assert.match(out, /^Not verified: the key it names is not for this kind of token$/m);
});

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('writ token inspect never verifies an algorithm that is not admitted', async () => {
  const { publicKey } = (signers[0] as (typeof signers)[number])[1];
  const secret = publicKey.export({ format: 'pem', type: 'spki' }) as string;
  const hmac = await new SignJWT({ sub: 's' })
    .setProtectedHeader({ alg: 'HS256', kid: 'ES256' })
    .sign(new TextEncoder().encode(secret));
  const claims = part({ sub: 's' });
  const texts = [
    hmac,
    `${part({ alg: 'none', kid: 'ES256' })}.${claims}.`,
    `${part({ alg: 'constructor', kid: 'ES256' })}.${claims}.AAAA`,
    `${part({ kid: 'ES256' })}.${claims}.AAAA`,
  ];

  for (const text of texts) {
    const { status, out } = await writ(['inspect', '--jwks', jwks, text]);
    assert.equal(status, 1);
    assert.match(out, /^Not verified: its algorithm .* is not admitted$/m);
  }
});

test('writ token inspect does not verify with a key of another kind than the algorithm', async () => {
  const [kid, { privateKey }] = signers[0] as (typeof signers)[number];
  const signed = `${part({ alg: 'RS256', kid })}.${part({ sub: 's' })}`;
  const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64url');

  const { status, out } = await writ(['inspect', '--jwks', jwks, `${signed}.${signature}`]);

  assert.equal(status, 1);
  assert.match(out, /^Not verified: the key it names is not for this kind of token$/m);
});

test('writ token inspect does not use a compromised key', async () => {
  const copy = join(folder, 'compromised');
  openKeyring({ folder: copy }, { now: () => new Date(), onWarning: assert.fail }).close();
  const file = join(copy, 'token-0001.json');
  const source = readFileSync(join(keys, 'token-0001.json'), 'utf8');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(source), compromised: true }));

  const { status, out } = await writ(['inspect', '--keys', copy, own()]);

  assert.equal(status, 1);
  assert.match(out, /^Note: "token-0001\.json" is marked as compromised and was not used$/m);
});

test('writ token inspect shows the claims and ends with 2 when there is no key to check with', async () => {
  const absent = join(folder, 'absent');
  const empty = join(folder, 'empty.json');
  const weak = join(folder, 'weak.json');
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
  writeFileSync(empty, '{"keys":[]}');
  writeFileSync(
    weak,
    JSON.stringify({ keys: [publicKey.export({ format: 'jwk' }), { kty: 'oct' }] }),
  );

  for (const args of [
    ['--keys', absent],
    ['--jwks', absent],
    ['--jwks', empty],
    ['--jwks', weak],
  ]) {
    const { status, out } = await writ(['inspect', ...args, own()]);
    assert.equal(status, 2, args.join(' '));
    assert.match(out, /"agent:planner"/);
    assert.match(out, /^Could not check: there is no key to check with$/m);
  }
  assert.equal(existsSync(absent), false);
});

test('writ token inspect prints no character that steers the terminal or hides', async () => {
  const hostile = { 'na\u001bme': '\u001b[2J\u009b1m\u202egnp\u200b\u2028x', sub: 'a\nVerified' };

  const { out } = await writ(['inspect', '--keys', keys, own(hostile)]);

  assert.doesNotMatch(out, /[^\P{C}\n]|\p{Zl}/u);
  assert.match(out, /\\u\{202e\}gnp\\u\{200b\}/);
  assert.equal(out.match(/^Verified$/gm)?.length, 1);
});

const unreadable: [what: string, text: string][] = [
  ['nothing', ''],
  ['a word', 'demo-human-key'],
  ['a detached signature', `${part({ alg: 'ES256' })}..AAAA`],
  ['claims that are not JSON', `${part({ alg: 'ES256' })}.AAAA.AAAA`],
  ['claims that are a list', `${part({ alg: 'ES256' })}.${part([])}.AAAA`],
  [
    'a claim twice',
    `${part({ alg: 'ES256' })}.${Buffer.from('{"a":1,"a":2}').toString('base64url')}.AAAA`,
  ],
  ['another spelling of the same bytes', `${own()}=`],
  ['more than any token has', `${own()}${'A'.repeat(70_000)}`],
];
for (const [what, text] of unreadable) {
  test(`writ token inspect ends with 2 on ${what}`, async () => {
    const { status, out, err } = await writ(['inspect', '--keys', keys], { input: text });

    assert.equal(status, 2);
    assert.equal(out, '');
    assert.match(err, /^Cannot inspect the token: it/);
  });
}

const misused: string[][] = [
  ['inspekt'],
  ['inspect', '--kyes', 'x'],
  ['inspect', 'a', 'b'],
  ['inspect', '--jwks', 'https://login.example/jwks', 'a.b.c'],
  ['inspect', 'no-such-file'],
];
for (const args of misused) {
  test(`writ token ends with 2 on "${args.join(' ')}"`, async () => {
    const { status, err } = await writ(args);

    assert.equal(status, 2);
    assert.match(err, /^Cannot (?:inspect the token|run "writ token(?: inspect)?"): .*\n$/);
  });
}

test('writ token inspect --help says how it ends', async () => {
  const { status, out } = await writ(['inspect', '--help']);
  assert.equal(status, 0);
  assert.match(out, /Exit status:\n {2}0 .*\n {2}1 .*\n {2}2 /);
});

test('writ token inspect --json prints the claims and the verdict, and no token', async () => {
  const text = own({ scope: ['a.b'] });
  const good = await writ(['inspect', '--keys', keys, '--json'], { input: text });
  const old = await writ(['inspect', '--keys', keys, '--json', own({ exp: now - HOUR })]);
  const unknown = await writ(['inspect', '--keys', join(folder, 'none'), '--json', text]);

  assert.equal(good.status, 0);
  const { claims, verdict, reason } = JSON.parse(good.out);
  assert.deepEqual([claims.scope, verdict, reason], [['a.b'], 'verified', null]);
  assert.equal(good.out.includes(text), false);
  assert.deepEqual([old.status, JSON.parse(old.out).reason], [1, 'it has expired']);
  assert.deepEqual([unknown.status, JSON.parse(unknown.out).verdict], [2, 'not_checked']);
});

test('readAll() joins what comes in pieces, also amid a character, up to the bound', async () => {
  const bytes = new TextEncoder().encode('zo\u00eb');
  async function* pieces() {
    for (const byte of bytes) yield Uint8Array.of(byte);
  }

  assert.equal(await readAll(pieces(), bytes.length), 'zo\u00eb');
  await assert.rejects(readAll(pieces(), bytes.length - 1), /has more than 3 bytes$/);
});

import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { atEnd, temporaryFolder } from '../../test/support/ends.ts';
import { pointThumbprint, readSuccessor, successorPayload } from '../domain/log/successor.ts';
import { toBase64url } from '../domain/wire/base64.ts';
import { jwsHeader, TYPS } from '../domain/wire/jws.ts';
import { followKeys } from '../verify/successors.ts';
import { generateJwk, readPrivateJwk, type SigningKey } from './es256.ts';
import { rotateKey } from './key-folder.ts';
import { openKeyring } from './keyring.ts';
import { successorText, verifiedSuccessor } from './successors.ts';

const NOW = new Date('2030-01-01T00:00:00.000Z');
const DAY_MS = 86_400_000;

function open(folder: string, onWarning: (message: string) => void = assert.fail) {
  const keyring = openKeyring({ folder }, { now: () => NOW, onWarning });
  keyring.close();
  return keyring;
}

/** A folder with so many generations of token keys, and their thumbprints. */
function rotated(generations: number): { folder: string; kids: string[] } {
  const folder = temporaryFolder();
  const first = open(folder).kid('token');
  const kids = Array.from({ length: generations - 1 }, (_, i) => {
    return rotateKey(folder, 'token', { now: new Date(NOW.getTime() + i * DAY_MS) }).kid;
  });
  return { folder, kids: [first, ...kids] };
}

/** Who names whom in what is published, by their places in `kids`. */
function named(folder: string, kids: readonly string[]): string[] {
  const { svc_successors = [] } = open(folder).jwks();
  return svc_successors.map((text) => {
    const { kid = '', successorKid = '', use } = readSuccessor(text) ?? {};
    return `${use} ${kids.indexOf(kid) + 1} to ${kids.indexOf(successorKid) + 1}`;
  });
}

function markCompromised(folder: string, name: string, compromised = true): void {
  const file = join(folder, name);
  const content = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...content, compromised }));
}

test('rotateKey() has the old key sign the new one, and the keyring publishes that', async () => {
  const { folder, kids } = rotated(3);
  const jwks = open(folder).jwks();

  assert.deepEqual(named(folder, kids), ['token 1 to 2', 'token 2 to 3']);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.jws')),
    ['token-0002-from-0001.jws', 'token-0003-from-0002.jws'],
  );
  const keys = await followKeys({ jwks, pinned: kids.slice(0, 1) });
  assert.ok('keys' in keys);
  assert.deepEqual(
    keys.keys.filter(({ isPinned }) => isPinned).map(({ kid }) => kid),
    kids,
  );
});

test('jwks() has no further member while no key has followed another', () => {
  assert.deepEqual(Object.keys(open(temporaryFolder()).jwks()), ['keys']);
});

test('keys of each use are named within their use alone', () => {
  const folder = temporaryFolder();
  const log = open(folder).kid('log');
  const next = rotateKey(folder, 'log', { now: NOW }).kid;

  assert.deepEqual(named(folder, [log, next]), ['log 1 to 2']);
});

test('a statement outlives the private key that made it', () => {
  const { folder, kids } = rotated(3);
  rmSync(join(folder, 'token-0001.json'));
  rmSync(join(folder, 'token-0002.json'));

  assert.deepEqual(named(folder, kids), ['token 1 to 2', 'token 2 to 3']);
});

test('a statement that a crash left out is made when the folder is read, once', () => {
  const { folder, kids } = rotated(2);
  const file = join(folder, 'token-0002-from-0001.jws');
  rmSync(file);

  assert.deepEqual(named(folder, kids), ['token 1 to 2']);
  const text = readFileSync(file, 'utf8');
  assert.deepEqual(open(folder).jwks().svc_successors, [text.trim()]);
});

test('refresh() publishes the statement with a new key, under a new revision', () => {
  const { folder, kids } = rotated(1);
  const keyring = open(folder);
  const before = keyring.revision();
  rotateKey(folder, 'token', { now: NOW });
  keyring.refresh();

  assert.equal(kids.length, 1);
  assert.equal(keyring.jwks().svc_successors?.length, 1);
  assert.notEqual(keyring.revision(), before);
  keyring.refresh();
  assert.equal(keyring.revision(), before + 1);
});

test('no statement by or about a compromised key is published; the key before it names the next', () => {
  const { folder, kids } = rotated(3);
  markCompromised(folder, 'token-0002.json');

  assert.deepEqual(named(folder, kids), ['token 1 to 3']);
});

test('a key that was marked as compromised by mistake leaves no key that names two others', () => {
  const { folder, kids } = rotated(3);
  markCompromised(folder, 'token-0002.json');
  open(folder);
  markCompromised(folder, 'token-0002.json', false);

  assert.deepEqual(named(folder, kids), ['token 1 to 3', 'token 2 to 3']);
});

test('verifiedSuccessor() takes no statement by two coordinates that are no point of the curve', () => {
  const off = { x: toBase64url(new Uint8Array(32).fill(1)), y: toBase64url(new Uint8Array(32)) };
  const payload = toBase64url(successorPayload('token', off, made().key.jwk));
  const text = `${jwsHeader(pointThumbprint(off), TYPS.successor)}.${payload}.${'A'.repeat(86)}`;

  assert.ok(readSuccessor(text));
  assert.equal(verifiedSuccessor(text), undefined);
});

test('a client that pinned a compromised key finds nothing to follow', () => {
  const { folder, kids } = rotated(2);
  markCompromised(folder, 'token-0001.json');

  assert.deepEqual(named(folder, kids), []);
});

test('a key whose file was moved away names no second successor', () => {
  const { folder, kids } = rotated(3);
  rmSync(join(folder, 'token-0002.json'));
  rmSync(join(folder, 'token-0003-from-0002.jws'));

  assert.deepEqual(named(folder, kids), ['token 1 to 2']);
});

test('a damaged statement is reported, and nothing else suffers', () => {
  const { folder } = rotated(2);
  writeFileSync(join(folder, 'token-0002-from-0001.jws'), 'x');
  const warnings: string[] = [];

  const keyring = open(folder, (message) => void warnings.push(message));

  assert.match(
    warnings.join('\n'),
    /token-0002-from-0001\.jws": it is not a statement of a successor/,
  );
  assert.deepEqual(Object.keys(keyring.jwks()), ['keys']);
});

test('a folder that cannot be written still has its statements published', () => {
  const { folder } = rotated(2);
  rmSync(join(folder, 'token-0002-from-0001.jws'));
  writeFileSync(join(folder, 'token-lifetime-2592000000'), '');
  chmodSync(folder, 0o500);
  const warnings: string[] = [];
  atEnd(() => chmodSync(folder, 0o700));
  const keyring = open(folder, (message) => void warnings.push(message));
  const [text] = keyring.jwks().svc_successors ?? [];
  keyring.refresh();

  assert.ok(text);
  assert.deepEqual(keyring.jwks().svc_successors, [text]);
});

function made(): { jwk: object; key: SigningKey } {
  const jwk = generateJwk();
  const reading = readPrivateJwk(jwk);
  assert.ok('key' in reading);
  return { jwk, key: reading.key };
}

test('keys of the environment publish the statements that stand beside them', () => {
  const [old, next, log] = [made(), made(), made()];
  const text = successorText('token', old.key, next.key.jwk);
  const lists = { tokenKeys: JSON.stringify([next.jwk]), logKeys: JSON.stringify([log.jwk]) };
  const options = { now: () => NOW, onWarning: assert.fail };

  const keyring = openKeyring({ ...lists, successors: `\n${text}\n` }, options);
  const forked = `${text} ${successorText('token', old.key, log.key.jwk)}`;

  assert.deepEqual(keyring.jwks().svc_successors, [text]);
  assert.throws(() => openKeyring({ ...lists, successors: `${text} x` }, options), {
    message: 'Cannot use WRIT_SUCCESSORS: statement 2 does not verify',
  });
  assert.throws(() => openKeyring({ ...lists, successors: forked }, options), {
    message: 'Cannot use WRIT_SUCCESSORS: statements 1 and 2 are by the same key',
  });
});

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { SUCCESSORS_MAX, type SuccessorUse } from '../domain/log/successor.ts';
import { readCompact, TYPS } from '../domain/wire/jws.ts';
import { generateJwk, readPrivateJwk, type SigningKey } from '../keyring/es256.ts';
import { openKeyring } from '../keyring/keyring.ts';
import { successorText } from '../keyring/successors.ts';
import type { KeySource, Keys } from './keys.ts';
import { signatureChecks } from './signed.ts';
import { followKeys } from './successors.ts';

function made(): SigningKey & { d: ReturnType<typeof generateJwk> } {
  const d = generateJwk();
  const reading = readPrivateJwk(d);
  assert.ok('key' in reading);
  return { ...reading.key, d };
}

const [a, b, c, evil] = [made(), made(), made(), made()];
const ALL = [a, b, c, evil];

function says(from: SigningKey, to: SigningKey, use: SuccessorUse = 'token'): string {
  return successorText(use, from, to.jwk);
}

/** The keys of a set with these statements of which `pinned` are known. */
async function followed(
  statements: readonly string[],
  pinned: KeySource['pinned'],
  published: readonly SigningKey[] = ALL,
): Promise<Keys> {
  const jwks = { keys: published.map(({ jwk }) => jwk), svc_successors: statements };
  const keys = await followKeys({ jwks, pinned });
  assert.ok('keys' in keys, JSON.stringify(keys));
  return keys;
}

async function believed(...asked: Parameters<typeof followed>): Promise<string[]> {
  const { keys } = await followed(...asked);
  return keys.filter(({ isPinned }) => isPinned).map(({ kid }) => kid);
}

const kids = (...keys: readonly SigningKey[]) => keys.map(({ kid }) => kid);

test('followKeys() follows a pinned key to its successors, in any order of statements', async () => {
  const chain = [says(b, c), says(a, b)];

  assert.deepEqual(await believed(chain, kids(a)), kids(a, b, c));
  assert.deepEqual(await believed(chain, kids(b)), kids(b, c));
  assert.deepEqual(await believed(chain, []), []);
});

test('followKeys() follows a pinned key that is not published any more, and says whom it followed', async () => {
  const { keys } = await followed([says(a, b), says(b, c)], kids(a), [c]);

  assert.deepEqual(
    keys.map(({ kid, isPinned, follows, use }) => [kid, isPinned, follows, use]),
    [[c.kid, true, a.kid, 'token']],
  );
});

test('followKeys() believes nothing about a key that no pinned one has signed', async () => {
  const altered = says(a, evil).replace(/.{4}$/, 'AAAA');
  const [header, , signature] = says(a, b).split('.');
  const spliced = `${header}.${says(a, evil).split('.')[1]}.${signature}`;

  for (const statement of [altered, spliced, says(evil, b), 'x.y.z']) {
    assert.deepEqual(await believed([statement], kids(a)), kids(a));
  }
});

test('followKeys() stays within one use', async () => {
  const crossed = [says(a, b, 'token'), says(b, c, 'log')];

  assert.deepEqual(await believed(crossed, kids(a)), kids(a, b));
});

test('followKeys() follows a key that names two successors to neither', async () => {
  assert.deepEqual(await believed([says(a, b), says(a, evil)], kids(a)), kids(a));
  assert.deepEqual(await believed([says(a, b), says(a, b, 'log')], kids(a)), kids(a));
  // The same said twice is said once: ECDSA makes another signature each time.
  assert.deepEqual(await believed([says(a, b), says(a, b)], kids(a)), kids(a, b));
});

test('followKeys() follows to a key of which two pinned keys say different uses by neither', async () => {
  const disputed = [says(a, c, 'token'), says(b, c, 'log')];

  assert.deepEqual(await believed(disputed, kids(a, b)), kids(a, b));
});

test('followKeys() ends at a key that the chain has passed', async () => {
  const circle = [says(a, b), says(b, c), says(c, b)];

  assert.deepEqual(await believed(circle, kids(a)), kids(a, b, c));
  assert.deepEqual(await believed([says(a, b), says(b, a)], kids(a)), kids(a, b));
});

test('followKeys() follows a chain of bounded length only', async () => {
  const chain = Array.from({ length: SUCCESSORS_MAX + 2 }, made);
  const statements = chain.slice(1).map((key, index) => says(chain[index] as SigningKey, key));
  const [first, last, beyond] = [chain[0], chain.at(-2), chain.at(-1)] as SigningKey[];
  assert.ok(first && last && beyond);

  assert.deepEqual(await believed(statements, kids(first), [last, beyond]), kids(last));
});

test('followKeys() uses no set with more statements than a service publishes', async () => {
  const statements = Array.from({ length: 129 }, () => says(a, b));

  const keys = await followKeys({ jwks: { keys: [a.jwk], svc_successors: statements } });

  assert.ok('fault' in keys);
});

test('a key that statements show to be a token key signs no checkpoint, and the other way round', async () => {
  const payload = new TextEncoder().encode('{}');
  const options = { now: () => new Date(), onWarning: assert.fail };
  const lists = { tokenKeys: JSON.stringify([b.d]), logKeys: JSON.stringify([c.d]) };
  const keyring = openKeyring(lists, options);
  const outcomes = async (use: SuccessorUse, typ: (typeof TYPS)['grant' | 'checkpoint']) => {
    const keys = await followed([says(a, b, use)], kids(a));
    const read = readCompact(keyring.sign('token', typ, payload), typ);
    const { checks, isSigned } = await signatureChecks(read, typ, keys);
    return [isSigned, checks.find(({ what }) => what === 'key')?.outcome];
  };

  assert.deepEqual(await outcomes('token', TYPS.grant), [true, 'ok']);
  assert.deepEqual(await outcomes('token', TYPS.checkpoint), [false, 'failed']);
  assert.deepEqual(await outcomes('log', TYPS.checkpoint), [true, 'ok']);
  assert.deepEqual(await outcomes('log', TYPS.grant), [false, 'failed']);
});

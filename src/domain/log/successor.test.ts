import assert from 'node:assert/strict';
import { test } from 'vitest';
import { toBase64url } from '../wire/base64.ts';
import { jwsHeader, TYPS } from '../wire/jws.ts';
import { pointThumbprint, readSuccessor, successorPayload } from './successor.ts';

const KEY = { x: `${'A'.repeat(42)}E`, y: `${'B'.repeat(42)}E` };
const NEXT = { x: `${'C'.repeat(42)}E`, y: `${'D'.repeat(42)}E` };
const SIGNATURE = `${'A'.repeat(85)}A`;
const KID = pointThumbprint(KEY);

function textOf(
  payload: string | Uint8Array,
  kid = KID,
  typ: Parameters<typeof jwsHeader>[1] = TYPS.successor,
) {
  const bytes = typeof payload === 'string' ? new TextEncoder().encode(payload) : payload;
  return `${jwsHeader(kid, typ)}.${toBase64url(bytes)}.${SIGNATURE}`;
}

const json = (value: object) => JSON.stringify(value);

// By hand: members in order, no spaces, x and y of both keys, the use.
const WRITTEN = json({ key: KEY, successor: NEXT, use: 'token' });

test('successorPayload() writes both keys and their use in canonical form', () => {
  const jwk = { ...KEY, kty: 'EC', kid: 'left out' };

  assert.equal(new TextDecoder().decode(successorPayload('token', jwk, NEXT)), WRITTEN);
});

test('readSuccessor() reads both keys and their use', () => {
  const { kid, use, successorKid } = readSuccessor(textOf(WRITTEN)) ?? {};

  assert.deepEqual([kid, use, successorKid], [KID, 'token', pointThumbprint(NEXT)]);
});

const unread: Record<string, string> = {
  'of another artefact': textOf(WRITTEN, KID, TYPS.checkpoint),
  'whose header names another key than its payload': textOf(WRITTEN, pointThumbprint(NEXT)),
  'in which a key names itself': textOf(json({ key: KEY, successor: KEY, use: 'token' })),
  'of a use that is never published': textOf(json({ key: KEY, successor: NEXT, use: 'row' })),
  'with a member more': textOf(json({ extra: 1, key: KEY, successor: NEXT, use: 'token' })),
  'with a member of a key more': textOf(
    json({ key: KEY, successor: { ...NEXT, z: '' }, use: 'token' }),
  ),
  'with a space': textOf(`${WRITTEN} `),
  'without a successor': textOf(json({ key: KEY, use: 'token' })),
  'with a coordinate that is too short': textOf(
    json({ key: KEY, successor: { ...NEXT, y: 'AAAA' }, use: 'token' }),
  ),
  'that is not JSON': textOf('{'),
  'that is not a JWS': 'a.b',
};
for (const [name, text] of Object.entries(unread)) {
  test(`readSuccessor() returns undefined for a text ${name}`, () => {
    assert.equal(readSuccessor(text), undefined);
  });
}

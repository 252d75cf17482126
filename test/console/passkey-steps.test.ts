import assert from 'node:assert/strict';
import { test } from 'vitest';
import { entryProof } from '../../src/console/trust/entry-steps.ts';
import { type EntryFields, entryOf, entryView, SALT_BYTES } from '../../src/domain/log/entry.ts';
import { hashNode } from '../../src/domain/log/merkle.ts';
import { decisionChallenge } from '../../src/domain/passkey/decision.ts';
import { digestOf } from '../../src/domain/wire/canonical.ts';
import { toHex } from '../../src/domain/wire/hash.ts';
import { softwareKey } from '../../src/testing/authenticator.ts';
import { readKeys } from '../../src/verify/keys.ts';
import { detail, JWKS, NOW, SERVICE } from '../verify/artefacts.ts';

const BOB = 'human:bob@example.com';
const ORIGIN = 'https://desk.example.com';
const key = softwareKey();

const decision = {
  nonce: 'n-1',
  decision: 'approve',
  approval_request_id: `apr_${'1'.repeat(32)}`,
  parameters_digest: `sha256:${'ab'.repeat(32)}`,
  preview_digest: null,
  terms: { grant_type: 'one_time', session_id: null, expires_in_seconds: 900, max_uses: 1 },
} as const;

const { kty, crv, x, y } = key.jwk;
const public_key = { kty, crv, x, y };
const challenge = decisionChallenge(decision);
const assertion = key.assert({ challenge, rpId: 'desk.example.com', origin: ORIGIN });

const added = stored(0, {
  entry_type: 'session',
  detail: {
    verb: 'passkey_added',
    credential_id: key.credentialId,
    public_key,
    key_digest: digestOf(public_key),
    rp_id: 'desk.example.com',
    usable_from: '2090-01-01T10:00:00.000Z',
  },
});

function stored(sequence: number, fields: Partial<EntryFields>) {
  const record = entryOf(
    {
      entry_id: `ent_${String(sequence).padStart(32, '0')}`,
      entry_type: 'approval_decision',
      actor_key: BOB,
      root_principal: BOB,
      event_class: 'high_risk_success',
      success: true,
      state: 'completed',
      timestamp: '2090-01-01T11:00:00.000Z',
      ...fields,
    },
    new Uint8Array(SALT_BYTES).fill(sequence + 1),
  );
  const bytes = (part: Uint8Array) => Buffer.from(part).toString('base64');
  const view = entryView({ ...record, sequence });
  return {
    hash: record.leaf_hash,
    entry: { ...view, leaf: bytes(record.leaf), personal: bytes(record.personal) },
  };
}

/** A log of two entries: the passkey is added, then it decides. */
function logOf(terms: object, first = added) {
  const decided = stored(1, {
    approval_request_id: decision.approval_request_id,
    parameters_digest: decision.parameters_digest,
    detail: {
      decision: 'granted',
      preview_digest: null,
      terms,
      passkey: { ...assertion, nonce: decision.nonce, public_key },
    },
  });
  const hashes = [first.hash, decided.hash] as const;
  const checkpoint = detail(1, 2, hashNode(...hashes));
  const proved = (index: 0 | 1) => ({
    ...checkpoint,
    inclusion_proof: {
      leaf_index: index,
      tree_size: 2,
      leaf_hash: toHex(hashes[index]),
      hashes: [toHex(hashes[1 - index] as Uint8Array)],
    },
  });
  return {
    given: { entry: decided.entry, checkpoint: proved(1) },
    earlier: [{ entry: first.entry, checkpoint: proved(0) }],
  };
}

const keys = readKeys({ jwks: JWKS });
assert.ok('keys' in keys);
const ground = { keys, now: NOW, serviceId: SERVICE, isNoted: false };

test('entryProof() checks what a passkey signed, and the entry that added it', async () => {
  const { given, earlier } = logOf(decision.terms);

  const { verdict, steps } = await entryProof({ ...given, earlier }, ground);

  assert.equal(verdict, 'agrees');
  assert.deepEqual(
    steps.slice(-2).map(({ title, outcome }) => [title, outcome]),
    [
      ['Check what the passkey signed', 'ok'],
      ['Check whose passkey it is', 'ok'],
    ],
  );
});

test('entryProof() cannot say whose passkey it is without the entry that added it', async () => {
  const { verdict, steps } = await entryProof(logOf(decision.terms).given, ground);

  assert.equal(verdict, 'agrees');
  assert.equal(steps.at(-1)?.outcome, 'not_checked');
});

test('entryProof() fails for terms that the passkey did not sign, though the log has them', async () => {
  const { given, earlier } = logOf({ ...decision.terms, max_uses: 9 });

  assert.equal((await entryProof({ ...given, earlier }, ground)).verdict, 'failed');
});

test('entryProof() fails for an entry about the passkey that is not in the log', async () => {
  const { given, earlier } = logOf(decision.terms, stored(0, { entry_type: 'session' }));
  const forged = earlier.map(({ checkpoint }) => ({ entry: added.entry, checkpoint }));

  const { verdict, steps } = await entryProof({ ...given, earlier: forged }, ground);

  assert.equal(verdict, 'failed');
  assert.match(steps.at(-1)?.says.join() ?? '', /entry 0 about the passkey does not hold/);
});

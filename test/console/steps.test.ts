import assert from 'node:assert/strict';
import { test } from 'vitest';
import { entryProof } from '../../src/console/trust/entry-steps.ts';
import { growthProof } from '../../src/console/trust/growth-steps.ts';
import type { PageAnchors } from '../../src/console/trust/steps.ts';
import { readVkey } from '../../src/domain/log/note-key.ts';
import { verifyEntry } from '../../src/verify/entry.ts';
import { readKeys } from '../../src/verify/keys.ts';
import {
  cosigned,
  JWKS,
  LOG_KID,
  listed,
  NOW,
  SERVICE,
  smallLog,
  TOKEN_KID,
  WITNESS_VKEY,
} from '../verify/artefacts.ts';

const log = smallLog([2, 5, 13]);
const [first, second, third] = log.checkpoints as [Detail, Detail, Detail];
type Detail = (typeof log.checkpoints)[number];

const published = groundOf();
const entry = log.entries[6];
const checkpoint = { ...third, inclusion_proof: log.inclusion(6, 13) };

function groundOf(pinned: readonly string[] = [], vkeys: readonly string[] = []): PageAnchors {
  const noteKeys = vkeys.flatMap((text) => readVkey(text) ?? []);
  const keys = readKeys({ jwks: JWKS, pinned, noteKeys });
  assert.ok('keys' in keys);
  return { keys, now: NOW, serviceId: SERVICE, isNoted: pinned.length > 0 };
}

/** Every value that a change of one character of one text, or of one number, can make. */
function altered(value: unknown): unknown[] {
  if (typeof value === 'string') return [...value].map((_, at) => otherAt(value, at));
  if (typeof value === 'number') return [value + 1];
  if (typeof value === 'boolean') return [!value];
  if (Array.isArray(value)) {
    const changes = value.flatMap((item, at) =>
      altered(item).map((other) => value.with(at, other)),
    );
    return value.length > 0 ? [...changes, value.slice(1)] : changes;
  }
  return Object.entries(value ?? {}).flatMap(([name, item]) =>
    altered(item).map((other) => ({ ...(value as object), [name]: other })),
  );
}

function otherAt(text: string, at: number): string {
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
}

test('entryProof() shows the path of an entry in steps that all agree', async () => {
  const proof = await entryProof({ entry, checkpoint, asked: { sequence: 6 } }, published);

  assert.equal(proof.verdict, 'agrees');
  assert.equal(proof.claim, 'Entry 6 is in checkpoint 3');
  assert.deepEqual(
    proof.steps.map(({ title, note }) => (note ? `${title}, ${note}` : title)).slice(2, 7),
    [
      'Join entry 7, on the right',
      'Join entries 4 and 5, on the left',
      'Join entries 0 to 3, on the left',
      'Join entries 8 to 12, on the right',
      'Compare with the root of checkpoint 3',
    ],
  );
  assert.equal(proof.path?.computed, proof.path?.root);
  assert.deepEqual(proof.path?.numbers, [2, 3, 4, 5, 6]);
  assert.match(proof.steps[7]?.says.join() ?? '', /published it itself/);
});

test('entryProof() agrees exactly where verifyEntry() verifies with pinned keys', async () => {
  for (const [index, covering] of [
    [0, first],
    [4, second],
    [12, third],
    [3, first],
  ] as const) {
    const inclusion_proof = log.inclusion(
      Math.min(index, covering.entry_count - 1),
      covering.entry_count,
    );
    const given = { entry: log.entries[index], checkpoint: { ...covering, inclusion_proof } };
    const { verdict } = await verifyEntry(given, groundOf([LOG_KID]));

    assert.equal((await entryProof(given, published)).verdict === 'agrees', verdict === 'verified');
  }
});

test('entryProof() fails for every changed character of the entry', {
  timeout: 120_000,
}, async () => {
  const { personal, leaf, ...fields } = entry as NonNullable<typeof entry>;
  const shortened = { ...fields, leaf: leaf ?? '', personal: personal ?? '' };
  for (const change of altered(shortened)) {
    const { verdict, failing } = await entryProof({ entry: change, checkpoint }, published);
    assert.equal(verdict, 'failed', JSON.stringify(change));
    assert.ok(failing.length > 0);
  }
});

test('entryProof() fails for every changed character of checkpoint, note and path', {
  timeout: 120_000,
}, async () => {
  for (const change of altered(checkpoint)) {
    const { verdict } = await entryProof({ entry, checkpoint: change }, published);
    assert.equal(verdict, 'failed', JSON.stringify(change));
  }
});

test('entryProof() fails for the true answer to another question', async () => {
  const other = {
    entry: log.entries[5],
    checkpoint: { ...third, inclusion_proof: log.inclusion(5, 13) },
  };
  const asked = { sequence: 6, checkpoint_id: third.checkpoint_id };

  assert.deepEqual((await entryProof({ ...other, asked }, published)).failing, [1]);
  assert.equal((await entryProof({ entry, checkpoint, asked }, published)).verdict, 'agrees');
});

test('entryProof() fails for an answer without the leaf, and is incomplete for an erased one', async () => {
  const { leaf: _, personal: __, ...bare } = entry as NonNullable<typeof entry>;
  const { personal: ___, ...impersonal } = entry as NonNullable<typeof entry>;
  const verdicts = async (value: object) =>
    (await entryProof({ entry: value, checkpoint }, published)).verdict;

  assert.equal(await verdicts(bare), 'failed');
  assert.equal(await verdicts(impersonal), 'failed');
  assert.equal(await verdicts({ ...bare, erased: 'contents' }), 'incomplete');
});

test('entryProof() fails for a key that the reader did not note', async () => {
  const given = { entry, checkpoint };

  assert.equal((await entryProof(given, groundOf([LOG_KID]))).verdict, 'agrees');
  assert.equal((await entryProof(given, groundOf([TOKEN_KID]))).verdict, 'failed');
});

test('entryProof() counts the witnesses that signed, and fails for one that signed another root', async () => {
  const anchors = groundOf([], [WITNESS_VKEY]);
  const witnessed = { ...checkpoint, tree_head: cosigned(third.tree_head) };
  const forged = cosigned(third.tree_head).replace(third.tree_head, cosigned(second.tree_head));
  const lastStep = async (detail: unknown) =>
    (await entryProof({ entry, checkpoint: detail }, anchors)).steps.at(-1);

  assert.equal((await lastStep(witnessed))?.note, '1 of 1 signed the same root');
  assert.equal((await lastStep(checkpoint))?.note, '0 of 1 signed the same root');
  assert.equal((await entryProof({ entry, checkpoint }, anchors)).verdict, 'agrees');
  const { verdict } = await entryProof(
    { entry, checkpoint: { ...checkpoint, tree_head: forged } },
    anchors,
  );
  assert.equal(verdict, 'failed');
});

test('entryProof() never throws, whatever the service answers', async () => {
  for (const value of [
    undefined,
    null,
    7,
    'x',
    [],
    {},
    { sequence: 'x', leaf: 5, leaf_hash: 'ab' },
  ]) {
    for (const given of [
      { entry: value, checkpoint },
      { entry, checkpoint: value },
    ]) {
      assert.equal((await entryProof(given, published)).verdict, 'failed');
    }
    assert.equal(
      (await growthProof({ earlier: value, later: third }, published)).verdict,
      'failed',
    );
  }
});

const later = { ...third, consistency_proof: log.consistency(5, 13) };

test('growthProof() climbs from one subtree to both signed roots', async () => {
  const proof = await growthProof(
    { earlier: listed(second), later, listed: listed(third) },
    published,
  );

  assert.equal(proof.verdict, 'agrees');
  assert.equal(proof.claim, 'Checkpoint 3 extends checkpoint 2');
  assert.equal(proof.steps[1]?.title, 'Begin with entry 4');
  assert.equal(proof.path?.computed, proof.path?.root);
});

test('growthProof() fails for every changed character of either checkpoint and of the proof', {
  timeout: 120_000,
}, async () => {
  const earlier = listed(second);
  for (const change of altered(earlier)) {
    assert.equal((await growthProof({ earlier: change, later }, published)).verdict, 'failed');
  }
  for (const change of altered(later)) {
    const { verdict } = await growthProof({ earlier, later: change }, published);
    assert.equal(verdict, 'failed', JSON.stringify(change));
  }
});

test('growthProof() fails for another pair than the list showed, and cannot check a missing proof', async () => {
  const shown = {
    earlier: listed(first),
    later: { ...second, consistency_proof: log.consistency(2, 5) },
  };

  assert.equal((await growthProof(shown, published)).verdict, 'agrees');
  assert.deepEqual(
    (await growthProof({ ...shown, listed: listed(third) }, published)).failing,
    [1],
  );
  assert.equal(
    (await growthProof({ earlier: listed(first), later: second }, published)).verdict,
    'incomplete',
  );
});

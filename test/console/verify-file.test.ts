import assert from 'node:assert/strict';
import { test } from 'vitest';
import { evidenceOf, readEvidence } from '../../src/console/trust/evidence.ts';
import { type FileResult, type Known, verifyFile } from '../../src/console/verifier/verify-file.ts';
import {
  fileOf,
  JWKS,
  LOG_KID,
  listed,
  logLines,
  SERVICE,
  signedReceipts,
  smallLog,
  trailLines,
  WITNESS_VKEY,
} from '../verify/artefacts.ts';

const log = smallLog([2, 5, 13]);
const [, second, third] = log.checkpoints as [Detail, Detail, Detail];
type Detail = (typeof log.checkpoints)[number];

const NOTHING: Known = {
  jwks: '',
  thumbprints: '',
  witnessKeys: '',
  serviceId: '',
  receipt: '',
  after: '',
  allowErased: false,
  isTrail: false,
};
const KEYS: Known = { ...NOTHING, jwks: JSON.stringify(JWKS) };

function verify(content: Uint8Array | object, known: Known): Promise<FileResult> {
  const part = content instanceof Uint8Array ? content.slice() : JSON.stringify(content);
  const running = { signal: new AbortController().signal, onRead: () => {} };
  return verifyFile(new Blob([part]), known, running);
}

async function verdict(content: Uint8Array | object, known: Known): Promise<string> {
  const result = await verify(content, known);
  return result.kind === 'export' ? result.report.verdict : result.proof.verdict;
}

const whole = fileOf(logLines(log));

test('verifyFile() verifies a log with keys of another source, and not with those of the file', async () => {
  assert.equal(await verdict(whole, KEYS), 'verified');
  assert.equal(await verdict(whole, { ...NOTHING, thumbprints: ` ${LOG_KID}\n` }), 'verified');
  assert.equal(await verdict(whole, NOTHING), 'incomplete');
  assert.equal(await verdict(whole, { ...KEYS, serviceId: 'hotel-desk' }), 'failed');
  assert.equal(await verdict(whole, { ...KEYS, witnessKeys: WITNESS_VKEY }), 'incomplete');
});

test('verifyFile() names the newest checkpoint of a log and of a trail', async () => {
  const trail = fileOf(trailLines(log, [1, 6]));
  for (const file of [whole, trail]) {
    const result = await verify(file, { ...KEYS, isTrail: true });
    assert.ok(result.kind === 'export');
    assert.equal(result.report.verdict, 'verified');
    assert.equal(result.report.newest?.sequence, 3);
  }
  assert.equal(await verdict(trail, KEYS), 'incomplete');
});

test('verifyFile() fails for a log of which one byte was changed', async () => {
  const changed = whole.with(1_500, (whole[1_500] ?? 0) ^ 1);

  assert.equal(await verdict(changed, KEYS), 'failed');
});

test('verifyFile() looks for a receipt, also inside the answer of a call', async () => {
  const { entry_id, leaf_hash } = log.entries[3] as (typeof log.entries)[number];
  const audit = { entry_id, leaf_hash };

  for (const receipt of [audit, { invocation_id: 'inv-000000000003', audit }]) {
    assert.equal(await verdict(whole, { ...KEYS, receipt: JSON.stringify(receipt) }), 'verified');
  }
  const other = JSON.stringify({ ...audit, leaf_hash: 'ab'.repeat(32) });
  assert.equal(await verdict(whole, { ...KEYS, receipt: other }), 'incomplete');
});

test('verifyFile() takes a signed receipt, which shows a dropped entry without a fetched checkpoint', async () => {
  const [kept] = signedReceipts(log.entries);
  const [lost] = signedReceipts(smallLog([1], 77).entries);

  assert.equal(await verdict(whole, { ...KEYS, receipt: JSON.stringify(kept) }), 'verified');
  assert.equal(await verdict(whole, { ...KEYS, receipt: JSON.stringify(lost) }), 'failed');
});

const source = { service_id: SERVICE, jwks: JWKS, witness_keys: [] };
const proved = { ...third, inclusion_proof: log.inclusion(6, 13) };

test('verifyFile() verifies saved evidence in the steps of the page', async () => {
  const entry = evidenceOf(source, { entry: log.entries[6], checkpoint: proved });
  const later = { ...third, consistency_proof: log.consistency(5, 13) };
  const growth = evidenceOf(source, { earlier: listed(second), later });

  assert.equal(await verdict(entry, KEYS), 'agrees');
  assert.equal(await verdict(growth, { ...NOTHING, thumbprints: LOG_KID }), 'agrees');
  const changed = { ...log.entries[6], capability: 'cancel_flight' };
  assert.equal(
    await verdict(evidenceOf(source, { entry: changed, checkpoint: proved }), KEYS),
    'failed',
  );
  const forged = { ...entry, jwks: { keys: JWKS.keys.slice(0, 1) } };
  assert.equal(await verdict(forged, KEYS), 'agrees');
  assert.equal(await verdict(forged, NOTHING), 'failed');
});

test('verifyFile() does not take the word of a file for its own keys and witnesses', async () => {
  const witnessed = { ...source, witness_keys: [WITNESS_VKEY] };
  const file = evidenceOf(witnessed, { entry: log.entries[6], checkpoint: proved });

  const alone = await verify(file, NOTHING);
  const noted = await verify(file, KEYS);

  assert.ok(alone.kind === 'evidence' && noted.kind === 'evidence');
  assert.equal(alone.proof.verdict, 'incomplete');
  const open = alone.proof.steps.filter(({ outcome }) => outcome === 'not_checked');
  assert.match(open.flatMap(({ says }) => says).join(' '), /came with the file/);
  assert.equal(noted.proof.verdict, 'agrees');
  assert.ok(noted.proof.steps.every(({ title }) => title !== 'Check the witnesses'));
});

test('readEvidence() reads no other value', () => {
  for (const value of [
    undefined,
    null,
    7,
    [],
    {},
    { format: 'writ-evidence/1' },
    { ...source, given: {} },
  ]) {
    assert.equal(readEvidence(value), undefined);
  }
});

const unusable: [field: keyof Known, text: string, why: RegExp][] = [
  ['jwks', 'x', /Cannot use the key set: it is not JSON/],
  ['witnessKeys', 'x', /expected the key of a witness/],
  ['receipt', '{', /Cannot use the receipt/],
  ['after', '{', /Cannot use the checkpoint/],
];
for (const [field, text, why] of unusable) {
  test(`verifyFile() rejects ${field} that cannot be read`, async () => {
    await assert.rejects(verify(whole, { ...KEYS, [field]: text }), why);
  });
}

test('verifyFile() reads in slices, says how far it is, and stops when it is asked to', async () => {
  const many = fileOf(logLines(smallLog([200])));
  const controller = new AbortController();
  const read: number[] = [];
  const running = {
    signal: controller.signal,
    onRead(bytes: number) {
      read.push(bytes);
      if (read.length === 2) controller.abort();
    },
  };

  await assert.rejects(verifyFile(new Blob([many.slice()]), KEYS, running), { name: 'AbortError' });
  assert.equal(read.length, 2);
  assert.ok((read[1] as number) < many.length);
});

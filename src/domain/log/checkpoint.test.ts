import assert from 'node:assert/strict';
import { test } from 'vitest';
import { Checkpoint, CheckpointDetail } from '../../protocol/audit.ts';
import {
  type CheckpointRecord,
  checkpointDetail,
  checkpointPayload,
  checkpointView,
  logOrigin,
  readRootText,
  rootText,
  signedCheckpointPayload,
} from './checkpoint.ts';
import { EMPTY_ROOT } from './merkle.ts';
import { isKeyName } from './note-key.ts';

const RECORD: CheckpointRecord = {
  checkpoint_id: `ckpt-${'0a'.repeat(16)}`,
  sequence: 3,
  size: 12,
  root: EMPTY_ROOT,
  created_at: new Date('2030-01-01T00:00:00.123Z'),
  signature: `e30..${'A'.repeat(86)}`,
  note: 'the note',
};
const ROOT_TEXT = 'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

test('checkpointPayload() is the canonical form of exactly the six signed fields', () => {
  const text = new TextDecoder().decode(checkpointPayload('travel', RECORD));

  const expected =
    `{"checkpoint_id":"ckpt-${'0a'.repeat(16)}","created_at":"2030-01-01T00:00:00.123Z",` +
    `"entry_count":12,"merkle_root":"${ROOT_TEXT}","sequence":3,"service_id":"travel"}`;
  assert.equal(text, expected);
});

test('signedCheckpointPayload() gives the same bytes from the checkpoint as it travels', () => {
  const signed = checkpointPayload('travel', RECORD);

  assert.deepEqual(signedCheckpointPayload('travel', checkpointView(RECORD)), signed);
  assert.deepEqual(signedCheckpointPayload('travel', checkpointDetail(RECORD)), signed);
});

test('checkpointPayload() changes with every signed field', () => {
  const signed = checkpointPayload('travel', RECORD);
  const others: Partial<CheckpointRecord>[] = [
    { checkpoint_id: `ckpt-${'0b'.repeat(16)}` },
    { sequence: 4 },
    { size: 13 },
    { root: EMPTY_ROOT.with(0, 0) },
    { created_at: new Date('2030-01-01T00:00:00.124Z') },
  ];

  assert.notDeepEqual(checkpointPayload('other', RECORD), signed);
  for (const other of others) {
    assert.notDeepEqual(checkpointPayload('travel', { ...RECORD, ...other }), signed);
  }
});

test('checkpointView() and checkpointDetail() match the wire schemas', () => {
  assert.deepEqual(Checkpoint.parse(checkpointView(RECORD)), checkpointView(RECORD));
  assert.deepEqual(CheckpointDetail.parse(checkpointDetail(RECORD)), checkpointDetail(RECORD));
  assert.equal(checkpointDetail(RECORD).tree_head, 'the note');
  assert.equal(checkpointDetail(RECORD).tree_size, 12);
});

test('readRootText() reads what rootText() writes', () => {
  assert.equal(rootText(EMPTY_ROOT), ROOT_TEXT);
  assert.deepEqual(readRootText(ROOT_TEXT), EMPTY_ROOT);
});

for (const text of [ROOT_TEXT.slice(0, -2), ROOT_TEXT.toUpperCase(), ROOT_TEXT.slice(7), '']) {
  test(`readRootText() refuses "${text}"`, () => {
    assert.equal(readRootText(text), undefined);
  });
}

test('logOrigin() names the log without the scheme, in the form of a key name', () => {
  assert.equal(logOrigin('travel', 'id-1'), 'travel/log/id-1');
  assert.equal(logOrigin('https://svc.example.com/', 'id-1'), 'svc.example.com/log/id-1');
  assert.ok(isKeyName(logOrigin('https://svc.example.com:8443/a_b-c', 'id-1')));
});

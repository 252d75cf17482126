import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'vitest';
import { listedRowKeys } from '../keyring/row-keys.ts';
import { createLog } from '../log.ts';
import { openStore } from '../storage/open.ts';
import { rowText } from '../storage/row-forms.ts';
import type { Store } from '../storage/store.ts';
import { admission, at, childToken, entry, rootToken } from '../testing/fixtures.ts';
import { createAlarms } from './alarms.ts';
import { authenticStore, revocationMac } from './authentic-store.ts';

const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const clock = () => new Date();

let raw: Store;
let store: Store;
let lines: string[];
let raised: string[];
const rows = listedRowKeys(keyOf(1), clock);

beforeEach(async () => {
  raw = await openStore('memory:');
  lines = [];
  raised = [];
  const alarms = createAlarms(createLog('error', { write: (line) => void lines.push(line) }));
  alarms.watch((alarm) => raised.push(alarm));
  store = authenticStore(raw, rows, alarms);
});
afterEach(() => raw.close());

test('authenticStore() gives back what it kept, and no alarm', async () => {
  const root = rootToken();
  await store.insertRoot(root, entry());

  const { token, lineage } = await store.load({ tokenId: root.token_id });

  assert.equal(token?.token_id, root.token_id);
  assert.equal(lineage.length, 1);
  assert.deepEqual(raised, []);
});

test('authenticStore() counts every sight of a row without a MAC, and writes one line', async () => {
  const root = rootToken();
  await raw.insertRoot(root, entry());

  for (let times = 0; times < 3; times += 1) {
    assert.equal((await store.load({ tokenId: root.token_id })).token, undefined);
  }

  assert.deepEqual(raised, ['row_altered', 'row_altered', 'row_altered']);
  assert.equal(lines.length, 1);
});

test('authenticStore() makes a child absent whose parent does not match', async () => {
  const root = rootToken();
  await raw.insertRoot(root, entry());
  const child = childToken(root);
  const mac = rows.macOf(rowText('token', child));
  await raw.insertChild({ ...child, mac }, entry(), { now: at(0), childrenMax: 9 });

  const { token, lineage } = await store.load({ tokenId: child.token_id });

  assert.deepEqual([token, lineage], [undefined, []]);
});

test('revocationMac() is what a revocation that another tool writes needs', async () => {
  const root = rootToken();
  await store.insertRoot(root, entry());
  const mac = revocationMac(rows, root.token_id, at(1));
  await raw.revokeToken(root.token_id, at(1), () => entry(), { mac });

  const { lineage } = await store.load({ tokenId: root.token_id });

  assert.deepEqual(lineage[0]?.revoked_at, at(1));
  assert.deepEqual(raised, []);
});

test('authenticStore() admits nothing and keeps no child whose lineage was not judged', async () => {
  const root = rootToken();
  await store.insertRoot(root, entry());

  assert.throws(() => store.admit(admission(root)), /its lineage was not judged/);
  await assert.rejects(
    async () => store.insertChild(childToken(root), entry(), { now: at(0), childrenMax: 9 }),
    /its lineage was not judged/,
  );
});

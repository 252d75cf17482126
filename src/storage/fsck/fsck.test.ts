import assert from 'node:assert/strict';
import { test } from 'vitest';
import { fillLog, SMALL_LOG_SIZE, sealLog } from '../../../test/log/small-log.ts';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { admitCall, entry, insert, rootToken, settlement } from '../../../test/support/fixtures.ts';
import { foldPeaks } from '../../domain/log/merkle.ts';
import { toHex } from '../../domain/wire/hash.ts';
import { type Store, StoreUnavailable } from '../port/store.ts';
import { openSqlite } from '../sqlite/store.ts';
import { checkStore, FINDINGS_MAX } from './fsck.ts';

test('checkStore() finds nothing in an unaltered log, and reports what it checked', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));
  await fillLog(store);

  const report = await checkStore(store);

  const { peaks } = await store.treeHead();
  assert.deepEqual(report, {
    logId: store.logId,
    entries: SMALL_LOG_SIZE,
    erased: 0,
    // Seven leaves, three pairs, one pair of pairs.
    nodes: 11,
    checkpoints: 2,
    ledger: {
      ...{ tokens: 0, budgets: 0, requests: 0, grants: 0, freezes: 0, openCalls: 0 },
      notes: [],
    },
    root: toHex(foldPeaks(peaks)),
    findings: [],
    findingsCount: 0,
  });
});

test('checkStore() finds nothing in an empty log', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));

  const { entries, nodes, checkpoints, findings } = await checkStore(store);

  assert.deepEqual([entries, nodes, checkpoints, findings], [0, 0, 0, []]);
});

test('checkStore() finds nothing in a log that takes more than one page', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));
  await store.append(Array.from({ length: 1_203 }, () => entry()));
  await sealLog(store);

  const { entries, findings } = await checkStore(store);

  assert.equal(entries, 1_203);
  assert.deepEqual(findings, []);
});

test('checkStore() finds nothing while others append', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));
  await store.append(Array.from({ length: 700 }, () => entry()));
  const token = await insert(store, rootToken());
  const work = async () => {
    for (let i = 0; i < 20; i++) {
      const call = await admitCall(store, token);
      await store.settle(settlement(call));
      await sealLog(store);
    }
  };

  const [report] = await Promise.all([checkStore(store), work()]);

  assert.deepEqual(report.findings, []);
});

test('checkStore() finds an id that two entries have', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));
  const twin = entry();
  await store.append([entry(), twin, entry()]);
  const doubled: Store = {
    ...store,
    async scanEntries(from, limit) {
      const page = await store.scanEntries(from, limit);
      return page.map((one) => (one.sequence === 2 ? { ...one, entry_id: twin.entry_id } : one));
    },
  };

  const { findings } = await checkStore(doubled);

  const named = findings.filter(({ detail }) => detail.includes('occurs more than once'));
  assert.deepEqual(
    named.map(({ where }) => where),
    ['1', '2'],
  );
});

test('checkStore() counts all findings and names a bounded number', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));
  await store.append(Array.from({ length: FINDINGS_MAX + 50 }, () => entry()));
  const renamed: Store = {
    ...store,
    async scanEntries(from, limit) {
      const page = await store.scanEntries(from, limit);
      return page.map((one) => ({ ...one, actor_key: 'agent:thief' }));
    },
  };

  const report = await checkStore(renamed);

  assert.equal(report.findings.length, FINDINGS_MAX);
  assert.equal(report.findingsCount, FINDINGS_MAX + 50);
});

test('checkStore() rejects when the store cannot be read, also in the middle', async () => {
  const store = await openSqlite(':memory:');
  await fillLog(store);
  const failing: Store = {
    ...store,
    nodes: () => Promise.reject(new StoreUnavailable('Cannot use the store: it is gone')),
  };

  await assert.rejects(checkStore(failing), StoreUnavailable);

  await store.close();
  await assert.rejects(checkStore(store), StoreUnavailable);
});

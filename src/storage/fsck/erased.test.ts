import assert from 'node:assert/strict';
import { test } from 'vitest';
import { fillLog, sealLog } from '../../../test/log/small-log.ts';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { at, entry } from '../../../test/support/fixtures.ts';
import { openInstances } from '../../../test/support/store-places.ts';
import type { Store } from '../port/store.ts';
import { openSqlite } from '../sqlite/store.ts';
import { checkStore } from './fsck.ts';

const CLASS = { what: 'contents', eventClass: 'low_risk_success', limit: 100 } as const;

/** The store as it would be if retention had never come to any entry. */
function unexplained(store: Store, changed: Partial<Store> = {}): Store {
  return { ...store, erasures: async () => new Map(), ...changed };
}

async function details(store: Store): Promise<string[]> {
  const { findings } = await checkStore(store);
  return findings.map(({ what, where, detail }) => `${what} ${where}: ${detail}`);
}

for (const name of ['SQLite', 'PostgreSQL']) {
  test(`checkStore() finds contents that no policy erased, on ${name}`, async () => {
    const store = name === 'SQLite' ? await openSqlite(':memory:') : (await openInstances(1))[0];
    await fillLog(store);
    await store.erase({ ...CLASS, until: at(1) });
    assert.deepEqual(await details(store), []);

    const found = await details(unexplained(store));

    const gone =
      'its contents are gone, and retention of low_risk_success has not reached this entry';
    assert.deepEqual(found, [`entry 0: ${gone}`, `entry 1: ${gone}`]);
    await store.close();
  });
}

test('checkStore() finds personal fields that are erased before retention reached them', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));
  await fillLog(store);
  await store.erase({ what: 'personal', until: at(0), limit: 1 });
  assert.deepEqual(await details(store), []);

  const found = await details(unexplained(store));

  assert.deepEqual(found, [
    'entry 0: its personal fields are gone, and retention has not reached this entry',
  ]);
});

test('checkStore() finds contents that are erased before its own retention ends', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));
  await store.append([entry({ retention: 'PT1H' })]);
  const until = at(3_600_000);
  await store.erase({ what: 'stated', until, limit: 1 });

  const late = await details({ ...store, now: () => until });
  const early = await details({ ...store, now: () => new Date(until.getTime() - 1) });

  assert.deepEqual(late, []);
  assert.deepEqual(early, [
    `entry 0: its contents are gone, and it is kept until ${until.toISOString()}`,
  ]);
});

test('checkStore() finds a line of a witness that does not parse', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));
  await store.append([entry()]);
  await sealLog(store);
  const last = await store.lastCheckpoint();
  await store.insertCosignature(last?.checkpoint_id ?? '', '— witness.example AAAAAAAA\n');
  assert.deepEqual(await details(store), []);

  await store.insertCosignature(last?.checkpoint_id ?? '', 'witness.example AAAAAAAA\n');

  const line = '"witness.example AAAAAAAA\\n"';
  assert.deepEqual(await details(store), [
    `checkpoint 1: a line of a witness does not parse: ${line}`,
  ]);
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { foundIn } from '../../../../test/store/observe.ts';
import { closedAtEnd, temporaryFolder } from '../../../../test/support/ends.ts';
import { at, entry } from '../../../../test/support/fixtures.ts';
import { BLOCK_ENTRIES } from '../../log/blocks.ts';
import type { Erasure, Store } from '../../port/store.ts';
import { openSqlite } from '../store.ts';

const ERASURES: readonly Erasure[] = [
  { what: 'personal', until: at(0), limit: 5_000 },
  { what: 'contents', eventClass: 'low_risk_success', until: at(0), limit: 5_000 },
];

const newEntries = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    entry({ task_id: `task ${n}`, invocation_id: `inv-${n.toString(16).padStart(12, '0')}` }),
  );

/** Two processes that use one file; the second may be the first. */
async function processes(isOne: boolean): Promise<[Store, Store]> {
  const file = join(temporaryFolder(), 'writ.db');
  const one = closedAtEnd(await openSqlite(file));
  return [one, isOne ? one : closedAtEnd(await openSqlite(file))];
}

for (const isOne of [true, false]) {
  for (const erasure of ERASURES) {
    const who = isOne ? 'its own process' : 'another process';

    test(`a block has nothing of entries whose ${erasure.what} ${who} erased before it was full`, async () => {
      const [writer, eraser] = await processes(isOne);
      await writer.append(newEntries(900));
      // The process keeps the entries in memory since.
      assert.equal((await foundIn(writer, { taskId: 'task 7', limit: 10 })).length, 1);
      await eraser.erase(erasure);

      await writer.append(newEntries(BLOCK_ENTRIES - 900));

      assert.deepEqual(await writer.inspect(), []);
      assert.equal((await foundIn(writer, { taskId: 'task 700', limit: 10 })).length, 0);
      assert.equal((await foundIn(writer, { taskId: 'task 7', limit: 10 })).length, 1);
    });

    test(`the last block of a log has nothing of entries whose ${erasure.what} ${who} erased`, async () => {
      const [writer, eraser] = await processes(isOne);
      await writer.append(newEntries(40));
      await foundIn(writer, { taskId: 'task 7', limit: 10 });
      await eraser.erase(erasure);

      await writer.beginOrigin(await writer.treeHead(), 'other', entry());

      assert.deepEqual(await writer.inspect(), []);
    });
  }
}

test('a block that one transaction with an erasure completes has nothing of what it erased', async () => {
  const [store] = await processes(true);
  await store.append(newEntries(900));
  await foundIn(store, { taskId: 'task 7', limit: 10 });

  await Promise.all([
    store.erase({ what: 'personal', until: at(0), limit: 500 }),
    store.append(newEntries(BLOCK_ENTRIES)),
  ]);

  assert.deepEqual(await store.inspect(), []);
});

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { freshDatabase } from '../../../test/support/postgres.ts';
import { erasures } from '../log/erase.ts';
import { insertion } from '../sql/statement.ts';
import { ERASURES } from '../tables/log.ts';
import { openDatabase } from './connection.ts';
import { settingsOf } from './options.ts';
import { readStory, rowsStory } from './sql.ts';
import { openPostgres } from './store.ts';

test('insert(), insertNew() and put() of one insertion run on one connection', async () => {
  const { url } = await freshDatabase();
  closedAtEnd(await openPostgres(url, { poolSize: 1 }));
  const database = closedAtEnd(openDatabase(url, settingsOf({}), 1));
  const reached = insertion('test_reached', ERASURES, '(policy)');

  const added = await rowsStory(database, function* (sql) {
    yield* sql.insert(reached, [{ policy: 'one', below: 1 }]);
    const again = yield* sql.insertNew(reached, { policy: 'one', below: 2 });
    const other = yield* sql.insertNew(reached, { policy: 'two', below: 2 });
    yield* sql.put(reached, [{ policy: 'one', below: 3 }]);
    return [again, other];
  });

  assert.deepEqual(added, [false, true]);
  const kept = await readStory(database, erasures);
  assert.deepEqual(Object.fromEntries(kept), { one: 3, two: 2 });
});

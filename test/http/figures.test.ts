/**
 * The figures of a service whose store does not answer: operators need the others at that time.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { emptyStore } from '../support/empty-store.ts';
import { connectedTo, isWaitedFor } from '../support/postgres.ts';
import { testService } from '../support/world.ts';

test('GET /metrics answers while the store does not, with the pool of that moment, and asks the store once', async () => {
  const place = await emptyStore();
  let asked = 0;
  const stuck = await testService({
    store: `${place.url}${place.url.includes('?') ? '&' : '?'}pool_size=1`,
    wrap: (store) =>
      Object.assign(Object.create(store), {
        figures: (now: Date) => {
          asked += 1;
          return store.figures(now);
        },
      }),
  });
  const other = await connectedTo(place.url);
  await other.query('BEGIN');
  await other.query('LOCK TABLE approval_requests IN ACCESS EXCLUSIVE MODE');
  const waiting = [1, 2].map(() => stuck.store.figures(new Date()));
  await isWaitedFor(other);
  asked = 0;

  const texts = [];
  for (let i = 0; i < 2; i++) texts.push((await stuck.ask('GET', '/metrics')).text ?? '');
  await other.query('ROLLBACK');
  await Promise.all(waiting);

  for (const text of texts) {
    assert.match(text, /^writ_store_connections_used 1$/m);
    assert.match(text, /^writ_store_connections_awaited [1-9]/m);
    assert.doesNotMatch(text, /^writ_store_bytes /m);
  }
  assert.equal(asked, 1);
});

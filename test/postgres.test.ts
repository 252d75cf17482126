/**
 * The server under the suite is a real one, set as a production server is.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { inject, test } from 'vitest';
import { withClient } from './empty-store.ts';

test('the suite runs on a real PostgreSQL server that flushes to disk', async () => {
  const { rows } = await withClient(inject('postgresUrl'), (client) =>
    client.query("SELECT version(), current_setting('fsync') AS fsync"),
  );

  assert.match(rows[0].version, /^PostgreSQL \d+\.\d+/);
  assert.equal(rows[0].fsync, 'on');
});

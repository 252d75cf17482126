/**
 * The server under the suite is a real one, set as a production server is.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { runSql, suiteServer } from './postgres.ts';

test('the suite runs on a real PostgreSQL server that flushes its commits', async () => {
  const sql = "SELECT version(), current_setting('fsync') AS fsync";
  const [row] = await runSql<{ version: string; fsync: string }>(suiteServer(), sql);

  assert.match(row?.version ?? '', /^PostgreSQL \d+\.\d+/);
  assert.equal(row?.fsync, 'on');
});

/**
 * Rate limits in PostgreSQL: how much of each key's current window is taken, over all replicas.
 *
 * @module
 */

import type { InvocationStore } from '../../port/invocation-store.ts';
import type { Database, Statement } from '../connection.ts';

export function createPermits(database: Database): InvocationStore['takePermits'] {
  return async ({ key, windowStart, limit, slice }) => {
    const [row] = await database.write<{ granted: string; taken: string }>(TAKE, [
      key,
      windowStart,
      limit,
      slice,
    ]);
    // The row has a later window than the request, so this process's clock is behind: nothing is granted.
    if (!row) return { granted: 0, left: 0 };
    return { granted: Number(row.granted), left: Math.max(0, limit - Number(row.taken)) };
  };
}

const TAKE: Statement = {
  name: 'take_permits',
  text: `INSERT INTO permits AS p (key, window_start, taken, granted)
    VALUES ($1, $2, least($4::bigint, $3::bigint), least($4::bigint, $3::bigint))
    ON CONFLICT (key) DO UPDATE SET
      window_start = EXCLUDED.window_start,
      granted = CASE WHEN p.window_start < EXCLUDED.window_start THEN EXCLUDED.granted
        ELSE greatest(0, least($4::bigint, $3::bigint - p.taken)) END,
      taken = CASE WHEN p.window_start < EXCLUDED.window_start THEN EXCLUDED.taken
        ELSE p.taken + greatest(0, least($4::bigint, $3::bigint - p.taken)) END
    WHERE p.window_start <= EXCLUDED.window_start
    RETURNING granted, taken`,
};

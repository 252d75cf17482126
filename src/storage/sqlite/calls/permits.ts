/**
 * Rate limits in SQLite: how much of each key's current window is taken.
 *
 * @module
 */

import type { PermitRequest, Permits } from '../../port/invocation-store.ts';
import type { Connection } from '../connection.ts';

export function takePermits(
  connection: Connection,
  { key, windowStart, limit, slice }: PermitRequest,
): Permits {
  const row = connection.get<{ window_start: bigint; taken: bigint }>(
    'SELECT window_start, taken FROM permits WHERE key = ?',
    key,
  );
  const start = BigInt(windowStart.getTime());
  // The row has a later window than the request, so this process's clock is behind: nothing is granted.
  if (row && row.window_start > start) return { granted: 0, left: 0 };
  const taken = row?.window_start === start ? Number(row.taken) : 0;
  const granted = Math.max(0, Math.min(slice, limit - taken));
  connection.run(
    'INSERT OR REPLACE INTO permits (key, window_start, taken) VALUES (?, ?, ?)',
    key,
    windowStart,
    taken + granted,
  );
  return { granted, left: Math.max(0, limit - taken - granted) };
}

/**
 * The kill switch, and the end of what was promised.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/entry.ts';
import type { FreezeRecord } from '../records.ts';
import type { OperatorStore } from '../store.ts';
import { endedActor } from './actor.ts';
import type { Database, Session, Statement } from './connection.ts';
import { enqueueFrom, entryValues } from './entries.ts';
import { freezeOf, type Row } from './rows.ts';
import { ENTRY_COLUMNS } from './schema-log.ts';

export function createOperators(database: Database, now: () => Date): OperatorStore {
  return {
    freeze: (freeze, entry, actor) =>
      database.transaction(async (session) => {
        const ended = await endedActor(session, actor, freeze.frozen_at);
        if (ended) return ended;
        await runFreeze(session, freeze, entry);
        return 'frozen';
      }),

    unfreeze: ({ what, target }, entry, actor) =>
      database.transaction(async (session) => {
        const at = now();
        const ended = await endedActor(session, actor, at);
        if (ended) return ended;
        await session.run(HOLD_FREEZES);
        const values = [...entryValues(entry), what, target, at];
        const [row] = await session.run<{ in_force: boolean }>(UNFREEZE, values);
        return row?.in_force ?? false;
      }),

    async frozen(now) {
      const rows = await database.read<Row>(FROZEN, [now]);
      return rows.map(freezeOf);
    },

    voidPromises: () =>
      database.transaction(async (session) => {
        for (const statement of VOIDING) await session.run(statement);
      }),
  };
}

const FIRST = ENTRY_COLUMNS.length + 1;

/** Freezes in a transaction that is under way. */
export async function runFreeze(
  session: Session,
  freeze: FreezeRecord,
  entry: EntryRecord,
): Promise<void> {
  const { what, target, reason, frozen_by, frozen_at, until, mac } = freeze;
  await session.run(HOLD_FREEZES);
  const values = [what, target, reason, frozen_by, frozen_at, until, mac];
  await session.run(FREEZE, [...entryValues(entry), ...values]);
}

/**
 * One operator after another: what is frozen in the end is what the last entry of the log says.
 * Admissions only read, and wait for nobody here.
 */
const HOLD_FREEZES: Statement = {
  name: 'hold_freezes',
  text: 'LOCK TABLE freezes IN SHARE ROW EXCLUSIVE MODE',
};

const FREEZE: Statement = {
  name: 'freeze',
  text: `WITH entry AS (${enqueueFrom(1, '')})
    INSERT INTO freezes (what, target, reason, frozen_by, frozen_at, until, mac)
    VALUES ($${FIRST}, $${FIRST + 1}, $${FIRST + 2}, $${FIRST + 3}, $${FIRST + 4}, $${FIRST + 5},
      $${FIRST + 6})
    ON CONFLICT (what, target) DO UPDATE SET reason = EXCLUDED.reason,
      frozen_by = EXCLUDED.frozen_by, frozen_at = EXCLUDED.frozen_at, until = EXCLUDED.until,
      mac = EXCLUDED.mac`,
};

const UNFREEZE: Statement = {
  name: 'unfreeze',
  text: `WITH entry AS (${enqueueFrom(1, '')})
    DELETE FROM freezes WHERE what = $${FIRST} AND target = $${FIRST + 1}
    RETURNING until IS NULL OR until > $${FIRST + 2}::timestamptz AS in_force`,
};

const FROZEN: Statement = {
  name: 'frozen',
  text: `SELECT what, target, reason, frozen_by, frozen_at, until, mac FROM freezes
    WHERE $1::timestamptz IS NULL OR until IS NULL OR until > $1 ORDER BY frozen_at DESC, what, target`,
};

/** In the order in which every transition takes these locks. */
const VOIDING: readonly Statement[] = [
  {
    name: 'void_compositions',
    text: `WITH composed AS (
        UPDATE intents SET composing = NULL WHERE composing IS NOT NULL RETURNING operation_id
      )
      DELETE FROM steps s USING composed c WHERE s.operation_id = c.operation_id`,
  },
  { name: 'void_keys', text: 'DELETE FROM idempotency' },
  { name: 'void_grants', text: 'UPDATE grants SET uses = max_uses WHERE uses < max_uses' },
  { name: 'void_bindings', text: 'DELETE FROM bindings' },
];

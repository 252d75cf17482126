/**
 * Freezes, and the voiding of everything that callers hold beside their tokens.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { FreezeRecord } from '../port/records.ts';
import type { OperatorStore } from '../port/store.ts';
import type { Row } from '../tables/table.ts';
import { endedActor } from './calls/actor.ts';
import type { Database, Session, Statement } from './connection.ts';
import { enqueueFrom, ROW_VALUES, rowValues } from './log/entries.ts';
import { FREEZES } from './rows.ts';

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
        const values = [...rowValues([entry]), what, target, at];
        const [row] = await session.run<{ in_force: boolean }>(UNFREEZE, values);
        return row?.in_force ?? false;
      }),

    async freezesUnder(keys) {
      const [whats, targets] = [keys.map(({ what }) => what), keys.map(({ target }) => target)];
      const rows = await database.read<Row>(UNDER, [whats, targets]);
      return rows.map(FREEZES.read);
    },

    async listFreezes(limit, after) {
      const place = [after?.frozen_at, after?.what, after?.target];
      const freezes = (await database.read<Row>(LIST, [...place, limit])).map(FREEZES.read);
      return { freezes, next: freezes.length === limit ? freezes.at(-1) : undefined };
    },

    voidPromises: () =>
      database.transaction(async (session) => {
        for (const statement of VOIDING) await session.run(statement);
      }),
  };
}

const FIRST = ROW_VALUES + 1;

/** Freezes in the current transaction. */
async function runFreeze(
  session: Session,
  freeze: FreezeRecord,
  entry: EntryRecord,
): Promise<void> {
  await session.run(HOLD_FREEZES);
  await session.run(FREEZE, [...rowValues([entry]), FREEZES.rows([freeze])]);
}

/**
 * One operator at a time, so that the state after the last freeze equals the last entry of the log.
 * Admissions only read freezes and do not wait for this lock.
 */
const HOLD_FREEZES: Statement = {
  name: 'hold_freezes',
  text: 'LOCK TABLE freezes IN SHARE ROW EXCLUSIVE MODE',
};

const FREEZE: Statement = {
  name: 'freeze',
  text: `WITH entry AS (${enqueueFrom(1, '')})
    ${FREEZES.insert(FIRST)}
    ON CONFLICT (what, target)
      DO UPDATE SET (${FREEZES.list()}) = ROW (${FREEZES.list('EXCLUDED')})`,
};

const UNFREEZE: Statement = {
  name: 'unfreeze',
  text: `WITH entry AS (${enqueueFrom(1, '')})
    DELETE FROM freezes WHERE what = $${FIRST} AND target = $${FIRST + 1}
    RETURNING until IS NULL OR until > $${FIRST + 2}::timestamptz AS in_force`,
};

const UNDER: Statement = {
  name: 'freezes_under',
  text: `SELECT ${FREEZES.list()}
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS key (what, target, place)
    JOIN freezes USING (what, target) ORDER BY place`,
};

const LIST: Statement = {
  name: 'list_freezes',
  text: `SELECT ${FREEZES.list()} FROM freezes
    WHERE (frozen_at, what, target)
      < (coalesce($1::timestamptz, 'infinity'), coalesce($2::text, ''), coalesce($3::text, ''))
    ORDER BY frozen_at DESC, what DESC, target DESC LIMIT $4`,
};

/** In the lock order of all transitions. */
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
  { name: 'void_sessions', text: 'DELETE FROM sessions' },
  { name: 'void_identities', text: 'DELETE FROM identities' },
  { name: 'void_invitations', text: 'DELETE FROM invitations' },
];

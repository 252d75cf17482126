/**
 * Overruns: debt on every token of a call's lineage, and the freeze that may follow.
 *
 * Debts are locked after budgets, from the root down, so settlements never deadlock.
 *
 * @module
 */

import { minorMax } from '../../../domain/values/money.ts';
import type { Overrun } from '../../port/invocation-store.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { type Appended, appendIn } from '../log/entries.ts';
import type { Repeats } from '../log/repeats.ts';
import { runFreeze } from '../operators.ts';
import { DEBTS } from '../rows.ts';

export async function insertOverrun(
  session: Session,
  { token_id, debt, freeze }: Overrun,
): Promise<void> {
  if (debt) {
    const most = minorMax(debt.currency);
    await session.run(ADD_DEBT, [token_id, debt.currency, debt.amount, most]);
  }
  if (freeze) await runFreeze(session, freeze.record, freeze.entry);
}

/** Appends entries with their overruns. Once: when the entries exist, so do the overruns. */
export function createOverrunAppend(
  database: Database,
  repeats: Repeats,
): (appended: Appended, overrun: Overrun, isRepeat: boolean) => Promise<void> {
  return async ({ entries, bindings }, overrun, isRepeat) => {
    const added = isRepeat ? await repeats.unstored(entries) : entries;
    if (added.length === 0 && entries.length > 0) return;
    await repeats.attempt(added, (batch) =>
      database.transaction(async (session) => {
        const isFirst = await appendIn(session, { entries: added, bindings }, batch);
        if (isFirst) await insertOverrun(session, overrun);
      }),
    );
  };
}

/** A sum stops at the largest amount of its currency, so that settling does not fail because of it. */
const ADD_DEBT: Statement = {
  name: 'add_debt',
  text: `INSERT INTO debts AS d (${DEBTS.list()})
    SELECT l.token_id, $2, $3::bigint
    FROM tokens t, unnest(t.lineage) WITH ORDINALITY AS l (token_id, place)
    WHERE t.token_id = $1 ORDER BY l.place
    ON CONFLICT (token_id, currency)
      DO UPDATE SET amount = least(d.amount + EXCLUDED.amount, $4::bigint)`,
};

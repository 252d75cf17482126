/**
 * Overruns: debt on every token of a call's lineage, and the freeze that may follow.
 *
 * Debts are locked after budgets, from the root down, so settlements never wait for each other in a
 * circle.
 *
 * @module
 */

import { minorMax } from '../../domain/money.ts';
import type { Overrun } from '../invocation-store.ts';
import type { Session, Statement } from './connection.ts';
import { runFreeze } from './operators.ts';

export async function keepOverrun(
  session: Session,
  operationId: string,
  { debt, freeze }: Overrun,
): Promise<void> {
  if (debt) {
    const most = minorMax(debt.currency);
    await session.run(ADD_DEBT, [operationId, debt.currency, debt.amount, most]);
  }
  if (freeze) await runFreeze(session, freeze.record, freeze.entry);
}

/** A sum stays at the largest amount that can be told: settling must not fail because of it. */
const ADD_DEBT: Statement = {
  name: 'add_debt',
  text: `INSERT INTO debts AS d (token_id, currency, amount)
    SELECT l.token_id, $2, $3::bigint FROM intents i JOIN tokens t ON t.token_id = i.token_id,
      unnest(t.lineage) WITH ORDINALITY AS l (token_id, place)
    WHERE i.operation_id = $1 ORDER BY l.place
    ON CONFLICT (token_id, currency)
      DO UPDATE SET amount = least(d.amount + EXCLUDED.amount, $4::bigint)`,
};

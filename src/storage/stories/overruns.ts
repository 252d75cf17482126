/**
 * Overruns: debt on every token of a call's lineage, and the freeze that may follow.
 *
 * Part of the transition that ends a call or a step. Debts are locked after budgets, from the root down, so settlements
 * never deadlock; the lock of all freezes comes last.
 *
 * @module
 */

import { minorMax } from '../../domain/values/money.ts';
import type { Steps } from '../../steps.ts';
import type { Overrun } from '../port/invocation-store.ts';
import type { Sql } from '../sql/sql.ts';
import { either, LEAST, statement } from '../sql/statement.ts';
import { putFreeze } from './freezes.ts';

export function* insertOverrun(
  sql: Omit<Sql, 'now'>,
  { token_id, debt, freeze }: Overrun,
): Steps<void> {
  if (debt) yield* sql.run(ADD_DEBT, token_id, debt.currency, debt.amount, minorMax(debt.currency));
  if (freeze) yield* putFreeze(sql, freeze.record, freeze.entry);
}

const LINEAGE_OF_T = either({
  sqlite: "json_each(iif(json_valid(t.lineage), t.lineage, '[]')) AS l",
  postgres: 'unnest(t.lineage) WITH ORDINALITY AS l (value, key)',
});

/** A sum stops at the largest amount of its currency, so that settling does not fail because of it. */
const ADD_DEBT = statement('add_debt')`
  INSERT INTO debts AS d (token_id, currency, amount)
  SELECT l.value, $2, $3::bigint FROM tokens t, ${LINEAGE_OF_T}
  WHERE t.token_id = $1 ORDER BY l.key
  ON CONFLICT (token_id, currency)
    DO UPDATE SET amount = ${LEAST}(d.amount + excluded.amount, $4::bigint)`;

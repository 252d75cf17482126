/**
 * Overruns in SQLite: debt on every token of a call's lineage, and the freeze that may follow.
 *
 * @module
 */

import { minorMax } from '../../../domain/values/money.ts';
import type { Overrun } from '../../port/invocation-store.ts';
import type { Charge } from '../../port/records.ts';
import type { Connection } from '../connection.ts';
import { freeze } from '../freezes.ts';
import type { LogWriter } from '../log/writer.ts';
import { DEBTS } from '../rows.ts';
import { readLineageIds } from '../tokens.ts';

export function insertOverrun(connection: Connection, log: LogWriter, overrun: Overrun): void {
  if (overrun.debt) addDebt(connection, overrun.token_id, overrun.debt);
  if (overrun.freeze) freeze(connection, log, overrun.freeze.record, overrun.freeze.entry);
}

/** A sum stops at the largest amount of its currency, so that settling does not fail because of it. */
function addDebt(connection: Connection, token_id: string, { currency, amount }: Charge): void {
  const most = minorMax(currency);
  for (const tokenId of readLineageIds(connection, token_id)) {
    connection.run(
      `${DEBTS.insert}
       ON CONFLICT (token_id, currency) DO UPDATE
       SET amount = min(amount + excluded.amount, ?)`,
      ...DEBTS.values({ token_id: tokenId, currency, amount }),
      most,
    );
  }
}

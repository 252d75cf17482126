/**
 * Settlement: one trip for calls that end together, each with its entry, and a certain answer.
 *
 * A settlement is known by its entry: one whose answer was lost is simply asked for again, alone.
 *
 * @module
 */

import type { InvocationStore, Settlement } from '../invocation-store.ts';
import { createSharing } from './batch.ts';
import type { Database, Statement } from './connection.ts';
import {
  bindingRow,
  bindingRows,
  enqueueAllFrom,
  enqueueFrom,
  entryColumns,
  entryValues,
} from './entries.ts';
import { raised, SUPERSEDED } from './failure.ts';
import { resolved } from './resolve.ts';
import { column } from './rows.ts';

/** Calls in one commit: as many as are admitted in one, and as many trips for the same reason. */
const SETTLE_BATCH = { sizeMax: 60, tripsMax: 2 };

type Settled = 'settled' | 'superseded';

export function createSettlement(
  database: Database,
  resolveTimeoutMs: number,
): InvocationStore['settle'] {
  const alone = (settlement: Settlement) => settleOnce(database, settlement);
  const share = createSharing<Settlement, Settled>(SETTLE_BATCH, {
    together: (settlements) => settleAll(database, settlements),
    alone,
  });
  return (settlement) =>
    resolved(
      resolveTimeoutMs,
      () => share(settlement),
      () => alone(settlement),
    );
}

async function settleAll(
  database: Database,
  settlements: readonly Settlement[],
): Promise<Settled[]> {
  const items = settlements.map((settlement) => ({
    operation_id: settlement.operation_id,
    outcome: settlement.outcome,
    actual: settlement.actual?.toString(),
    bindings: settlement.bindings.length > 0 ? settlement.bindings.map(bindingRow) : undefined,
    now: settlement.now,
    still_runs: keepsLeases(settlement),
    rollback: settlement.rollback,
    entry_id: settlement.entry.entry_id,
  }));
  const rows = await database.write<AnswerRow>(SETTLE_ALL, [
    JSON.stringify(items),
    column(settlements, ({ answer }) => answer),
    ...entryColumns(settlements.map(({ entry }) => entry)),
  ]);
  return rows.map(settledOf);
}

async function settleOnce(database: Database, settlement: Settlement): Promise<Settled> {
  try {
    const [row] = await database.write<AnswerRow>(SETTLE, [
      settlement.operation_id,
      settlement.outcome,
      settlement.actual,
      bindingRows(settlement.bindings),
      settlement.answer,
      settlement.now,
      keepsLeases(settlement),
      settlement.rollback && JSON.stringify(settlement.rollback),
      ...entryValues(settlement.entry),
    ]);
    return settledOf(row);
  } catch (error) {
    if (raised(error, SUPERSEDED) === undefined) throw error;
    return 'superseded';
  }
}

interface AnswerRow {
  readonly answer: Settled | 'repeated';
}

function settledOf(row: AnswerRow | undefined): Settled {
  return row?.answer === 'superseded' ? 'superseded' : 'settled';
}

/** Only a call that may still be running keeps its turn. */
function keepsLeases({ outcome, stillRuns = false }: Settlement): boolean {
  return stillRuns && outcome === 'indeterminate';
}

/** The entry's parameters follow the function's; its id is the first of them. */
const SETTLE: Statement = {
  name: 'settle',
  text: `WITH step AS MATERIALIZED (
      SELECT writ_settle($1, $2, $3, $4, $5, $6, $7, $8, $9) AS answer
    ), entry AS (
      ${enqueueFrom(9, "FROM step WHERE answer = 'settled'")}
    )
    SELECT answer FROM step`,
};

const SETTLE_ALL: Statement = {
  name: 'settle_all',
  text: `WITH step AS MATERIALIZED (
      SELECT o_place, o_answer AS answer FROM writ_settle_all($1, $2)
    ), entry AS (
      ${enqueueAllFrom(3, "JOIN step ON o_place = place WHERE answer = 'settled'")}
    )
    SELECT answer FROM step ORDER BY o_place`,
};

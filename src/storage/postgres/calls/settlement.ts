/**
 * Settlement: one trip for calls that end together, each with its entry, and a certain answer.
 *
 * The entry id identifies a settlement: after a lost answer it is sent again, alone.
 *
 * @module
 */

import { keepsLeases } from '../../../domain/invocation/settlement.ts';
import type { InvocationStore, Overrun, Settlement } from '../../port/invocation-store.ts';
import type { Row } from '../../tables/table.ts';
import { BATCH_PATIENCE_MS, createSharing } from '../batch.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { enqueueSomeFrom, someValues } from '../log/entries.ts';
import { BINDINGS, column } from '../rows.ts';
import { insertOverrun } from './overruns.ts';
import { resolved } from './resolve.ts';

/** Calls in one commit: the same limits as admission, for the same reason. */
const SETTLE_BATCH = { sizeMax: 64, tripsMax: 2 };

type Settled = 'settled' | 'superseded';

export function createSettlement(
  database: Database,
  resolveTimeoutMs: number,
): InvocationStore['settle'] {
  async function alone(settlement: Settlement): Promise<Settled> {
    const { overrun } = settlement;
    if (overrun)
      return database.transaction((session) => settleOverrun(session, settlement, overrun));
    const [settled] = await settle(database, [settlement]);
    return settled as Settled;
  }
  const share = createSharing<Settlement, Settled>(database.platform, SETTLE_BATCH, {
    together: (settlements) => settle(database, settlements, BATCH_PATIENCE_MS),
    alone,
  });
  return (settlement) =>
    resolved(
      database.platform,
      resolveTimeoutMs,
      () => (isLight(settlement) ? share(settlement) : alone(settlement)),
      () => alone(settlement),
    );
}

/** Bindings, and bytes of an answer. A larger settlement runs alone, so that others do not wait for it. */
const LIGHT = { bindings: 8, answer: 64 * 1024 };

function isLight({ bindings, answer, overrun }: Settlement): boolean {
  if (overrun) return false;
  return bindings.length <= LIGHT.bindings && (answer?.length ?? 0) <= LIGHT.answer;
}

/** In the settlement's transaction: a repeated settlement adds nothing. */
async function settleOverrun(
  session: Session,
  settlement: Settlement,
  overrun: Overrun,
): Promise<Settled> {
  const [row] = await session.run<VerdictRow>(SETTLE, settleValues([settlement]));
  if (row?.verdict === 'superseded') return 'superseded';
  if (row?.verdict === 'settled') await insertOverrun(session, overrun);
  return 'settled';
}

async function settle(
  database: Database,
  settlements: readonly Settlement[],
  patienceMs?: number,
): Promise<Settled[]> {
  const rows = await database.write<VerdictRow>(SETTLE, settleValues(settlements, patienceMs));
  return rows.map(({ verdict }) => (verdict === 'superseded' ? 'superseded' : 'settled'));
}

function settleValues(settlements: readonly Settlement[], patienceMs?: number): unknown[] {
  return [
    JSON.stringify(settlements.map(settlementRow)),
    column(settlements, ({ answer }) => answer),
    patienceMs,
    ...someValues(settlements.map(({ entry }) => entry)),
  ];
}

interface VerdictRow {
  readonly verdict: Settled | 'repeated';
}

function settlementRow(settlement: Settlement): Row {
  const { bindings } = settlement;
  return {
    operation_id: settlement.operation_id,
    outcome: settlement.outcome,
    actual: settlement.actual?.toString(),
    bindings: bindings.length > 0 ? bindings.map(BINDINGS.row) : undefined,
    now: settlement.now,
    still_runs: keepsLeases(settlement),
    rollback: settlement.rollback,
    entry_id: settlement.entry.entry_id,
  };
}

const SETTLE: Statement = {
  name: 'settle',
  text: `WITH step AS MATERIALIZED (
      SELECT o_place, o_verdict AS verdict FROM writ_settle($1, $2, $3)
    ), entry AS (
      ${enqueueSomeFrom(4, "JOIN step ON o_place = e.place WHERE verdict = 'settled'")}
    )
    SELECT verdict FROM step ORDER BY o_place`,
};

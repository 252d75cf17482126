/**
 * Settlement: one trip for calls that end together, each with its entry, and a certain answer.
 *
 * The entry id identifies a settlement: after a lost answer it is sent again, alone.
 *
 * @module
 */

import { keepsLeases } from '../../../domain/invocation/settlement.ts';
import type { InvocationStore, Overrun, Settlement } from '../../port/invocation-store.ts';
import { insertOverrun } from '../../stories/overruns.ts';
import { BATCH_PATIENCE_MS, createSharing } from '../batch.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { enqueueSomeFrom, someValues } from '../log/entries.ts';
import type { RecentEntries } from '../log/recent.ts';
import { BINDINGS, column } from '../rows.ts';
import { storyIn } from '../story.ts';
import { resolved } from './resolve.ts';

/** Calls in one commit: the same limits as admission, for the same reason. */
const SETTLE_BATCH = { sizeMax: 64, tripsMax: 2 };

type Settled = 'settled' | 'superseded';

export function createSettlement(
  database: Database,
  resolveTimeoutMs: number,
  recent: RecentEntries,
): InvocationStore['settle'] {
  async function alone(settlement: Settlement): Promise<Settled> {
    const { overrun } = settlement;
    if (overrun)
      return database.transaction((session) => settleOverrun(session, settlement, overrun));
    const [settled] = await settle(database, [settlement]);
    return settled as Settled;
  }
  const share = createSharing<Settlement, Settled>(database.platform, SETTLE_BATCH, {
    async together(settlements) {
      const settled = await settle(database, settlements, BATCH_PATIENCE_MS);
      recent.add(settlements.map(({ entry }) => entry));
      return settled;
    },
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
  const [verdict] = verdictsIn(await session.run<VerdictsRow>(SETTLE, settleValues([settlement])));
  if (verdict === 'superseded') return 'superseded';
  if (verdict === 'settled') await storyIn(session, (sql) => insertOverrun(sql, overrun));
  return 'settled';
}

async function settle(
  database: Database,
  settlements: readonly Settlement[],
  patienceMs?: number,
): Promise<Settled[]> {
  const values = settleValues(settlements, patienceMs);
  const verdicts = verdictsIn(await database.write<VerdictsRow>(SETTLE, values));
  return verdicts.map((verdict) => (verdict === 'superseded' ? 'superseded' : 'settled'));
}

interface VerdictsRow {
  readonly verdicts: readonly (Settled | 'repeated')[];
}

/** In the order of the settlements. */
function verdictsIn(rows: readonly VerdictsRow[]): VerdictsRow['verdicts'] {
  const [row] = rows;
  if (row === undefined) throw new Error('Cannot settle: the server returned no row');
  return row.verdicts;
}

function settleValues(settlements: readonly Settlement[], patienceMs?: number): unknown[] {
  return [
    column(settlements, ({ operation_id }) => operation_id),
    column(settlements, ({ outcome }) => outcome),
    column(settlements, ({ actual }) => actual),
    column(settlements, ({ now }) => now.toISOString()),
    column(settlements, keepsLeases),
    column(settlements, ({ entry }) => entry.entry_id),
    column(settlements, ({ answer }) => answer),
    moreOf(settlements),
    patienceMs,
    ...someValues(settlements.map(({ entry }) => entry)),
  ];
}

/** Bindings and windows for undoing, by operation id; null where no call has any, as is usual. */
function moreOf(settlements: readonly Settlement[]): string | null {
  const some = settlements.filter(({ bindings, rollback }) => bindings.length > 0 || rollback);
  if (some.length === 0) return null;
  return JSON.stringify(
    Object.fromEntries(
      some.map(({ operation_id, bindings, rollback }) => {
        return [operation_id, { bindings: bindings.map(BINDINGS.row), rollback }];
      }),
    ),
  );
}

const SETTLE: Statement = {
  name: 'settle',
  text: `WITH step AS MATERIALIZED (
      SELECT writ_settle($1, $2, $3, $4, $5, $6, $7, $8, $9) AS verdicts
    ), entry AS (
      ${enqueueSomeFrom(10, "CROSS JOIN step WHERE verdicts[e.place] = 'settled'")}
    )
    SELECT verdicts FROM step`,
};

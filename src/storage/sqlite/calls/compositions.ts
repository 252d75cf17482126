/**
 * Composed calls in SQLite: their steps, and which process continues them.
 *
 * @module
 */

import type {
  AdoptedComposition,
  BegunStep,
  CompositionStore,
} from '../../port/composition-store.ts';
import type { RollbackKey } from '../../port/records.ts';
import type { Row } from '../../tables/table.ts';
import type { Connection } from '../connection.ts';
import type { LogWriter } from '../log/writer.ts';
import { BINDINGS, type IntentRow, insert, intentOf, STEPS, timeOf } from '../rows.ts';
import { INTENT_COLUMNS } from './invocations.ts';
import { insertOverrun } from './overruns.ts';
import { insertRollback } from './settlement.ts';

/** The claim names its invocation, so that the same invocation may claim again. */
export function beginStep(connection: Connection, step: BegunStep, instanceId: string): boolean {
  return connection.change(BEGIN_STEP, ...STEPS.values(step), instanceId) === 1;
}

const BEGIN_STEP = `
  WITH new (${STEPS.list()}) AS (VALUES (${STEPS.slots}))
  INSERT INTO steps (${STEPS.list()})
  SELECT ${STEPS.list('new')} FROM new JOIN intents i USING (operation_id)
  WHERE i.composing IS NOT NULL AND i.instance_id = ?
    AND (i.state = 'admitted' OR new.role = 'compensation')
  -- Changes nothing: it makes a repeated claim count as a row.
  ON CONFLICT (operation_id, role, step_id) DO UPDATE SET capability = excluded.capability
  WHERE steps.invocation_id = excluded.invocation_id AND steps.outcome IS NULL`;

export function endStep(
  connection: Connection,
  log: LogWriter,
  ...[step, instanceId, kept]: Parameters<CompositionStore['endStep']>
): boolean {
  const ended = connection.change(
    `UPDATE steps SET outcome = ?, output = ?, failure_type = ?, drawn = ?, entry_id = ?
     WHERE operation_id = ? AND role = ? AND step_id = ? AND invocation_id = ? AND outcome IS NULL
       AND EXISTS (SELECT 1 FROM intents i WHERE i.operation_id = steps.operation_id
         AND i.composing IS NOT NULL AND i.instance_id = ?)`,
    step.outcome,
    step.output && JSON.stringify(step.output),
    step.failure_type,
    step.drawn,
    kept.entry?.entry_id,
    step.operation_id,
    step.role,
    step.step_id,
    step.invocation_id,
    instanceId,
  );
  if (ended === 0) return isRepeated(connection, step, kept.entry?.entry_id);
  for (const binding of kept.bindings) insert(connection, BINDINGS, binding);
  if (kept.rollback) insertRollback(connection, kept.rollback);
  if (kept.entry) log.append(kept.entry);
  if (kept.overrun) insertOverrun(connection, log, kept.overrun);
  return true;
}

export function adopt(
  connection: Connection,
  instanceId: string,
  silentSince: Date,
): AdoptedComposition | undefined {
  const row = connection.get<IntentRow & { state: string; composing: string }>(
    `UPDATE intents SET instance_id = ? WHERE operation_id = (
       SELECT operation_id FROM intents i
       WHERE composing IS NOT NULL AND instance_id <> ? AND NOT EXISTS (
         SELECT 1 FROM instances WHERE instance_id = i.instance_id AND seen_at > ?
       )
       ORDER BY admitted_at, operation_id LIMIT 1
     ) RETURNING ${INTENT_COLUMNS}, state, composing`,
    instanceId,
    instanceId,
    silentSince,
  );
  if (!row) return undefined;
  const steps = connection.all<Row>(
    'SELECT * FROM steps WHERE operation_id = ? ORDER BY rowid',
    row.operation_id,
  );
  return {
    intent: intentOf(row),
    isSettled: row.state === 'settled',
    parameters: JSON.parse(row.composing),
    steps: steps.map(STEPS.read),
  };
}

/** No process has this id, so no heartbeat protects the call from adoption. */
const NO_INSTANCE = '';

export function returnComposition(
  connection: Connection,
  operationId: string,
  instanceId: string,
): void {
  connection.run(
    `UPDATE intents SET instance_id = ?
     WHERE operation_id = ? AND instance_id = ? AND composing IS NOT NULL`,
    NO_INSTANCE,
    operationId,
    instanceId,
  );
}

export function rollbackUntil(connection: Connection, key: RollbackKey): Date | undefined {
  const row = connection.get<{ until: bigint }>(
    'SELECT until FROM rollbacks WHERE capability = ? AND root_principal = ? AND digest = ?',
    key.capability,
    key.root_principal,
    key.digest,
  );
  return row && timeOf(row.until);
}

function isRepeated(
  connection: Connection,
  step: Parameters<CompositionStore['endStep']>[0],
  entryId: string | undefined,
): boolean {
  const row = connection.get<{
    invocation_id: string;
    outcome: string | null;
    entry_id: string | null;
  }>(
    'SELECT invocation_id, outcome, entry_id FROM steps WHERE operation_id = ? AND role = ? AND step_id = ?',
    step.operation_id,
    step.role,
    step.step_id,
  );
  return (
    row?.invocation_id === step.invocation_id &&
    row.outcome === step.outcome &&
    row.entry_id === (entryId ?? null)
  );
}

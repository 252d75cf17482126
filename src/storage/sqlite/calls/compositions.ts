/**
 * Composed calls in SQLite: the trail of their steps, and who goes on with it.
 *
 * @module
 */

import type {
  AdoptedComposition,
  BegunStep,
  CompositionStore,
  StepRecord,
} from '../../port/composition-store.ts';
import type { RollbackKey } from '../../port/records.ts';
import type { Connection } from '../connection.ts';
import type { LogWriter } from '../log/writer.ts';
import { type IntentRow, intentOf, type Row, timeOf } from '../rows.ts';
import { INTENT_COLUMNS } from './invocations.ts';
import { keepOverrun } from './overruns.ts';
import { insertBinding, insertRollback } from './settlement.ts';

/** The claim names its invocation, so that whoever asks again is told the same. */
export function beginStep(connection: Connection, step: BegunStep, instanceId: string): boolean {
  const claimed = connection.change(
    `INSERT INTO steps (operation_id, role, step_id, invocation_id, capability, parameters)
     SELECT operation_id, ?, ?, ?, ?, ? FROM intents
     WHERE operation_id = ? AND composing IS NOT NULL AND instance_id = ?
       AND (state = 'admitted' OR ? = 'compensation')
     ON CONFLICT (operation_id, role, step_id) DO UPDATE SET capability = excluded.capability
     WHERE steps.invocation_id = excluded.invocation_id AND steps.outcome IS NULL`,
    step.role,
    step.step_id,
    step.invocation_id,
    step.capability,
    JSON.stringify(step.parameters),
    step.operation_id,
    instanceId,
    step.role,
  );
  return claimed === 1;
}

export function endStep(
  connection: Connection,
  log: LogWriter,
  [step, instanceId, kept]: Parameters<CompositionStore['endStep']>,
): boolean {
  const ended = connection.change(
    `UPDATE steps SET outcome = ?, output = ?, failure_type = ?, drawn = ?, entry_id = ?
     WHERE operation_id = ? AND role = ? AND step_id = ? AND invocation_id = ? AND outcome IS NULL
       AND operation_id IN (
         SELECT operation_id FROM intents WHERE composing IS NOT NULL AND instance_id = ?
       )`,
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
  for (const binding of kept.bindings) insertBinding(connection, binding);
  if (kept.rollback) insertRollback(connection, kept.rollback);
  if (kept.entry) log.append(kept.entry);
  if (kept.overrun) keepOverrun(connection, log, kept.overrun);
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
  const steps = connection.all<StepRow>(
    'SELECT * FROM steps WHERE operation_id = ? ORDER BY rowid',
    row.operation_id,
  );
  return {
    intent: intentOf(row),
    isSettled: row.state === 'settled',
    parameters: JSON.parse(row.composing),
    steps: steps.map(stepOf),
  };
}

/** No process has this name, so none of that name is heard of. */
const NOBODY = '';

export function returnComposition(
  connection: Connection,
  operationId: string,
  instanceId: string,
): void {
  connection.run(
    `UPDATE intents SET instance_id = ?
     WHERE operation_id = ? AND instance_id = ? AND composing IS NOT NULL`,
    NOBODY,
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
  const row = connection.get<StepRow & { entry_id: string | null }>(
    'SELECT * FROM steps WHERE operation_id = ? AND role = ? AND step_id = ?',
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

type StepRow = Row<StepRecord>;

function stepOf(row: StepRow): StepRecord {
  return {
    operation_id: row.operation_id,
    role: row.role,
    step_id: row.step_id,
    invocation_id: row.invocation_id,
    capability: row.capability,
    parameters: JSON.parse(row.parameters),
    outcome: row.outcome ?? undefined,
    output: row.output === null ? undefined : JSON.parse(row.output),
    failure_type: row.failure_type ?? undefined,
    drawn: row.drawn ?? undefined,
  };
}

/**
 * Composed calls: their steps, and which process continues them.
 *
 * Beginning or ending a step, and adopting a call, all lock the call's row: after an adoption the former
 * process no longer owns the call.
 *
 * @module
 */

import type { JsonObject } from '../../../protocol/primitives.ts';
import type {
  AdoptedComposition,
  BegunStep,
  CompositionStore,
  EndedStep,
  StepEffects,
} from '../../port/composition-store.ts';
import type { Row } from '../../tables/table.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { enqueue } from '../log/entries.ts';
import { BINDINGS, intentOf, ROLLBACKS, STEPS, timeOf } from '../rows.ts';
import { INTENT_COLUMNS } from './intents.ts';
import { insertOverrun } from './overruns.ts';
import { resolved } from './resolve.ts';

export function createCompositions(database: Database, resolveTimeoutMs: number): CompositionStore {
  /** Each of these can be repeated, so a lost answer is resolved by asking again. */
  const repeatable = <Result>(attempt: () => Promise<Result>) =>
    resolved(database.platform, resolveTimeoutMs, attempt, attempt);
  return {
    beginStep: (step, instanceId) => repeatable(() => begin(database, step, instanceId)),

    endStep: (step, instanceId, kept) =>
      repeatable(() =>
        database.transaction((session) => end(session, step, { ...kept, instanceId })),
      ),

    // After a lost answer the adopted call waits until this process counts as silent.
    adoptComposition: (instanceId, silentSince) =>
      database.transaction((session) => adopt(session, instanceId, silentSince)),

    returnComposition: (operationId, instanceId) =>
      repeatable(async () => void (await database.write(RETURN, [operationId, instanceId]))),

    async rollbackUntil({ capability, root_principal, digest }) {
      const values = [capability, root_principal, digest];
      const [row] = await database.read<{ until: unknown }>(ROLLBACK_UNTIL, values);
      return row && timeOf(row.until);
    },
  };
}

async function begin(database: Database, step: BegunStep, instanceId: string): Promise<boolean> {
  const claimed = await database.write(BEGIN, [
    step.operation_id,
    instanceId,
    step.role,
    step.step_id,
    step.invocation_id,
    step.capability,
    JSON.stringify(step.parameters),
  ]);
  return claimed.length === 1;
}

async function end(
  session: Session,
  step: EndedStep,
  { entry, bindings, rollback, overrun, instanceId }: StepEffects & { instanceId: string },
): Promise<boolean> {
  await session.run(HOLD, [step.operation_id]);
  const key = [step.operation_id, step.role, step.step_id, step.invocation_id, step.outcome];
  const ended = await session.run(END, [
    ...key,
    step.output && JSON.stringify(step.output),
    step.failure_type,
    step.drawn,
    entry?.entry_id,
    instanceId,
  ]);
  if (ended.length === 0) {
    const repeated = await session.run(REPEATED, [...key, entry?.entry_id]);
    return repeated.length === 1;
  }
  if (bindings.length > 0) await session.run(STEP_BINDINGS, [BINDINGS.rows(bindings)]);
  if (rollback) await session.run(ROLLBACK, [ROLLBACKS.rows([rollback])]);
  if (entry) await enqueue(session, entry);
  if (overrun) await insertOverrun(session, overrun);
  return true;
}

async function adopt(
  session: Session,
  instanceId: string,
  silentSince: Date,
): Promise<AdoptedComposition | undefined> {
  const [row] = await session.run<Row>(ADOPT, [instanceId, silentSince]);
  if (row === undefined) return undefined;
  const steps = await session.run<Row>(TRAIL, [row.operation_id]);
  return {
    intent: intentOf(row),
    isSettled: row.state === 'settled',
    parameters: row.composing as JsonObject,
    steps: steps.map(STEPS.read),
  };
}

const BEGIN: Statement = {
  name: 'begin_step',
  text: `WITH call AS (
      SELECT operation_id FROM intents
      WHERE operation_id = $1 AND composing IS NOT NULL AND instance_id = $2
        AND (state = 'admitted' OR $3::text = 'compensation')
      FOR UPDATE
    )
    INSERT INTO steps AS s (operation_id, role, step_id, invocation_id, capability, parameters)
    SELECT operation_id, $3, $4, $5, $6, $7::json FROM call
    ON CONFLICT (operation_id, role, step_id) DO UPDATE SET capability = EXCLUDED.capability
      WHERE s.invocation_id = EXCLUDED.invocation_id AND s.outcome IS NULL
    RETURNING s.step_id`,
};

const HOLD: Statement = {
  name: 'hold_composition',
  text: 'SELECT operation_id FROM intents WHERE operation_id = $1 FOR UPDATE',
};

const END: Statement = {
  name: 'end_step',
  text: `UPDATE steps s SET outcome = $5, output = $6::json, failure_type = $7, drawn = $8,
      entry_id = $9
    FROM intents i
    WHERE s.operation_id = $1 AND s.role = $2 AND s.step_id = $3 AND s.invocation_id = $4
      AND s.outcome IS NULL AND i.operation_id = s.operation_id AND i.composing IS NOT NULL
      AND i.instance_id = $10
    RETURNING s.step_id`,
};

const REPEATED: Statement = {
  name: 'repeated_step',
  text: `SELECT step_id FROM steps WHERE operation_id = $1 AND role = $2 AND step_id = $3
      AND invocation_id = $4 AND outcome = $5 AND entry_id IS NOT DISTINCT FROM $6`,
};

const STEP_BINDINGS: Statement = { name: 'step_bindings', text: BINDINGS.insert(1) };

const ROLLBACK: Statement = {
  name: 'step_rollback',
  text: `${ROLLBACKS.insert(1)} ON CONFLICT (capability, root_principal, digest)
    DO UPDATE SET until = greatest(rollbacks.until, EXCLUDED.until)`,
};

const ADOPT: Statement = {
  name: 'adopt_composition',
  text: `UPDATE intents SET instance_id = $1 WHERE operation_id = (
      SELECT i.operation_id FROM intents i
      WHERE i.composing IS NOT NULL AND i.instance_id <> $1 AND NOT EXISTS (
        SELECT FROM instances s WHERE s.instance_id = i.instance_id AND s.seen_at > $2)
      ORDER BY i.admitted_at, i.operation_id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING ${INTENT_COLUMNS}, state, composing`,
};

/** No process has an empty id, so no heartbeat protects the call from adoption. */
const RETURN: Statement = {
  name: 'return_composition',
  text: `UPDATE intents SET instance_id = ''
    WHERE operation_id = $1 AND instance_id = $2 AND composing IS NOT NULL`,
};

const TRAIL: Statement = {
  name: 'composition_trail',
  text: `SELECT ${STEPS.list()} FROM steps WHERE operation_id = $1 ORDER BY place`,
};

const ROLLBACK_UNTIL: Statement = {
  name: 'rollback_until',
  text: `SELECT until FROM rollbacks
    WHERE capability = $1 AND root_principal = $2 AND digest = $3`,
};

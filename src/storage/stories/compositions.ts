/**
 * Composed calls: their steps, and which process continues them.
 *
 * Beginning or ending a step, and adopting a call, all lock the row of the call: after an adoption the former process no
 * longer owns the call. Each can be repeated and then answers the same, but for an adoption.
 *
 * @module
 */

import type { JsonObject } from '../../protocol/primitives.ts';
import type { Steps } from '../../steps.ts';
import type { CompositionStore, EndedStep } from '../port/composition-store.ts';
import type { IntentRecord, RollbackKey, RollbackRecord } from '../port/records.ts';
import type { Sql, SqlReader, SqlWriter } from '../sql/sql.ts';
import {
  columns,
  either,
  GREATEST,
  insertion,
  lockOnRow,
  part,
  type Shape,
  statement,
} from '../sql/statement.ts';
import { BINDINGS, ROLLBACKS, STEPS } from '../tables/calls.ts';
import { INTENT } from './calls.ts';
import { insertOverrun } from './overruns.ts';

type Answer<Name extends keyof CompositionStore> = Steps<
  Awaited<ReturnType<CompositionStore[Name]>>
>;

export function* beginStep(
  sql: SqlWriter,
  ...[step, instanceId]: Parameters<CompositionStore['beginStep']>
): Answer<'beginStep'> {
  const { operation_id, role, step_id, invocation_id, capability } = step;
  const parameters = JSON.stringify(step.parameters);
  const claim = [operation_id, instanceId, role, step_id, invocation_id, capability, parameters];
  return (yield* sql.one(BEGIN, ...claim)) !== undefined;
}

export function* endStep(
  sql: Sql,
  ...[step, instanceId, kept]: Parameters<CompositionStore['endStep']>
): Answer<'endStep'> {
  const { entry, bindings, rollback, overrun } = kept;
  yield* sql.lock(HOLD_CALL, step.operation_id);
  if (!(yield* sql.one(END, ...endValues(step, entry?.entry_id), instanceId))) {
    return (yield* sql.one(REPEATED, ...keyOf(step), entry?.entry_id)) !== undefined;
  }
  yield* sql.insert(INSERT_BINDINGS, bindings);
  if (rollback) yield* insertRollback(sql, rollback);
  if (entry) yield* sql.append(entry);
  if (overrun) yield* insertOverrun(sql, overrun);
  return true;
}

function keyOf({ operation_id, role, step_id, invocation_id, outcome }: EndedStep): string[] {
  return [operation_id, role, step_id, invocation_id, outcome];
}

function endValues(step: EndedStep, entryId: string | undefined) {
  const output = step.output && JSON.stringify(step.output);
  return [...keyOf(step), output, step.failure_type, step.drawn, entryId];
}

export function* adoptComposition(
  sql: Sql,
  ...[instanceId, silentSince]: Parameters<CompositionStore['adoptComposition']>
): Answer<'adoptComposition'> {
  const call = yield* sql.one(ADOPT, instanceId, silentSince);
  if (!call) return undefined;
  const { state, composing, ...intent } = call;
  const steps = yield* sql.all(TRAIL, intent.operation_id);
  return { intent, isSettled: state === 'settled', parameters: composing, steps };
}

/** No process has an empty id, so no heartbeat protects the call from adoption. */
export function* returnComposition(
  sql: SqlWriter,
  ...[operationId, instanceId]: Parameters<CompositionStore['returnComposition']>
): Answer<'returnComposition'> {
  yield* sql.run(RETURN, operationId, instanceId);
}

export function* rollbackUntil(
  sql: SqlReader,
  { capability, root_principal, digest }: RollbackKey,
): Answer<'rollbackUntil'> {
  return (yield* sql.one(ROLLBACK_UNTIL, capability, root_principal, digest))?.until;
}

export function* insertRollback(sql: SqlWriter, rollback: RollbackRecord): Steps<void> {
  const { capability, root_principal, digest, until } = rollback;
  yield* sql.run(ROLLBACK, capability, root_principal, digest, until);
}

const STEP_ID = part(STEPS, 'step_id');

/** What a repeated claim writes changes nothing: it makes the claim count as a row. */
const BEGIN = statement('begin_step', STEP_ID)`
  WITH call AS (
    SELECT operation_id FROM intents
    WHERE operation_id = $1 AND composing IS NOT NULL AND instance_id = $2
      AND (state = 'admitted' OR $3::text = 'compensation') FOR UPDATE
  )
  INSERT INTO steps AS s (operation_id, role, step_id, invocation_id, capability, parameters)
  SELECT operation_id, $3, $4, $5, $6, $7::json FROM call WHERE true
  ON CONFLICT (operation_id, role, step_id) DO UPDATE SET capability = excluded.capability
    WHERE s.invocation_id = excluded.invocation_id AND s.outcome IS NULL
  RETURNING step_id`;

const HOLD_CALL = lockOnRow({ name: 'hold_composition', table: 'intents', key: 'operation_id' });

const END = statement('end_step', STEP_ID)`
  UPDATE steps AS s SET outcome = $5, output = $6::json, failure_type = $7, drawn = $8, entry_id = $9
  FROM intents i
  WHERE s.operation_id = $1 AND s.role = $2 AND s.step_id = $3 AND s.invocation_id = $4
    AND s.outcome IS NULL AND i.operation_id = s.operation_id AND i.composing IS NOT NULL
    AND i.instance_id = $10
  RETURNING step_id`;

const REPEATED = statement('repeated_step', STEP_ID)`
  SELECT step_id FROM steps WHERE operation_id = $1 AND role = $2 AND step_id = $3
    AND invocation_id = $4 AND outcome = $5 AND entry_id IS NOT DISTINCT FROM $6`;

const INSERT_BINDINGS = insertion('step_bindings', BINDINGS);

const ROLLBACK = statement('step_rollback')`
  INSERT INTO rollbacks (capability, root_principal, digest, until) VALUES ($1, $2, $3, $4)
  ON CONFLICT (capability, root_principal, digest) DO UPDATE
  SET until = ${GREATEST}(rollbacks.until, excluded.until)`;

/** A composition must not continue from a damaged row: reading its JSON throws. */
const ADOPTED: Shape<IntentRecord & { state: string; composing: JsonObject }> = {
  fields: { ...INTENT.fields, state: 'text', composing: 'exact' },
};

const ADOPT = statement('adopt_composition', ADOPTED)`
  UPDATE intents SET instance_id = $1 WHERE operation_id = (
    SELECT i.operation_id FROM intents i
    WHERE i.composing IS NOT NULL AND i.instance_id <> $1 AND NOT EXISTS (
      SELECT 1 FROM instances s WHERE s.instance_id = i.instance_id AND s.seen_at > $2)
    ORDER BY i.admitted_at, i.operation_id LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING ${columns(ADOPTED)}`;

const RETURN = statement('return_composition')`
  UPDATE intents SET instance_id = ''
  WHERE operation_id = $1 AND instance_id = $2 AND composing IS NOT NULL`;

const TRAIL = statement('composition_trail', STEPS)`
  SELECT ${columns(STEPS)} FROM steps WHERE operation_id = $1
  ORDER BY ${either({ sqlite: 'rowid', postgres: 'place' })}`;

const ROLLBACK_UNTIL = statement('rollback_until', part(ROLLBACKS, 'until'))`
  SELECT until FROM rollbacks WHERE capability = $1 AND root_principal = $2 AND digest = $3`;

/**
 * Freezes: what is frozen, and until when. And the end of everything that callers hold beside their tokens.
 *
 * An expired freeze has no effect, even while its row exists.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { Steps } from '../../steps.ts';
import type { OperatorStore } from '../port/store.ts';
import type { Sql, SqlReader, SqlRows } from '../sql/sql.ts';
import {
  columns,
  insertion,
  LAST_TIME,
  lockOnTable,
  pairsOf,
  part,
  type Shape,
  statement,
} from '../sql/statement.ts';
import { FREEZES } from '../tables/authority.ts';

type Answer<Name extends keyof OperatorStore> = Steps<Awaited<ReturnType<OperatorStore[Name]>>>;

export function* freeze(
  sql: Sql,
  ...[record, entry, actor]: Parameters<OperatorStore['freeze']>
): Answer<'freeze'> {
  const ended = yield* sql.endedActor(actor, record.frozen_at);
  if (ended) return ended;
  yield* putFreeze(sql, record, entry);
  return 'frozen';
}

/** The last part of a change: the lock of all freezes comes last. */
export function* putFreeze(
  sql: Pick<Sql, 'lock' | 'put' | 'append'>,
  ...[record, entry]: [record: Parameters<OperatorStore['freeze']>[0], entry: EntryRecord]
): Steps<void> {
  yield* sql.lock(HOLD_FREEZES);
  yield* sql.put(FREEZE, [record]);
  yield* sql.append(entry);
}

/** Returns whether the target was frozen. */
export function* unfreeze(
  sql: Sql,
  ...[{ what, target }, entry, actor]: Parameters<OperatorStore['unfreeze']>
): Answer<'unfreeze'> {
  const now = sql.now();
  const ended = yield* sql.endedActor(actor, now);
  if (ended) return ended;
  yield* sql.lock(HOLD_FREEZES);
  const row = yield* sql.one(UNFREEZE, what, target);
  yield* sql.append(entry);
  return row !== undefined && (row.until === undefined || row.until > now);
}

export function* freezesUnder(
  sql: SqlReader,
  keys: Parameters<OperatorStore['freezesUnder']>[0],
): Answer<'freezesUnder'> {
  const targets = keys.map(({ target }) => target);
  const rows = yield* sql.all(
    UNDER,
    keys.map(({ what }) => what),
    targets,
  );
  return keys.flatMap(
    (key) => rows.find(({ what, target }) => what === key.what && target === key.target) ?? [],
  );
}

export function* listFreezes(
  sql: SqlReader,
  ...[limit, after]: Parameters<OperatorStore['listFreezes']>
): Answer<'listFreezes'> {
  const freezes = yield* sql.all(LIST, after?.frozen_at, after?.what, after?.target, limit);
  return { freezes, next: freezes.length === limit ? freezes.at(-1) : undefined };
}

/** In the lock order of all transitions. */
export function* voidPromises(sql: SqlRows): Answer<'voidPromises'> {
  const composed = yield* sql.all(END_COMPOSED);
  const ids = composed.map(({ operation_id }) => operation_id);
  yield* sql.run(FORGET_STEPS, ids);
  for (const ending of VOIDING) yield* sql.run(ending);
}

/** One operator at a time, so that the state after the last freeze equals the last entry of the log. Admissions only read. */
const HOLD_FREEZES = lockOnTable('hold_freezes', 'freezes');

const FREEZE = insertion('freeze', FREEZES, '(what, target)');

const UNFREEZE = statement('unfreeze', part(FREEZES, 'until'))`
  DELETE FROM freezes WHERE what = $1 AND target = $2 RETURNING until`;

const UNDER = statement('freezes_under', FREEZES)`
  SELECT ${columns(FREEZES, 'f')} FROM ${pairsOf('text', 'text')} p
  CROSS JOIN freezes f WHERE f.what = p.one AND f.target = p.other`;

const LIST = statement('list_freezes', FREEZES)`
  SELECT ${columns(FREEZES)} FROM freezes
  WHERE (frozen_at, what, target)
    < (coalesce($1::timestamptz, ${LAST_TIME}), coalesce($2::text, ''), coalesce($3::text, ''))
  ORDER BY frozen_at DESC, what DESC, target DESC LIMIT $4`;

const CALL: Shape<{ readonly operation_id: string }> = { fields: { operation_id: 'text' } };
const END_COMPOSED = statement('void_compositions', CALL)`
  UPDATE intents SET composing = NULL WHERE composing IS NOT NULL RETURNING operation_id`;

const FORGET_STEPS = statement('void_steps')`
  DELETE FROM steps WHERE operation_id = ANY ($1::text[])`;

const VOIDING = [
  statement('void_keys')`DELETE FROM idempotency`,
  statement('void_grants')`UPDATE grants SET uses = max_uses WHERE uses < max_uses`,
  statement('void_bindings')`DELETE FROM bindings`,
  statement('void_sessions')`DELETE FROM sessions`,
  statement('void_identities')`DELETE FROM identities`,
  statement('void_invitations')`DELETE FROM invitations`,
];

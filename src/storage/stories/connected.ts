/**
 * Connected accounts.
 *
 * Connecting and ending lock the row before they append their entries, so the log has them in the order of that lock.
 * Where there is no row to lock, the key of the table decides between two that connect at once.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import type { ConnectedStore } from '../port/connected-store.ts';
import type { Sql, SqlReader, SqlWriter } from '../sql/sql.ts';
import { columns, insertion, replacement, statement } from '../sql/statement.ts';
import { CONNECTED } from '../tables/people.ts';

type Answer<Name extends keyof ConnectedStore> = Steps<Awaited<ReturnType<ConnectedStore[Name]>>>;

export function* findConnected(
  sql: SqlReader,
  ...[{ principal, account }]: Parameters<ConnectedStore['findConnected']>
): Answer<'findConnected'> {
  return yield* sql.one(FIND_CONNECTED, principal, account);
}

export function* listConnected(
  sql: SqlReader,
  ...[limit, after]: Parameters<ConnectedStore['listConnected']>
): Answer<'listConnected'> {
  return yield* sql.all(LIST_CONNECTED, after?.principal ?? '', after?.account ?? '', limit);
}

export function* connect(
  sql: Sql,
  ...[record, seen, entry]: Parameters<ConnectedStore['connect']>
): Answer<'connect'> {
  const { principal, account } = record;
  const isStored = yield* seen === undefined
    ? sql.insertNew(INSERT, record)
    : sql.replace(RECONNECT, record, principal, account, seen);
  if (isStored) yield* sql.append(entry);
  return isStored;
}

export function* replaceConnected(
  sql: SqlWriter,
  ...[next, { connection_id, version }]: Parameters<ConnectedStore['replaceConnected']>
): Answer<'replaceConnected'> {
  return yield* sql.replace(REPLACE, next, next.principal, next.account, connection_id, version);
}

export function* endConnected(
  sql: Sql,
  ...[{ principal, account }, seen, entry]: Parameters<ConnectedStore['endConnected']>
): Answer<'endConnected'> {
  const ended = yield* sql.one(DELETE, principal, account, seen.connection_id, seen.version);
  if (ended) yield* sql.append(entry);
  return ended;
}

export const FIND_CONNECTED = statement('find_connected', CONNECTED)`
  SELECT ${columns(CONNECTED)} FROM connected_accounts WHERE principal = $1 AND account = $2`;

/** The columns compare by bytes in both databases. */
export const LIST_CONNECTED = statement('list_connected', CONNECTED)`
  SELECT ${columns(CONNECTED)} FROM connected_accounts
  WHERE (principal, account) > ($1, $2) ORDER BY principal, account LIMIT $3`;

const INSERT = insertion('insert_connected', CONNECTED, '(principal, account)');

const SEEN = 'principal = $1 AND account = $2 AND connection_id = $3';
const RECONNECT = replacement('reconnect', CONNECTED, SEEN);
const REPLACE = replacement('replace_connected', CONNECTED, `${SEEN} AND version = $4`);

const DELETE = statement('end_connected', CONNECTED)`
  DELETE FROM connected_accounts WHERE ${SEEN} AND ($4::bigint IS NULL OR version = $4)
  RETURNING ${columns(CONNECTED)}`;

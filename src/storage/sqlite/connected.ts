/**
 * Connected accounts in SQLite.
 *
 * All of this runs under one write lock, so what was read still holds at the write.
 *
 * @module
 */

import type { ConnectedPlace, ConnectedRecord, ConnectedStore } from '../port/connected-store.ts';
import type { Row } from '../tables/table.ts';
import type { Connection } from './connection.ts';
import type { LogWriter } from './log/writer.ts';
import { CONNECTED } from './rows.ts';

export function findConnected(
  connection: Connection,
  { principal, account }: ConnectedPlace,
): ConnectedRecord | undefined {
  const row = connection.get<Row>(FIND_CONNECTED, principal, account);
  return row && CONNECTED.read(row);
}

export function listConnected(
  connection: Connection,
  ...[limit, after]: Parameters<ConnectedStore['listConnected']>
): ConnectedRecord[] {
  const { principal, account } = after ?? { principal: '', account: '' };
  return connection.all<Row>(LIST_CONNECTED, principal, account, limit).map(CONNECTED.read);
}

export function connect(
  connection: Connection,
  log: LogWriter,
  ...[record, seen, entry]: Parameters<ConnectedStore['connect']>
): boolean {
  if (findConnected(connection, record)?.connection_id !== seen) return false;
  connection.run(KEEP, ...CONNECTED.values(record));
  log.append(entry);
  return true;
}

export function replaceConnected(
  connection: Connection,
  ...[next, { connection_id, version }]: Parameters<ConnectedStore['replaceConnected']>
): boolean {
  const { principal, account } = next;
  const place = [principal, account, connection_id, version];
  return connection.change(REPLACE, ...CONNECTED.values(next), ...place) > 0;
}

export function endConnected(
  connection: Connection,
  log: LogWriter,
  ...[place, seen, entry]: Parameters<ConnectedStore['endConnected']>
): ConnectedRecord | undefined {
  const found = findConnected(connection, place);
  if (found?.connection_id !== seen.connection_id) return undefined;
  if (seen.version !== undefined && found.version !== seen.version) return undefined;
  connection.run(DELETE, place.principal, place.account);
  log.append(entry);
  return found;
}

export const FIND_CONNECTED =
  'SELECT * FROM connected_accounts WHERE principal = ? AND account = ?';

export const LIST_CONNECTED = `SELECT * FROM connected_accounts
  WHERE (principal, account) > (?, ?) ORDER BY principal, account LIMIT ?`;

const KEEP = `INSERT OR REPLACE INTO connected_accounts (${CONNECTED.list()})
  VALUES (${CONNECTED.slots})`;

const REPLACE = `UPDATE connected_accounts SET (${CONNECTED.list()}) = (${CONNECTED.slots})
  WHERE principal = ? AND account = ? AND connection_id = ? AND version = ?`;

const DELETE = 'DELETE FROM connected_accounts WHERE principal = ? AND account = ?';

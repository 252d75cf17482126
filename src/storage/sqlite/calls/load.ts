/**
 * Reads everything that the rules of one call need, in SQLite.
 *
 * @module
 */

import type { Loaded, LoadRequest } from '../../port/invocation-store.ts';
import type { BindingRecord, IdempotencyRecord, TokenRecord } from '../../port/records.ts';
import type { Row } from '../../tables/table.ts';
import type { Connection } from '../connection.ts';
import { BINDINGS, KEYS } from '../rows.ts';
import type { TokensSeen } from '../token-rows.ts';
import { readLineage } from '../tokens.ts';
import { readFreezes, readGrant } from './admission.ts';

export function load(
  connection: Connection,
  request: LoadRequest,
  now: Date,
  seen?: TokensSeen,
): Loaded {
  const { tokenId, capability, grantId, bindingIds = [], idempotency } = request;
  const lineage = readLineage(connection, tokenId, seen);
  const own = lineage.at(-1);
  const token = own?.token;
  const root_principal = token?.root_principal;
  return {
    token,
    lineage: lineage.map(({ link }) => link),
    freezes:
      own?.anyFreeze === false ? [] : readFreezes(connection, { capability, root_principal }),
    grant: grantId === undefined ? undefined : readGrant(connection, grantId),
    bindings: readBindings(connection, bindingIds),
    idempotency: token && idempotency ? readKey(connection, token, idempotency, now) : undefined,
  };
}

/** In the order requested, without those that do not exist. */
function readBindings(connection: Connection, ids: readonly string[]): BindingRecord[] {
  return ids.flatMap((id) => {
    const row = connection.get<Row>('SELECT * FROM bindings WHERE binding_id = ?', id);
    return row ? [BINDINGS.read(row)] : [];
  });
}

/** A key that admission may give to a new call no longer counts for this one. */
function readKey(
  connection: Connection,
  { chain }: TokenRecord,
  { capability, key }: { capability: string; key: string },
  now: Date,
): IdempotencyRecord | undefined {
  const row = connection.get<Row>(
    `SELECT ${KEYS.list('k')}
     FROM idempotency k JOIN intents i USING (operation_id)
     WHERE chain = ? AND k.capability = ? AND key = ?
       AND (keep_until > ? OR i.state = 'admitted')`,
    chain,
    capability,
    key,
    now,
  );
  return row && KEYS.read(row);
}

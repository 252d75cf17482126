/**
 * Freezes in SQLite: what is frozen, and until when.
 *
 * An expired freeze has no effect, even while its row exists.
 *
 * @module
 */

import type { FreezeKey } from '../../domain/authority/freeze.ts';
import type { ActorEnded, FreezeRecord } from '../port/records.ts';
import type { FreezePage, FreezePlace, OperatorStore } from '../port/store.ts';
import type { Row } from '../tables/table.ts';
import type { Connection } from './connection.ts';
import type { LogWriter } from './log/writer.ts';
import { FREEZES } from './rows.ts';
import { endedActor } from './tokens.ts';

export function freeze(
  connection: Connection,
  log: LogWriter,
  ...[record, entry, actor]: Parameters<OperatorStore['freeze']>
): 'frozen' | ActorEnded {
  const ended = endedActor(connection, actor, record.frozen_at);
  if (ended) return ended;
  connection.run(FREEZE, ...FREEZES.values(record));
  log.append(entry);
  return 'frozen';
}

const FREEZE = `INSERT OR REPLACE INTO freezes (${FREEZES.list()}) VALUES (${FREEZES.slots})`;

/** Returns whether the target was frozen at `now`. */
export function unfreeze(
  connection: Connection,
  log: LogWriter,
  [{ what, target }, entry, actor]: Parameters<OperatorStore['unfreeze']>,
  now: Date,
): boolean | ActorEnded {
  const ended = endedActor(connection, actor, now);
  if (ended) return ended;
  const row = connection.get<{ until: bigint | null }>(
    'DELETE FROM freezes WHERE what = ? AND target = ? RETURNING until',
    what,
    target,
  );
  log.append(entry);
  return row !== undefined && (row.until === null || row.until > now.getTime());
}

export function freezesUnder(connection: Connection, keys: readonly FreezeKey[]): FreezeRecord[] {
  return keys.flatMap(({ what, target }) => {
    const row = connection.get<Row>(
      'SELECT * FROM freezes WHERE what = ? AND target = ?',
      what,
      target,
    );
    return row ? [FREEZES.read(row)] : [];
  });
}

export function listFreezes(
  connection: Connection,
  limit: number,
  after?: FreezePlace,
): FreezePage {
  const rows = connection.all<Row>(
    `SELECT * FROM freezes WHERE (frozen_at, what, target) < (?, ?, ?)
     ORDER BY frozen_at DESC, what DESC, target DESC LIMIT ?`,
    after?.frozen_at ?? Number.MAX_SAFE_INTEGER,
    after?.what ?? '',
    after?.target ?? '',
    limit,
  );
  const freezes = rows.map(FREEZES.read);
  return { freezes, next: freezes.length === limit ? freezes.at(-1) : undefined };
}

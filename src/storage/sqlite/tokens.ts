/**
 * Tokens in SQLite: issuance and delegation, and which tokens are alive. `stories/tokens.ts` has the rest.
 *
 * A token is alive while no token of its lineage is revoked or expired. All of this runs under one write lock, so what was
 * read still holds at the write.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { ActorEnded, TokenRecord } from '../port/records.ts';
import { isAltered, newBudget } from '../port/row-forms.ts';
import type { TokenStore } from '../port/store.ts';
import type { Connection } from './connection.ts';
import type { LogWriter } from './log/writer.ts';
import { BUDGETS, insert, listOf, TOKENS } from './rows.ts';
import { type HeldToken, readHeld, type TokensSeen } from './token-rows.ts';

/** A token and its ancestors, root first. */
export function readLineage(
  connection: Connection,
  tokenId: string,
  seen?: TokensSeen,
): readonly HeldToken[] {
  const own = readHeld(connection, tokenId, seen);
  if (!own) return [];
  const { lineage } = own.token;
  if (lineage.length === 1) return [own];
  // A missing ancestor leaves a gap, which the comparison with the lineage detects.
  return lineage.flatMap((id) => (id === tokenId ? own : readHeld(connection, id, seen)) ?? []);
}

/** The ids of the lineage as the row of the token lists them, root first. Needs nothing else of the row to be readable. */
export function readLineageIds(connection: Connection, tokenId: string): string[] {
  const row = connection.get<{ lineage: string }>(
    'SELECT lineage FROM tokens WHERE token_id = ?',
    tokenId,
  );
  return listOf(row?.lineage ?? '[]').filter((id) => typeof id === 'string');
}

/** Why these tokens give no authority at `now`. A revocation anywhere takes precedence over any expiry. */
export function deadLink(
  lineage: readonly HeldToken[],
  now: Date,
): { token_id: string; reason: 'revoked' | 'expired' } | undefined {
  const revoked = lineage.find(({ link }) => link.revoked_at !== undefined);
  if (revoked) return { token_id: revoked.token.token_id, reason: 'revoked' };
  const expired = lineage.find(({ link }) => link.expires_at <= now);
  return expired && { token_id: expired.token.token_id, reason: 'expired' };
}

/** Why the caller's own token gives no authority at `now`. */
export function endedActor(
  connection: Connection,
  actor: string | undefined,
  now: Date,
): ActorEnded | undefined {
  if (actor === undefined) return undefined;
  const lineage = readLineage(connection, actor);
  if (lineage.length === 0) return 'actor_revoked';
  const dead = deadLink(lineage, now);
  return dead && `actor_${dead.reason}`;
}

export function insertRoot(
  connection: Connection,
  log: LogWriter,
  token: TokenRecord,
  entry: EntryRecord,
): void {
  if (token.parent_token_id !== undefined) {
    throw new Error(`Cannot insert root token "${token.token_id}": it has a parent`);
  }
  insertToken(connection, token, []);
  log.append(entry);
}

export function insertChild(
  connection: Connection,
  log: LogWriter,
  ...[token, entry, bounds]: Parameters<TokenStore['insertChild']>
): Awaited<ReturnType<TokenStore['insertChild']>> {
  const lineage = readLineage(connection, token.parent_token_id ?? '');
  if (lineage.length === 0) return 'parent_unknown';

  if (
    isAltered(
      lineage.map(({ link }) => link),
      bounds.judged,
    )
  )
    return 'parent_altered';
  const dead = deadLink(lineage, bounds.now);
  if (dead) return `parent_${dead.reason}`;

  const counted = connection.change(
    'UPDATE tokens SET children = children + 1 WHERE token_id = ? AND children < ?',
    token.parent_token_id,
    bounds.childrenMax,
  );
  if (counted === 0) return 'too_many';

  insertToken(connection, token, lineage);
  log.append(entry);
  return 'inserted';
}

function insertToken(
  connection: Connection,
  token: TokenRecord,
  above: readonly HeldToken[],
): void {
  const expected = [...above.map((held) => held.token.token_id), token.token_id];
  const isExtended = expected.every((id, depth) => id === token.lineage[depth]);
  if (!isExtended || token.lineage.length !== expected.length) {
    throw new Error(
      `Cannot insert token "${token.token_id}": its lineage does not extend its parent's`,
    );
  }
  insert(connection, TOKENS, token);
  const budget = newBudget(token);
  if (budget) insert(connection, BUDGETS, budget);
}

/**
 * Tokens in SQLite: issuance, delegation, revocation, description.
 *
 * A token is alive while no token of its lineage is revoked or expired; a revocation changes only the token's
 * own row. All of this runs under one write lock, so what was read still holds at the write.
 *
 * @module
 */

import type { EntryRecord } from '../../domain/log/entry.ts';
import type { ActorEnded, Charge, TokenRecord } from '../port/records.ts';
import { isAltered, newBudget } from '../port/row-forms.ts';
import type { ChildState, TokenDescription, TokenState, TokenStore } from '../port/store.ts';
import type { Connection } from './connection.ts';
import type { LogWriter } from './log/writer.ts';
import { BUDGETS, insert, listOf, optionalTime, type Stored, TOKENS, timeOf } from './rows.ts';
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

export function revokeToken(
  connection: Connection,
  log: LogWriter,
  ...[tokenId, now, entry, { actor, mac } = {}]: Parameters<TokenStore['revokeToken']>
): Awaited<ReturnType<TokenStore['revokeToken']>> {
  const ended = endedActor(connection, actor, now);
  if (ended) return ended;
  const lineage = readLineage(connection, tokenId);
  const own = lineage.at(-1);
  if (!own) return undefined;

  const wasAlive = deadLink(lineage, now) === undefined;
  connection.run(
    `UPDATE tokens SET revoked_at = ?, revoked_mac = ?
     WHERE token_id = ? AND revoked_at IS NULL AND revoked_mac IS NULL`,
    now,
    mac,
    tokenId,
  );
  log.append(entry(wasAlive));
  return { wasAlive, revoked_at: own.link.revoked_at ?? now };
}

export function childrenOf(
  connection: Connection,
  ...[parents, limit, after = '']: Parameters<TokenStore['childrenOf']>
): ChildState[] {
  const found: ChildState[] = [];
  for (const [place, parent] of parents.entries()) {
    if (found.length === limit) break;
    const rows = connection.all<Stored<ChildState> & { children: bigint }>(
      `SELECT token_id, parent_token_id, subject, expires_at, revoked_at, children FROM tokens
       WHERE parent_token_id = ? AND token_id > ? ORDER BY token_id LIMIT ?`,
      parent,
      place === 0 ? after : '',
      limit - found.length,
    );
    found.push(...rows.map(childOf));
  }
  return found;
}

function childOf({ children, ...row }: Stored<ChildState> & { children: bigint }): ChildState {
  const { parent_token_id, subject } = row;
  return { ...stateOf(row), parent_token_id, subject, hasChildren: children > 0n };
}

function stateOf({ token_id, expires_at, revoked_at }: Stored<TokenState>): TokenState {
  return { token_id, expires_at: timeOf(expires_at), revoked_at: optionalTime(revoked_at) };
}

export function rootsOf(
  connection: Connection,
  ...[rootPrincipal, limit, before]: Parameters<TokenStore['rootsOf']>
): TokenState[] {
  const rows = before
    ? connection.all<Stored<TokenState>>(OLDER_ROOTS, rootPrincipal, before, limit)
    : connection.all<Stored<TokenState>>(ROOTS, rootPrincipal, limit);
  return rows.map(stateOf);
}

const ROOT = `SELECT token_id, expires_at, revoked_at FROM tokens
  WHERE root_principal = ?1 AND parent_token_id IS NULL`;

export const ROOTS: string = `${ROOT} ORDER BY issued_at DESC, token_id DESC LIMIT ?2`;

export const OLDER_ROOTS: string = `${ROOT} AND (issued_at, token_id) <
    (SELECT issued_at, token_id FROM tokens WHERE token_id = ?2 AND root_principal = ?1)
  ORDER BY issued_at DESC, token_id DESC LIMIT ?3`;

export function unrevokedRoots(
  connection: Connection,
  ...[after, limit]: Parameters<TokenStore['unrevokedRoots']>
): string[] {
  const rows = connection.all<{ token_id: string }>(
    `SELECT token_id FROM tokens
     WHERE token_id > ? AND parent_token_id IS NULL
       AND revoked_at IS NULL AND revoked_mac IS NULL
     ORDER BY token_id LIMIT ?`,
    after,
    limit,
  );
  return rows.map(({ token_id }) => token_id);
}

export function describeToken(
  connection: Connection,
  tokenId: string,
  childrenMax: number,
): TokenDescription | undefined {
  const lineage = readLineage(connection, tokenId);
  const own = lineage.at(-1);
  if (!own) return undefined;
  const count = connection.get<{ children: bigint }>(
    'SELECT children FROM tokens WHERE token_id = ?',
    tokenId,
  );
  const children = connection.all<{ token_id: string }>(
    'SELECT token_id FROM tokens WHERE parent_token_id = ? ORDER BY token_id LIMIT ?',
    tokenId,
    childrenMax,
  );
  return {
    token: own.token,
    lineage: lineage.map(({ link }) => link),
    children: children.map(({ token_id }) => token_id),
    childrenCount: Number(count?.children),
    debts: readDebts(connection, tokenId),
  };
}

function readDebts(connection: Connection, tokenId: string): Charge[] {
  return connection.all<{ currency: string; amount: bigint }>(
    'SELECT currency, amount FROM debts WHERE token_id = ? ORDER BY currency',
    tokenId,
  );
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

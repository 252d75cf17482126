/**
 * Tokens in the simulated store: issuance, delegation, revocation, description.
 *
 * @module
 */

import { toMinor } from '../../../src/domain/values/money.ts';
import type {
  ActorEnded,
  BudgetState,
  LineageLink,
  TokenRecord,
} from '../../../src/storage/port/records.ts';
import type {
  ChildState,
  TokenDescription,
  TokenState,
  TokenStore,
} from '../../../src/storage/port/token-store.ts';
import { copyOf, frozenCopy } from './copy.ts';
import type { MemoryDatabase, TokenRow } from './database.ts';
import { textOrder, timeOrder } from './table.ts';

/** The token and its ancestors, root first. Empty when the token is unknown. */
export function lineageOf({ tokens }: MemoryDatabase, tokenId: string): TokenRow[] {
  const own = tokens.get(tokenId);
  if (!own) return [];
  return own.token.lineage.map((id) => tokens.get(id) as TokenRow);
}

/** The token that ends the authority of a lineage: revoked before expired, nearest to the root. */
export function deadToken(
  lineage: readonly TokenRow[],
  now: Date,
): { readonly reason: 'revoked' | 'expired'; readonly token_id: string } | undefined {
  const revoked = lineage.find(({ revoked_at }) => revoked_at !== undefined);
  if (revoked) return { reason: 'revoked', token_id: revoked.token.token_id };
  const expired = lineage.find(({ token }) => token.expires_at <= now);
  return expired && { reason: 'expired', token_id: expired.token.token_id };
}

/** Whether and how the token of a caller has ended. An unknown token gives no authority either. */
export function endedActor(
  database: MemoryDatabase,
  actor: string | undefined,
  now: Date,
): ActorEnded | undefined {
  if (actor === undefined) return undefined;
  const lineage = lineageOf(database, actor);
  if (lineage.length === 0) return 'actor_revoked';
  const dead = deadToken(lineage, now);
  return dead && `actor_${dead.reason}`;
}

export function linkOf({ token, budget, revoked_at, revoked_mac }: TokenRow): LineageLink {
  return {
    token_id: token.token_id,
    subject: token.subject,
    expires_at: copyOf(token.expires_at),
    revoked_at: copyOf(revoked_at),
    revoked_mac,
    exclusive: token.concurrent_branches === 'exclusive',
    budget: budget && { ...budget },
    token,
  };
}

/** Whether what admission uses differs between the rows and the judged lineage. */
export function isOtherLineage(
  held: readonly TokenRow[],
  judged: readonly LineageLink[] | undefined,
): boolean {
  if (!judged) return false;
  if (held.length !== judged.length) return true;
  return held.some((row, place) => isOtherToken(row, judged[place] as LineageLink));
}

function isOtherToken({ token, budget }: TokenRow, judged: LineageLink): boolean {
  if (budget?.max !== judged.budget?.max || budget?.currency !== judged.budget?.currency) {
    return true;
  }
  if (token === judged.token) return false;
  return (
    token.token_id !== judged.token.token_id ||
    token.mac !== judged.token.mac ||
    token.expires_at.getTime() !== judged.token.expires_at.getTime() ||
    token.concurrent_branches !== judged.token.concurrent_branches ||
    token.budget?.currency !== judged.token.budget?.currency ||
    token.budget?.max_amount !== judged.token.budget?.max_amount
  );
}

export function insertRoot(
  database: MemoryDatabase,
  ...[token, entry]: Parameters<TokenStore['insertRoot']>
): void {
  if (token.parent_token_id !== undefined) {
    throw new Error(`Cannot insert root token "${token.token_id}": it has a parent`);
  }
  insertToken(database, token, []);
  database.log.append(entry);
}

export function insertChild(
  database: MemoryDatabase,
  ...[token, entry, bounds]: Parameters<TokenStore['insertChild']>
): Awaited<ReturnType<TokenStore['insertChild']>> {
  const lineage = lineageOf(database, token.parent_token_id ?? '');
  const parent = lineage.at(-1);
  if (!parent) return 'parent_unknown';
  if (isOtherLineage(lineage, bounds.judged)) return 'parent_altered';
  const dead = deadToken(lineage, bounds.now);
  if (dead) return `parent_${dead.reason}`;
  if (parent.children >= bounds.childrenMax) return 'too_many';

  insertToken(database, token, parent.token.lineage);
  database.tokens.put(parent.token.token_id, { ...parent, children: parent.children + 1 });
  database.log.append(entry);
  return 'inserted';
}

function insertToken(
  { tokens }: MemoryDatabase,
  token: TokenRecord,
  above: readonly string[],
): void {
  const { token_id, lineage } = token;
  const expected = [...above, token_id];
  if (lineage.length !== expected.length || lineage.some((id, place) => id !== expected[place])) {
    throw new Error(`Cannot insert token "${token_id}": its lineage does not extend its parent's`);
  }
  tokens.insert(token_id, { token: frozenCopy(token), budget: budgetOf(token), children: 0 });
}

function budgetOf({ token_id, budget }: TokenRecord): BudgetState | undefined {
  if (!budget) return undefined;
  const { currency, max_amount } = budget;
  const max = toMinor(max_amount, currency);
  if (max === undefined) {
    throw new Error(`Cannot insert token "${token_id}": its budget is ${max_amount} ${currency}`);
  }
  return { token_id, currency, max, reserved: 0n, consumed: 0n };
}

export function revokeToken(
  database: MemoryDatabase,
  ...[tokenId, now, entry, { actor, mac } = {}]: Parameters<TokenStore['revokeToken']>
): Awaited<ReturnType<TokenStore['revokeToken']>> {
  const ended = endedActor(database, actor, now);
  if (ended) return ended;
  const lineage = lineageOf(database, tokenId);
  const own = lineage.at(-1);
  if (!own) return undefined;

  const wasAlive = deadToken(lineage, now) === undefined;
  const revoked_at = copyOf(own.revoked_at ?? now);
  if (!own.revoked_at) {
    database.tokens.put(tokenId, { ...own, revoked_at: copyOf(now), revoked_mac: mac });
  }
  database.log.append(entry(wasAlive));
  return { wasAlive, revoked_at };
}

export function childrenOf(
  { tokens }: MemoryDatabase,
  ...[parents, limit, after = '']: Parameters<TokenStore['childrenOf']>
): ChildState[] {
  return parents
    .flatMap((parent, place) => {
      const own = childrenBelow(tokens.values(), parent);
      return place === 0 ? own.filter(({ token }) => token.token_id > after) : own;
    })
    .slice(0, limit)
    .map((row) => ({
      ...stateOf(row),
      parent_token_id: row.token.parent_token_id ?? '',
      subject: row.token.subject,
      hasChildren: row.children > 0,
    }));
}

export function unrevokedRoots(
  { tokens }: MemoryDatabase,
  ...[after, limit]: Parameters<TokenStore['unrevokedRoots']>
): string[] {
  return Array.from(tokens.values())
    .filter((row) => row.token.parent_token_id === undefined && row.revoked_at === undefined)
    .map(({ token }) => token.token_id)
    .filter((id) => id > after)
    .sort(textOrder)
    .slice(0, limit);
}

export function rootsOf(
  { tokens }: MemoryDatabase,
  ...[rootPrincipal, limit, before]: Parameters<TokenStore['rootsOf']>
): TokenState[] {
  const roots = Array.from(tokens.values())
    .filter(({ token }) => token.parent_token_id === undefined)
    .filter(({ token }) => token.root_principal === rootPrincipal)
    .sort(newerFirst);
  const place =
    before === undefined ? -1 : roots.findIndex(({ token }) => token.token_id === before);
  if (before !== undefined && place < 0) return [];
  return roots.slice(place + 1, place + 1 + limit).map(stateOf);
}

export function describeToken(
  database: MemoryDatabase,
  ...[tokenId, childrenMax]: Parameters<TokenStore['describeToken']>
): TokenDescription | undefined {
  const lineage = lineageOf(database, tokenId);
  const own = lineage.at(-1);
  if (!own) return undefined;
  const children = childrenMax > 0 ? childrenBelow(database.tokens.values(), tokenId) : [];
  const debts = Array.from(database.debts.values()).filter((debt) => debt.token_id === tokenId);
  return {
    token: own.token,
    lineage: lineage.map(linkOf),
    children: children.slice(0, childrenMax).map(({ token }) => token.token_id),
    childrenCount: own.children,
    debts: debts
      .map(({ currency, amount }) => ({ currency, amount }))
      .sort((one, other) => textOrder(one.currency, other.currency)),
  };
}

/** The children of a token, by id. */
function childrenBelow(rows: Iterable<TokenRow>, parent: string): TokenRow[] {
  return Array.from(rows)
    .filter(({ token }) => token.parent_token_id === parent)
    .sort((one, other) => textOrder(one.token.token_id, other.token.token_id));
}

function newerFirst({ token: one }: TokenRow, { token: other }: TokenRow): number {
  return timeOrder(other.issued_at, one.issued_at, [other.token_id, one.token_id]);
}

function stateOf({ token, revoked_at }: TokenRow): TokenState {
  const { token_id, expires_at } = token;
  return { token_id, expires_at: copyOf(expires_at), revoked_at: copyOf(revoked_at) };
}

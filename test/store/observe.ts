/**
 * Observes a store through its port, in a form that can be compared.
 *
 * Two observations are equal when nothing visible to the service has changed between them. A store may return
 * bytes as a Buffer, and an absent field as missing or undefined.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { StoredEntry } from '../../src/domain/log/entry.ts';
import { toHex } from '../../src/domain/wire/hash.ts';
import { livingBelow } from '../../src/storage/descendants.ts';
import type {
  BudgetState,
  GrantRecord,
  IdempotencyRecord,
} from '../../src/storage/port/records.ts';
import type { EntryQuery, Store } from '../../src/storage/port/store.ts';
import { FAR } from '../support/fixtures.ts';

/** More than any case makes. */
const ALL = 10_000;

export interface Watched {
  /** The first token is used to load grants and keys. */
  readonly tokens: readonly string[];
  readonly grants?: readonly string[];
  readonly keys?: readonly { capability: string; key: string }[];
}

/** Everything that the port shows of these, and the shared state. */
export async function observe(store: Store, watched: Watched): Promise<unknown> {
  const tokenId = watched.tokens[0] ?? '';
  const { size } = await store.sequence();
  return plain({
    size,
    tokens: await Promise.all(watched.tokens.map((id) => store.describeToken(id, ALL))),
    grants: await Promise.all((watched.grants ?? []).map((id) => grantOf(store, tokenId, id))),
    keys: await Promise.all((watched.keys ?? []).map((key) => recordOf(store, tokenId, key))),
    open: await store.abandonedIntents(FAR, ALL),
    indeterminate: await store.indeterminate(ALL),
    approvals: (await store.listApprovals({ now: new Date(0), limit: ALL })).requests,
    deliveries: await store.listDeliveries(ALL),
    frozen: (await store.listFreezes(100)).freezes,
  });
}

/** Fails when the act changes anything that can be observed. Returns what the act returned. */
export async function unchanged<Result>(
  store: Store,
  watched: Watched,
  act: () => Promise<Result>,
): Promise<Result> {
  const before = await observe(store, watched);
  const result = await act();
  assert.deepEqual(await observe(store, watched), before);
  return result;
}

/** Fails unless both say the same. */
export function same(actual: unknown, expected: unknown): void {
  assert.deepEqual(plain(actual), plain(expected));
}

async function budgetOf(store: Store, tokenId: string): Promise<BudgetState | undefined> {
  const described = await store.describeToken(tokenId, 0);
  return described?.lineage.at(-1)?.budget;
}

/** Reserved and consumed of each token that has a budget, in the order asked. */
export async function money(
  store: Store,
  tokens: readonly { token_id: string }[],
): Promise<[reserved: bigint, consumed: bigint][]> {
  const states = await Promise.all(tokens.map(({ token_id }) => budgetOf(store, token_id)));
  return states
    .filter((state): state is BudgetState => state !== undefined)
    .map(({ reserved, consumed }) => [reserved, consumed]);
}

export async function grantOf(
  store: Store,
  tokenId: string,
  grantId: string,
): Promise<GrantRecord | undefined> {
  const { grant } = await store.load({ tokenId, grantId });
  return grant;
}

export async function recordOf(
  store: Store,
  tokenId: string,
  idempotency: { capability: string; key: string },
): Promise<IdempotencyRecord | undefined> {
  const loaded = await store.load({ tokenId, idempotency });
  return loaded.idempotency;
}

/** Entries that came after the log had this size, in order. */
export async function entriesSince(store: Store, size: number) {
  await store.sequence();
  return store.scanEntries(size, ALL);
}

/** Without undefined fields, and with bytes and times as text. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes:${toHex(value)}`;
  if (value instanceof Date) return `time:${value.toISOString()}`;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const said = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(said.map(([key, item]) => [key, plain(item)]));
}

/** All that a query finds, whatever the length of the pages. */
export async function foundIn(store: Store, query: EntryQuery): Promise<readonly StoredEntry[]> {
  const found: StoredEntry[] = [];
  for (let before = query.before; ; ) {
    const { entries, next } = await store.queryEntries({ ...query, before });
    found.push(...entries);
    if (next === undefined) return found;
    before = next;
  }
}

/** How many tokens lived below a token at this time. */
export async function livingCount(store: Store, tokenId: string, at: Date): Promise<number> {
  let count = 0;
  for await (const living of livingBelow(store, tokenId, at)) count += living.length;
  return count;
}

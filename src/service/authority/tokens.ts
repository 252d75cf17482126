/**
 * Stored tokens: revokes and shows them.
 *
 * The holder of a token or of one above it, the root principal and operators may do so. Any other
 * caller gets the same answer as for an unknown token.
 *
 * @module
 */

import { conditionsView } from '../../domain/authority/token-conditions.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { leastRemaining } from '../../domain/invocation/budget.ts';
import type { EntryRecord } from '../../domain/log/entry.ts';
import { fromMinor } from '../../domain/values/money.ts';
import { ENDED_COUNT_MAX, type RevokeAnswer, type TokenView } from '../../protocol/token.ts';
import { livingBelow } from '../../storage/descendants.ts';
import type { TokenRecord } from '../../storage/port/records.ts';
import type { TokenDescription } from '../../storage/port/store.ts';
import { moneyOf } from '../call/call.ts';
import { answered, audited } from '../caller/audited.ts';
import { acted, actorOf, type Caller, callerOf, holdsScope } from '../caller/caller.ts';
import { actEntry } from '../caller/entries.ts';
import { type Ask, requestOf } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';

/** Children shown in one view. `children_count` has the total. */
const CHILDREN_SHOWN_MAX = 100;

export async function revokeToken(parts: ServiceParts, ask: Ask): Promise<RevokeAnswer> {
  return audited(parts, await callerOf(parts, ask), 'revocation', async (caller) => {
    const { token_id } = requestOf('tokens.revoke', ask);
    const { token } = await visibleToken(parts, caller, token_id, ['operator:revoke']);
    const entry = revocationEntry(parts, caller.principal, token);
    const revoked = acted(
      await parts.store.revokeToken(token_id, parts.store.now(), entry, {
        actor: actorOf(caller),
      }),
    );
    if (!revoked) throw new Refusal(unknownToken(token_id));
    const { wasAlive, revoked_at } = revoked;
    const ended = wasAlive ? await countEnded(parts, token_id, revoked_at) : 0;
    return { revoked: true, token_id, ended, revoked_at: revoked_at.toISOString() };
  });
}

/** The entry of a revocation, once the store knows whether it ended anything. `about` says more. */
export function revocationEntry(
  parts: ServiceParts,
  principal: string,
  {
    token_id,
    root_principal,
    subject,
  }: Pick<TokenRecord, 'token_id' | 'root_principal' | 'subject'>,
  about: Readonly<Record<string, unknown>> = {},
): (wasAlive: boolean) => EntryRecord {
  return (was_alive) =>
    actEntry(
      parts,
      { principal, root_principal },
      { entry_type: 'revocation', token_id, detail: { was_alive, subject, ...about } },
    );
}

/**
 * Counts the token and the living tokens below it. The count runs after the revocation, so that a
 * revocation takes the same time however many tokens it ends. It runs in slices without a place,
 * because the answer reports an effect and must not be refused.
 */
async function countEnded(
  { store, lane, log }: ServiceParts,
  id: string,
  at: Date,
): Promise<number> {
  const slices = lane.slices();
  let ended = 1;
  try {
    await slices.turn();
    for await (const living of livingBelow(store, id, at)) {
      ended += living.length;
      if (ended >= ENDED_COUNT_MAX) return ENDED_COUNT_MAX;
      await slices.turn();
    }
  } catch (error) {
    // The token is already revoked, so a refusal would be wrong.
    log.warn({ err: error, token_id: id }, 'stopped counting what a revocation ended');
  }
  return ended;
}

export async function viewToken(parts: ServiceParts, ask: Ask): Promise<TokenView> {
  return answered(parts, await callerOf(parts, ask), async (caller) => {
    const { token_id } = requestOf('tokens.get', ask);
    const described = await visibleToken(parts, caller, token_id, ['operator:read']);
    return viewOf(described, parts.store.now());
  });
}

/** A token that the caller stands above, or any token for an operator with one of these scopes. */
export async function visibleToken(
  { store }: ServiceParts,
  caller: Caller,
  tokenId: string,
  operatorScopes: readonly string[],
): Promise<TokenDescription> {
  const described = await store.describeToken(tokenId, CHILDREN_SHOWN_MAX);
  const isOperator = operatorScopes.some((scope) => holdsScope(caller, scope));
  if (described && (isOperator || isAbove(caller, described))) return described;
  throw new Refusal(unknownToken(tokenId));
}

/**
 * Whether a caller stands above a token. A token proves its lineage, not its name: an agent can
 * name any non-human subject for a child and use that child itself. So a token stands above its
 * descendants. Only a bootstrap credential, or a root token of the root principal itself, acts for
 * a principal by name.
 */
function isAbove(caller: Caller, { token, lineage }: TokenDescription): boolean {
  if (caller.kind === 'identity') {
    if (caller.principal === token.root_principal) return true;
    return lineage.some(({ subject }) => subject === caller.principal);
  }
  if (token.lineage.includes(caller.token.token_id)) return true;
  return actsByName(caller) && caller.principal === token.root_principal;
}

/** Whether the name of the caller is proved: by a bootstrap credential, or a root token of the root principal itself. */
export function actsByName(caller: Caller): boolean {
  if (caller.kind === 'identity') return true;
  return caller.token.depth === 0 && caller.principal === caller.root_principal;
}

export function unknownToken(tokenId: string) {
  return failure('not_found', `Cannot find token "${tokenId}"`);
}

/** Whether a token lives. One whose lineage has a revoked token is revoked. */
export function standingOf(
  { token, lineage }: Pick<TokenDescription, 'token' | 'lineage'>,
  now: Date,
): { state: TokenView['state']; revoked_at?: Date | undefined } {
  const revoked = lineage.find(({ revoked_at }) => revoked_at !== undefined);
  if (revoked) return { state: 'revoked', revoked_at: revoked.revoked_at };
  return { state: token.expires_at <= now ? 'expired' : 'active' };
}

function viewOf(described: TokenDescription, now: Date): TokenView {
  const { token, lineage, children, childrenCount, debts } = described;
  const { state, revoked_at } = standingOf(described, now);
  const budgets = lineage.flatMap(({ budget }) => budget ?? []);
  const own = lineage.at(-1)?.budget;
  const amount = (minor: bigint | undefined) =>
    own && minor !== undefined ? fromMinor(minor, own.currency) : null;
  return {
    token_id: token.token_id,
    state,
    subject: token.subject,
    root_principal: token.root_principal,
    parent_token_id: token.parent_token_id ?? null,
    depth: token.depth,
    scope: [...token.scope],
    capability: token.capability ?? null,
    purpose: Object.keys(token.purpose).length > 0 ? token.purpose : null,
    budget: token.budget ?? null,
    budget_spent: amount(own?.consumed),
    budget_reserved: amount(own?.reserved),
    budget_remaining: amount(own && leastRemaining(budgets)),
    debts: debts.map(moneyOf),
    conditions: conditionsView(token.conditions),
    max_delegation_depth: token.max_delegation_depth,
    concurrent_branches: token.concurrent_branches,
    caller_class: token.caller_class,
    session_id: token.session_id ?? null,
    issued_at: token.issued_at.toISOString(),
    expires_at: token.expires_at.toISOString(),
    revoked_at: revoked_at?.toISOString() ?? null,
    children: [...children],
    children_count: childrenCount,
  };
}

/**
 * Hands: every principal that a token's authority passed through, from the root principal to the holder; and every
 * budget above a call.
 *
 * Both are read from the lineage of the token, as it is now. A request whose token cannot be read shows the names
 * that the request itself has.
 *
 * @module
 */

import { remainingOf } from '../../domain/invocation/budget.ts';
import { fromMinor, toMinor } from '../../domain/values/money.ts';
import type { BudgetAfter, Decision, Hand } from '../../protocol/decision.ts';
import type { Money } from '../../protocol/primitives.ts';
import type { ApprovalRecord, LineageLink } from '../../storage/port/records.ts';
import type { TokenDescription } from '../../storage/port/store.ts';
import { standingOf } from '../authority/tokens.ts';
import type { ServiceParts } from '../operations/parts.ts';

/** Root first. Equal consecutive names are one hand, as in a chain; it shows the last of its tokens. */
export async function handsOf(
  { store }: Pick<ServiceParts, 'store'>,
  { token, lineage }: Pick<TokenDescription, 'token' | 'lineage'>,
): Promise<Hand[]> {
  const [rootId] = token.lineage;
  const consent = rootId === undefined ? undefined : await store.findConsent({ token_id: rootId });
  const hands = [rootHand(token)];
  const now = store.now();
  for (const [index, { subject, token_id, token: held }] of lineage.entries()) {
    const { state } = standingOf({ token: held, lineage: lineage.slice(0, index + 1) }, now);
    const purpose = Object.keys(held.purpose).length > 0 ? held.purpose : null;
    const isSame = hands.at(-1)?.principal === subject;
    // Decision 09: the client holds a child of the consent's token, with the same subject.
    const client_name = consent?.subject === subject && index < 2 ? consent.client_name : null;
    if (isSame) hands.pop();
    hands.push({ principal: subject, token_id, client_name, purpose, state });
  }
  return hands;
}

/** The hands and the budgets above a call that needs approval. */
export async function requestHands(
  parts: Pick<ServiceParts, 'store'>,
  request: ApprovalRecord,
): Promise<Pick<Decision, 'chain' | 'budgets'>> {
  const { token_id, cost, root_principal } = request;
  const described = await parts.store.describeToken(token_id, 0);
  if (!described) {
    const names = request.requested_through.filter((name) => name !== root_principal);
    return { chain: [rootHand(request), ...names.map(unknownHand)], budgets: [] };
  }
  const budgets = described.lineage.flatMap((link) => budgetOf(link, cost)).reverse();
  return { chain: await handsOf(parts, described), budgets };
}

function rootHand({ root_principal }: { readonly root_principal: string }): Hand {
  return { ...unknownHand(root_principal), state: 'active' };
}

function unknownHand(principal: string): Hand {
  return { principal, token_id: null, client_name: null, purpose: null, state: 'unknown' };
}

function budgetOf({ budget, subject }: LineageLink, cost: Money | undefined): BudgetAfter[] {
  if (!budget) return [];
  const { token_id, currency, max, consumed, reserved } = budget;
  const left = remainingOf(budget);
  const charge = cost?.currency === currency ? toMinor(cost.amount, currency) : undefined;
  // What is left is below zero where other calls spent it since the request was made.
  const amount = (minor: bigint) =>
    minor < 0n ? -fromMinor(-minor, currency) : fromMinor(minor, currency);
  return [
    {
      principal: subject,
      token_id,
      currency,
      max: amount(max),
      spent: amount(consumed),
      reserved: amount(reserved),
      left: amount(left),
      left_after: charge === undefined ? null : amount(left - charge),
    },
  ];
}

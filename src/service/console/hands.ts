/**
 * Through whose hands a request came, and every budget above its call.
 *
 * Both are read from the lineage of the token that asked, as it is now. A request whose token cannot be read
 * shows the names that the request itself has.
 *
 * @module
 */

import { remainingOf } from '../../domain/invocation/budget.ts';
import { fromMinor, toMinor } from '../../domain/values/money.ts';
import type { BudgetAfter, Decision, Hand } from '../../protocol/console/views.ts';
import type { Money } from '../../protocol/primitives.ts';
import type { ApprovalRecord, LineageLink } from '../../storage/port/records.ts';
import type { ConsoleParts } from './parts.ts';

export async function handsOf(
  { store }: ConsoleParts,
  request: ApprovalRecord,
): Promise<Pick<Decision, 'chain' | 'budgets'>> {
  const { token_id, cost, root_principal } = request;
  const described = token_id === undefined ? undefined : await store.describeToken(token_id, 0);
  const root = handOf(root_principal, { state: 'active' });
  if (!described) {
    const names = request.requested_through.filter((name) => name !== root_principal);
    return { chain: [root, ...names.map((name) => handOf(name))], budgets: [] };
  }
  const { lineage } = described;
  const consent = await store.findConsent({ token_id: lineage[0]?.token_id ?? '' });
  const hands = lineage.map((link, place) =>
    handOf(link.subject, {
      token_id: link.token_id,
      client_name: (consent && place <= 1 && consent.client_name) || null,
      purpose: Object.keys(link.token.purpose).length > 0 ? link.token.purpose : null,
      state: stateOf(lineage.slice(0, place + 1), store.now()),
    }),
  );
  // Decision 0051: the client holds a child of the consent's token, with the same subject.
  if (consent && hands.length > 1) hands.shift();
  return {
    chain: hands[0]?.principal === root_principal ? hands : [root, ...hands],
    budgets: lineage.flatMap((link) => budgetOf(link, cost)).reverse(),
  };
}

function handOf(principal: string, known: Partial<Hand> = {}): Hand {
  return {
    principal,
    token_id: null,
    client_name: null,
    purpose: null,
    state: 'unknown',
    ...known,
  };
}

/** Of the last token. A token below one that ended has ended too. */
function stateOf(lineage: readonly LineageLink[], now: Date): Hand['state'] {
  if (lineage.some(({ revoked_at }) => revoked_at !== undefined)) return 'revoked';
  return lineage.some(({ expires_at }) => expires_at <= now) ? 'expired' : 'active';
}

function budgetOf({ budget, subject }: LineageLink, cost: Money | undefined): BudgetAfter[] {
  if (!budget) return [];
  const { token_id, currency, max, consumed, reserved } = budget;
  const left = remainingOf(budget);
  const charge = cost?.currency === currency ? toMinor(cost.amount, currency) : undefined;
  const amount = (minor: bigint) => fromMinor(minor, currency);
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

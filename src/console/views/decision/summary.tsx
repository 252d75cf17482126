/**
 * The first screen: six facts that answer the question in the heading. The sections below prove each fact.
 *
 * @module
 */

import { useRef } from 'preact/hooks';
import { effectOf } from '../../../domain/sign-in/consent-words.ts';
import type { Decision } from '../../../protocol/console/views.ts';
import { Chain } from '../../parts/chain.tsx';
import { digitsOf } from '../../parts/money.tsx';
import { Person } from '../../parts/name.tsx';
import { Shown } from '../../parts/shown.tsx';
import { Left } from '../../parts/time.tsx';
import { countOf, moneyIn } from '../../parts/value.tsx';
import { type Change, changesOf, Difference } from './changes.tsx';
import { hasKnownBudgets, hasKnownPast, noSimilarWords } from './claims.ts';
import { useReport } from './part.tsx';
import { effectSentence } from './words.tsx';

export function Summary({ of }: { readonly of: Decision }) {
  const whole = useRef<HTMLDivElement>(null);
  useReport('summary', whole, { selector: 'dt', count: 6 });
  const { request, chain } = of;
  const hands = chain.length > 0 ? chain.map(({ principal }) => principal) : fallbackChain(of);
  return (
    <div class="cols brief" ref={whole}>
      <dl class="facts">
        <dt>Effect</dt>
        <dd>
          <EffectWords of={of} />
        </dd>
        <dt>Asks</dt>
        <dd>
          <Chain of={[...hands].reverse()} />{' '}
          <small class="unit">today: {hasKnownPast(of) ? todayWords(of) : 'not known'}</small>
        </dd>
        <dt>Expires</dt>
        <dd>
          <Left until={request.expires_at} />
        </dd>
      </dl>
      <dl class="facts">
        <dt>Changed</dt>
        <dd>
          <ChangedWords of={of} />
        </dd>
        <dt>Budget</dt>
        <dd>
          <BudgetWords of={of} />
        </dd>
        <dt>Approved</dt>
        <dd>
          <ApprovedWords of={of} />
        </dd>
      </dl>
    </div>
  );
}

function fallbackChain({ request: { requester } }: Decision): string[] {
  const { root_principal, subject } = requester;
  return root_principal === subject ? [subject] : [root_principal, subject];
}

function EffectWords({ of }: { readonly of: Decision }) {
  const kind = of.capability ? effectOf(of.capability).kind : 'changes';
  const look = kind === 'changes' ? 'effect' : `effect ${kind}`;
  return (
    <>
      <span class={look}>{effectSentence(of)}</span>{' '}
      {of.capability ? <small>{of.capability.description}</small> : null}
    </>
  );
}

function todayWords({ history: { today } }: Decision): string {
  const counts = (['approved', 'denied', 'expired', 'pending'] as const)
    .filter((status) => today[status] > 0)
    .map((status) => `${today[status]} ${status}`);
  return counts.length === 0 ? 'no other request' : counts.join(', ');
}

/** Changes that the summary shows in full; the section below has all. */
const CHANGES_MAX = 2;

function ChangedWords({ of }: { readonly of: Decision }) {
  if (!of.similar) return <>{noSimilarWords(of)}</>;
  const changes = changesOf(of);
  if (changes.length === 0) return <>nothing since the last approval</>;
  const amounts = changes.filter(isAmount).slice(0, CHANGES_MAX);
  const others = changes.length - amounts.length;
  return (
    <>
      {amounts.map((change) => (
        <span key={change.name}>
          <Shown text={change.name} /> <Difference of={change} />{' '}
        </span>
      ))}
      <small>
        {others === 0
          ? ''
          : `${amounts.length === 0 ? '' : 'and '}${countOf(others, 'parameter')} `}
        since the last approval
      </small>
    </>
  );
}

function isAmount({ before, after, currency }: Change): boolean {
  const isNumber = typeof before === 'number' && typeof after === 'number';
  return (
    isNumber || (moneyIn(before, currency) !== undefined && moneyIn(after, currency) !== undefined)
  );
}

/** The budget with the least left afterwards. */
function BudgetWords({ of }: { readonly of: Decision }) {
  const { budgets, cost } = of;
  const known = budgets.filter(({ left_after }) => left_after !== null);
  const [tightest] = known.sort((a, b) => (a.left_after ?? 0) - (b.left_after ?? 0));
  if (!hasKnownBudgets(of)) return <>not known: the token of the request cannot be read</>;
  if (budgets.length === 0) return <>no budget limits it</>;
  if (!tightest) return <>not known for {cost ? 'this currency' : 'this call'}</>;
  const { principal, currency, left } = tightest;
  const after = tightest.left_after ?? 0;
  return (
    <>
      <Person of={principal} /> has{' '}
      <span class="money">{digitsOf({ amount: left, currency })}</span> →{' '}
      <span class={after < 0 ? 'money bad' : 'money'}>
        {digitsOf({ amount: after, currency })} <small>{currency}</small>
      </span>{' '}
      left
    </>
  );
}

function ApprovedWords({ of: { request, viewer } }: { readonly of: Decision }) {
  const { approvals, approvals_required } = request;
  const missing = approvals_required - approvals.length;
  const next = missing === 1 ? 'Yours completes it.' : `${missing} are missing.`;
  return (
    <>
      <b>
        {approvals.length} of {approvals_required}
      </b>{' '}
      {request.status === 'pending' && viewer.may_decide && !viewer.has_approved ? (
        <small>{next}</small>
      ) : null}
    </>
  );
}

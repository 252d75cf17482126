/**
 * The summary: six facts, and one for each quote, that answer the question in the heading. The other parts prove each fact.
 *
 * @module
 */

import type { Decision, Quote } from '../../protocol/decision.ts';
import type { Money } from '../../protocol/primitives.ts';
import { isFreshAtRun } from '../invocation/bindings.ts';
import { effectOf, titleOf } from '../sign-in/consent-words.ts';
import { parseDuration } from '../values/duration.ts';
import { type Change, changesOf, differenceWords } from './changes.ts';
import { hasKnownBudgets, lifetimeWords, namesWords, noSimilarWords } from './claims.ts';
import { distinctBudgets, roundedSum, unpricedWords } from './people.ts';
import { marked, type PartFacts, type Piece, type Words } from './pieces.ts';
import { countOf, digitsOf, moneyValue, personOf, plain } from './values.ts';
import { effectSentence, relatedTo } from './words.ts';

export function summaryPart(of: Decision): PartFacts {
  const { request, chain } = of;
  const hands = chain.length > 0 ? chain.map(({ principal }) => principal) : fallbackChain(of);
  return {
    title: ['Summary'],
    facts: [
      { label: ['Effect'], words: effectWords(of) },
      {
        label: ['Asks'],
        words: [{ chain: [...hands].reverse() }, ...todayWords(of)],
      },
      { label: ['Decide by'], words: [{ left: request.expires_at }] },
      ...of.quotes.map((quote) => ({ label: ['Quote'], words: quoteWords(of, quote) })),
      { label: ['Budget'], words: budgetWords(of) },
      { label: ['Approved'], words: approvedWords(of) },
      { label: ['Compared'], words: comparedWords(of) },
    ],
  };
}

function fallbackChain({ request: { requester } }: Decision): string[] {
  const { root_principal, subject } = requester;
  return root_principal === subject ? [subject] : [root_principal, subject];
}

function effectWords(of: Decision): Words {
  const kind = of.capability ? effectOf(of.capability).kind : 'changes';
  const look = kind === 'changes' ? 'effect' : `effect ${kind}`;
  return [marked('span', effectSentence(of), look)];
}

function quoteWords(of: Decision, quote: Quote): Words {
  const { issued_at, price } = quote;
  return [
    ...(price ? [{ money: price }, ', '] : []),
    ...(issued_at === null ? ['from another issuer'] : ['made ', { ago: issued_at }]),
    ' ',
    marked('small', validityWords(of, quote)),
  ];
}

/** Whether the age of the quote still matters when the approved call runs. */
function validityWords({ capability, now }: Decision, { field, issued_at }: Quote): string {
  const requirement = capability?.requires_binding?.find((each) => each.field === field);
  const most = parseDuration(requirement?.max_age ?? '');
  if (!capability || most === undefined) return 'it has no limit of age';
  if (!isFreshAtRun(capability)) return 'it stays valid until the approval expires';
  const limit = lifetimeWords(most / 1000);
  if (issued_at === null) return `the call is refused where it is older than ${limit}`;
  const isOld = Date.parse(now) - Date.parse(issued_at) > most;
  return isOld
    ? `older than ${limit}: the call would be refused even if approved`
    : `the call is refused once it is older than ${limit}, even if approved`;
}

function todayWords({ history: { today } }: Decision): Words {
  const counts = (['approved', 'denied', 'expired', 'pending'] as const)
    .filter((status) => today[status] > 0)
    .map((status) => `${today[status]} ${status}`);
  return counts.length === 0
    ? []
    : [' ', marked('small', `of its kind today: ${counts.join(', ')}`, 'unit')];
}

/** What comes beside this call: an approver who sees one of three refunds of a booking sees the others. */
function besideWords(of: Decision): Words {
  const { name, items } = relatedTo(of);
  const sums: Money[] = [];
  const groups = (['approved', 'pending'] as const).flatMap((status): Words[] => {
    const those = items.filter((item) => item.status === status);
    if (those.length === 0) return [];
    const costs = those.flatMap(({ cost }) => (cost ? [cost] : []));
    const currency = of.cost?.currency ?? '';
    const sum = costs.reduce(addTo, { currency, amount: 0 });
    const isSum =
      costs.length === those.length && costs.every((each) => each.currency === currency);
    if (isSum) sums.push(sum);
    const what: Piece = isSum ? { money: sum } : countOf(those.length, 'request');
    return [[what, status === 'approved' ? ' approved' : ' waiting']];
  });
  const [first, second] = groups;
  if (!first) return [];
  const all: Words = second ? [...first, ' and ', ...second] : first;
  const same = titleOf(name).toLowerCase().replace(/ id$/, '');
  const total = groups.length === sums.length && of.cost ? sums.reduce(addTo, of.cost) : undefined;
  return [
    marked(
      'b',
      [
        'in addition to ',
        ...all,
        ` for the same ${same}`,
        ...(total ? [': ', { money: total }, ' in all'] : []),
      ],
      'warn',
    ),
  ];
}

function addTo(total: Money, { currency, amount }: Money): Money {
  return { currency, amount: roundedSum(total.amount, amount) };
}

/** Changes that the summary shows in full; the part of changes has all. */
const CHANGES_MAX = 2;

/** The part of changes has what differs, where something else comes first. */
function comparedWords(of: Decision): Words {
  const beside = besideWords(of);
  return beside.length > 0 ? beside : changedWords(of);
}

function changedWords(of: Decision): Words {
  if (!of.similar) return [noSimilarWords(of)];
  const changes = changesOf(of);
  if (changes.length === 0) return ['the same as the last one approved'];
  const amounts = changes.filter(isAmount).slice(0, CHANGES_MAX);
  const others = changes.filter((change) => !amounts.includes(change));
  const more: Words = others.flatMap(({ name }, at): Piece[] => [
    at === 0 ? (amounts.length === 0 ? 'other ' : 'and other ') : ', ',
    { shown: name },
  ]);
  return [
    ...amounts.flatMap((change): Piece[] => [
      { shown: change.name },
      ' ',
      ...differenceWords(change),
      ' ',
    ]),
    marked('small', [...more, `${others.length > 0 ? ' ' : ''}than in the last one approved`]),
  ];
}

function isAmount({ before, after, currency }: Change): boolean {
  const isNumber = typeof before === 'number' && typeof after === 'number';
  return (
    isNumber ||
    (moneyValue(before, currency) !== undefined && moneyValue(after, currency) !== undefined)
  );
}

/** The budget with the least left afterwards, and how much of it is used then. */
function budgetWords(of: Decision): Words {
  const { budgets, cost } = of;
  const known = budgets.filter(({ left_after }) => left_after !== null);
  const [tightest] = known.sort((a, b) => (a.left_after ?? 0) - (b.left_after ?? 0));
  if (!hasKnownBudgets(of)) return ['not known: the token of the request cannot be read'];
  if (budgets.length === 0) return ['no budget limits it'];
  if (!tightest) return [cost ? 'not known for this currency' : unpricedWords(of)];
  const { principal, currency, left, max } = tightest;
  const after = tightest.left_after ?? 0;
  const share = max > 0 ? Math.round(((max - after) / max) * 100) : 100;
  return [
    marked('span', digitsOf({ amount: left, currency }), 'money'),
    ' → ',
    marked(
      'span',
      [digitsOf({ amount: after, currency }), ' ', marked('small', currency)],
      after < 0 ? 'money bad' : 'money',
    ),
    ' left ',
    marked('small', [
      `${share} % of ${plain({ amount: max, currency })} used after it`,
      ...(distinctBudgets(of).length > 1 ? [', ', { shown: personOf(principal) }] : []),
    ]),
  ];
}

function approvedWords({ request, viewer }: Decision): Words {
  const { approvals, approvals_required } = request;
  const missing = approvals_required - approvals.length;
  const last = approvals_required === 1 ? 'Only yours is needed.' : 'Yours completes it.';
  const next = missing === 1 ? last : `${missing} are missing.`;
  const isOpen = request.status === 'pending' && viewer.may_decide && !viewer.has_approved;
  const by = namesWords(
    approvals.map(({ approver }) => approver),
    viewer.principal,
  );
  const notes: Words = [...(by === '' ? [] : [{ shown: by }, '. ']), ...(isOpen ? [next] : [])];
  return [
    marked('b', `${approvals.length} of ${approvals_required}`),
    ...(notes.length > 0 ? [' ', marked('small', notes, 'in')] : []),
  ];
}

/**
 * What differs from the newest request of the same agent for the same capability that was approved.
 *
 * @module
 */

import type { Decision } from '../../protocol/decision.ts';
import type { Money } from '../../protocol/primitives.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { moneyInputs, namesWords } from './claims.ts';
import { sortedNames } from './hidden.ts';
import { differenceLines, hasLines } from './lines.ts';
import { empty, marked, type PartFacts, type Piece, type Words } from './pieces.ts';
import { moneyValue, plain } from './values.ts';

export interface Change {
  readonly name: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly currency: string | undefined;
}

export function changesOf({ request, similar, capability }: Decision): Change[] {
  if (!similar) return [];
  const [then, asked] = [similar.parameters, request.parameters];
  const currencies = moneyInputs(capability, then, asked);
  return sortedNames({ ...then, ...asked })
    .map((name) => ({
      name,
      before: then[name],
      after: asked[name],
      currency: currencies.get(name),
    }))
    .filter(({ before, after }) => comparedText(before) !== comparedText(after));
}

function comparedText(value: unknown): string {
  return value === undefined ? '' : canonicalJson(value);
}

export function changesPart(of: Decision): PartFacts {
  const { similar, viewer } = of;
  const changes = changesOf(of);
  const by = namesWords(similar?.approved_by ?? [], viewer.principal);
  return {
    title: ['Changed since the last similar approval'],
    aside: similar
      ? [
          { request: similar.approval_request_id, of: [{ at: similar.decided_at }] },
          ', by ',
          { shown: by },
        ]
      : undefined,
    lead: changes.length > 0 ? [] : [empty(sameWords(of))],
    facts: changes.map((change) => ({
      label: [{ shown: change.name }],
      words: differenceWords(change),
    })),
  };
}

function sameWords(of: Decision): string {
  if (of.similar) return 'Nothing: all parameters are the same as then.';
  return 'No request of this agent for this capability was approved before.';
}

export function differenceWords({ before, after, currency }: Change): Words {
  if (
    typeof before === 'string' &&
    typeof after === 'string' &&
    (hasLines(before) || hasLines(after))
  )
    return differenceLines(before, after);
  const [then, asked] = [moneyValue(before, currency), moneyValue(after, currency)];
  return [
    marked('del', [valuePiece(before, then)]),
    ' → ',
    marked('ins', [valuePiece(after, asked)]),
    ' ',
    ...(then && asked ? [marked('small', moreOrLess(then, asked), 'unit')] : []),
  ];
}

function valuePiece(value: unknown, money: Money | undefined): Piece {
  if (money) return { money };
  return value === undefined ? 'absent' : { json: value };
}

function moreOrLess(then: Money, asked: Money): string {
  if (then.currency !== asked.currency) return 'another currency';
  const amount = Math.round(Math.abs(asked.amount - then.amount) * 10_000) / 10_000;
  return `${plain({ amount, currency: then.currency })} ${asked.amount > then.amount ? 'more' : 'less'}`;
}

/**
 * What a call of a guarded tool costs: a fixed amount, a field of the request or a field of the answer.
 *
 * A request whose amount cannot be read is refused before anything happens. An answer whose amount cannot be
 * read is charged with the largest amount, which was reserved.
 *
 * @module
 */

import { amountFault, toMinor } from '../domain/values/money.ts';
import { isObject } from '../domain/wire/json.ts';
import type { Cost } from '../protocol/capability.ts';
import { exponentOf } from '../protocol/currencies.ts';
import type { JsonObject, Money } from '../protocol/primitives.ts';
import type { Price } from '../service/author/handler.ts';
import type { ToolCost } from './policy/schema.ts';
import type { SchemaIssue } from './schema-check.ts';

export interface CallCost {
  readonly declared?: Cost | undefined;
  readonly price?: Price | undefined;
  /** Why the amount in a request cannot be used. */
  issues(parameters: JsonObject): readonly SchemaIssue[];
  /** What the answer says that the call cost. Absent where it says nothing that can be read. */
  answered(result: JsonObject): Money | undefined;
}

const FREE: CallCost = { issues: () => [], answered: () => undefined };

export function callCost(cost: ToolCost | undefined): CallCost {
  if (cost === undefined) return FREE;
  const { currency } = cost;
  if ('amount' in cost) return { ...FREE, declared: { certainty: 'fixed', financial: cost } };
  const { most } = cost;
  if ('field' in cost) {
    const path = cost.field.split('.');
    return {
      ...FREE,
      declared: {
        certainty: 'estimated',
        financial: { currency, range_min: 0, range_max: most },
        determined_by: cost.field,
      },
      price: (parameters) => ({ currency, amount: valueAt(parameters, path) as number }),
      issues: (parameters) => amountIssues(valueAt(parameters, path), path, cost),
    };
  }
  const path = cost.answer.split('.');
  return {
    ...FREE,
    declared: {
      certainty: 'dynamic',
      financial: { currency, upper_bound: most },
      determined_by: cost.answer,
    },
    answered: (result) => answeredCost(valueAt(result, path), currency),
  };
}

function amountIssues(
  amount: unknown,
  path: readonly string[],
  { currency, most }: { currency: string; most: number },
): SchemaIssue[] {
  const isWithin = amountFault(amount, currency) === undefined && (amount as number) <= most;
  if (isWithin) return [];
  const message = `expected an amount of ${currency} from 0 to ${most}, by which the call is charged`;
  return [{ message, path }];
}

/** Some APIs write amounts as texts. A part of the smallest unit counts as a whole one. */
function answeredCost(value: unknown, currency: string): Money | undefined {
  const isText = typeof value === 'string' && /^[0-9]{1,15}(?:\.[0-9]{1,15})?$/.test(value);
  const amount = isText ? Number(value) : value;
  if (typeof amount !== 'number' || !(amount >= 0)) return undefined;
  // Also minus zero, which JSON can write.
  if (amount === 0) return { currency, amount: 0 };
  if (toMinor(amount, currency) !== undefined) return { currency, amount };
  const units = 10 ** (exponentOf(currency) ?? 0);
  // Less than a millionth is the imprecision of a double, not a part of a unit.
  const rounded = Math.max(1, Math.ceil(amount * units - 1e-6)) / units;
  return toMinor(rounded, currency) === undefined ? undefined : { currency, amount: rounded };
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const key of path) {
    const isHolder = isObject(found) || Array.isArray(found);
    if (!isHolder || !Object.hasOwn(found as object, key)) return undefined;
    found = (found as JsonObject)[key];
  }
  return found;
}

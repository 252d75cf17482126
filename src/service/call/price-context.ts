/**
 * What the author's price and preview are given beside the parameters: who asks, and what the bindings pinned.
 *
 * @module
 */

import type { BindingFacts } from '../../domain/invocation/bindings.ts';
import { fromMinor } from '../../domain/values/money.ts';
import { copyOf } from '../../domain/wire/json.ts';
import type { HandlerContext, PriceContext } from '../author/handler.ts';
import type { TokenCaller } from '../caller/caller.ts';

export function priceContext(
  { principal, root_principal, caller_class }: TokenCaller,
  bound: ReadonlyMap<string, BindingFacts>,
): PriceContext {
  return Object.freeze({
    principal,
    root_principal,
    caller_class,
    bindings: boundViews(bound),
  });
}

export function boundViews(bound: ReadonlyMap<string, BindingFacts>): HandlerContext['bindings'] {
  return Object.fromEntries(
    [...bound].map(([field, { data, price }]) => [
      field,
      {
        data: copyOf(data),
        ...(price && {
          price: { currency: price.currency, amount: fromMinor(price.amount, price.currency) },
        }),
      },
    ]),
  );
}

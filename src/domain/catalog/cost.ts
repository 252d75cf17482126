/**
 * Rules on declared costs: a budget can be enforced only against an amount that is present and exact.
 *
 * @module
 */

import { isCurrency } from '../../protocol/currencies.ts';
import { amountFault } from '../values/money.ts';
import { type FaultRule, fault } from './fault.ts';

const AMOUNTS = ['amount', 'upper_bound', 'range_min', 'range_max', 'typical'] as const;

export const costFaults: FaultRule = (capability) => {
  const { cost } = capability;
  const financial = cost?.financial;
  if (!cost || !financial) {
    const needless = 'nothing can be overrun: the capability has no financial cost';
    return capability.on_overrun
      ? [fault(capability.name, 'on_overrun', needless, 'a cost with financial, or leave it out')]
      : [];
  }

  const found = (field: string, text: string, write: string) =>
    fault(capability.name, `cost.financial.${field}`, text, write);
  if (!isCurrency(financial.currency)) {
    return [
      found(
        'currency',
        `"${financial.currency}" is not an ISO 4217 currency`,
        'a code such as "USD"',
      ),
    ];
  }
  const unreadable = AMOUNTS.flatMap((field) => {
    const amount = financial[field];
    const wrong = amount === undefined ? undefined : amountFault(amount, financial.currency);
    return wrong ? [found(field, wrong, `an amount that ${financial.currency} has`)] : [];
  });
  const { range_min = 0, range_max = Number.POSITIVE_INFINITY, typical } = financial;
  const misplaced = [
    cost.certainty === 'fixed' && financial.amount === undefined
      ? found('amount', 'a fixed cost needs it', 'what one call costs')
      : undefined,
    cost.certainty !== 'fixed' && financial.amount !== undefined
      ? found(
          'amount',
          `only a fixed cost has it, not "${cost.certainty}"`,
          'certainty: "fixed", or leave it out',
        )
      : undefined,
    cost.certainty === 'dynamic' && financial.upper_bound === undefined
      ? found('upper_bound', 'a dynamic cost needs it', 'the most that one call costs')
      : undefined,
    range_min > range_max
      ? found('range_min', 'it is above range_max', 'at most range_max')
      : undefined,
    typical !== undefined && (typical < range_min || typical > range_max)
      ? found('typical', 'it lies outside the range', 'an amount from range_min to range_max')
      : undefined,
  ];
  return [...unreadable, ...misplaced.filter((each) => each !== undefined)];
};

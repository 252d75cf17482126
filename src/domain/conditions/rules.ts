/**
 * Rules of a capability: what happens to calls by their arguments, whoever makes them.
 *
 * `when` triggers: a call that may be within one of the regions is met. `unless` allows: only a call that is certainly
 * within one of them is spared.
 *
 * @module
 */

import type { Regions } from '../../protocol/capability.ts';
import { COST_PATH, type Conditions } from './condition.ts';
import { type Arguments, judge, type Unmet } from './judge.ts';
import { type ConditionFault, readConditions } from './read.ts';
import { type Rule, regionsOf } from './words.ts';

export function meets(rule: Rule, args: Arguments): boolean {
  const regions = regionsOf(rule);
  return 'when' in rule
    ? regions.some((each) => judge(each, args, 'triggers').result !== 'out')
    : !regions.some((each) => judge(each, args, 'allows').result === 'in');
}

/** Whether it is asked when the price of the call is known, not before. */
export function looksAtCost(rule: Rule): boolean {
  return regionsOf(rule).some((each) => Object.hasOwn(each, COST_PATH));
}

const FOUND: Readonly<Record<Unmet['found'], string>> = {
  outside: 'is outside',
  missing: 'is missing',
  unreadable: 'cannot be judged in the form that it has',
};

/** Why a call is met, for the one who makes it: "path is outside". The values of the call are not repeated. */
export function meetingWords(rule: Rule, args: Arguments): string {
  const [region, ...others] = regionsOf(rule);
  if ('when' in rule || !region || others.length > 0) return '';
  const { unmet } = judge(region, args, 'allows');
  return unmet.map(({ at, found }) => `${at} ${FOUND[found]}`).join(', ');
}

export interface RuleFault extends ConditionFault {
  /** Of the region, where there are several. */
  readonly index: number | undefined;
}

export type RegionsRead = { readonly regions: Regions } | { readonly faults: readonly RuleFault[] };

/** The regions in canonical form. */
export function readRegions(written: Regions): RegionsRead {
  const list = Array.isArray(written) ? written : [written];
  const read = list.map(readConditions);
  const faults = read.flatMap((each, at) =>
    'faults' in each
      ? each.faults.map((fault) => ({ ...fault, index: list.length > 1 ? at : undefined }))
      : [],
  );
  if (faults.length > 0) return { faults };
  const regions = read.flatMap((each) => ('conditions' in each ? [each.conditions] : []));
  return { regions: regions.length === 1 ? (regions[0] as Conditions) : regions };
}

/**
 * The rules of a declaration that look at arguments: they can be read, fit the inputs, and decide something.
 *
 * @module
 */

import type { Capability, Regions } from '../../protocol/capability.ts';
import { type Condition, type Conditions, listedValues } from '../conditions/condition.ts';
import { misfits } from '../conditions/fits.ts';
import { readRegions } from '../conditions/rules.ts';
import { type FaultRule, fault } from './fault.ts';

/** The fields that have regions. */
type Written = readonly [field: string, regions: Regions];

function regionsIn({ approval, refuse }: Capability): Written[] {
  const rules = [
    ['approval.when', typeof approval?.when === 'object' ? approval.when : {}],
    ['refuse', refuse ?? {}],
  ] as const;
  return rules.flatMap(([at, rule]) =>
    Object.entries(rule).flatMap(([key, value]): Written[] =>
      typeof value === 'string' ? [] : [[`${at}.${key}`, value as Regions]],
    ),
  );
}

export const ruleFaults: FaultRule = (capability) =>
  regionsIn(capability).flatMap(([field, written]) => {
    const read = readRegions(written);
    const list = 'regions' in read ? [read.regions].flat() : [];
    const at = (index: number | undefined) => (index === undefined ? field : `${field}[${index}]`);
    const fits = list.flatMap((region, index) => {
      const place = list.length > 1 ? index : undefined;
      const found = misfits(region as Conditions, capability);
      const all = found.length === 0 && containsAll(region as Conditions, capability);
      const everything = {
        path: '',
        fault: 'every call is within it',
        write: 'a narrower condition',
      };
      return [...found, ...(all ? [everything] : [])].map((each) => ({ ...each, index: place }));
    });
    return ('faults' in read ? read.faults : fits).map(({ path, index, fault: why, write }) => {
      const place = path === '' ? at(index) : `${at(index)}[${JSON.stringify(path)}]`;
      return fault(capability.name, place, why, write);
    });
  });

/** Such a rule would decide nothing, or everything. */
function containsAll(region: Conditions, { inputs }: Capability): boolean {
  return Object.entries(region).every(([path, condition]) => {
    const input = inputs.find(({ name }) => name === path);
    return condition.any || (input !== undefined && listsAll(condition, input));
  });
}

function listsAll(
  condition: Condition,
  { allowed_values, required }: Capability['inputs'][number],
) {
  const listed = listedValues(condition);
  const isWhole = allowed_values?.every((each) => listed?.some((value) => value === each));
  return isWhole === true && (required || condition.or_absent === true);
}

/** With the regions in canonical form: equal rules have equal digests. Only for a capability without faults. */
export function withRules(capability: Capability): Capability {
  const { approval, refuse } = capability;
  const canonical = <Rule extends object>(rule: Rule): Rule =>
    Object.fromEntries(
      Object.entries(rule).map(([key, value]) => {
        const read = typeof value === 'object' ? readRegions(value) : undefined;
        return [key, read && 'regions' in read ? read.regions : value];
      }),
    ) as Rule;
  return {
    ...capability,
    ...(typeof approval?.when === 'object' && {
      approval: { ...approval, when: canonical(approval.when) },
    }),
    ...(refuse && { refuse: canonical(refuse) }),
  };
}

/**
 * Narrower: whether every call within one condition is within another.
 *
 * Total and without recursion. It is conservative: a pair of operators that is not in the table is no, although some
 * such pairs would hold.
 *
 * Invariant: where it says yes, no value is within the child and not within the parent.
 *
 * @module
 */

import {
  admitsAbsence,
  type Condition,
  type Conditions,
  listedValues,
  type Operator,
} from './condition.ts';
import { admits } from './judge.ts';
import {
  isDomainIn,
  isPathUnder,
  isUrlUnder,
  pointOf,
  strictPath,
  urlRoot,
} from './strict-forms.ts';

/** The paths of the parent that the child leaves wider. Empty where the child is narrower. */
export function widerPaths(child: Conditions, parent: Conditions): string[] {
  return Object.entries(parent)
    .filter(([path, condition]) => {
      const own = Object.hasOwn(child, path) ? child[path] : undefined;
      return !isNarrower(own ?? ANYTHING, condition);
    })
    .map(([path]) => path);
}

/** What holds where no condition is stated. */
const ANYTHING: Condition = { any: true };

export function isNarrower(child: Condition, parent: Condition): boolean {
  if (admitsAbsence(child) && !admitsAbsence(parent)) return false;
  if (child.absent) return true;
  if (parent.absent) return false;
  const listed = listedValues(child);
  // A value that another operator of the child refuses is none of its values.
  if (listed) return listed.every((each) => !admits(child, each) || admits(parent, each));
  return (Object.keys(parent) as Operator[]).every((operator) => MET[operator](child, parent));
}

type Met = (child: Condition, parent: Condition) => boolean;

/** Whether an operator of the parent is met by the same operator of a child that lists no values. */
const MET: Readonly<Record<Operator, Met>> = {
  is: () => false,
  one_of: () => false,
  at_least: (child, parent) => isBounded(parent.at_least, child.at_least),
  at_most: (child, parent) => isBounded(child.at_most, parent.at_most),
  starts_with: covered('starts_with', (root, text) => text.startsWith(root)),
  under: covered('under', (root, text) => {
    const [known, path] = [strictPath(root), strictPath(text)];
    return known !== undefined && path !== undefined && isPathUnder(known, path);
  }),
  email_domain: covered('email_domain', isDomainIn),
  url_under: covered('url_under', (root, text) => {
    const [known, url] = [urlRoot(root), urlRoot(text)];
    return known !== undefined && url !== undefined && isUrlUnder(known, url);
  }),
  same: (child, parent) => child.same === parent.same,
  // Absence was compared before.
  absent: () => true,
  or_absent: () => true,
  any: () => true,
};

/** Whether both are bounds of one kind, and in this order. */
function isBounded(
  lower: number | string | undefined,
  upper: number | string | undefined,
): boolean {
  const [low, high] = [pointOf(lower), pointOf(upper)];
  return low !== undefined && low.kind === high?.kind && low.value <= high.value;
}

function covered(
  operator: 'starts_with' | 'under' | 'email_domain' | 'url_under',
  isIn: (root: string, text: string) => boolean,
): Met {
  return (child, parent) => {
    const own = child[operator];
    return own?.every((text) => parent[operator]?.some((root) => isIn(root, text))) ?? false;
  };
}

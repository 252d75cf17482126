/**
 * Widened: in which dimensions a child token allows more than its parent.
 *
 * Compares two authorities as they stand, whoever made them, so that a checker finds a child that no
 * delegation could have made (`narrowing.ts` makes them). Caller classes are left out: which of two is
 * told more depends on the configuration.
 *
 * @module
 */

import { toMinor } from '../values/money.ts';
import { canonicalJson } from '../wire/canonical.ts';
import type { Authority } from './narrowing.ts';
import { uncovered } from './scope-pattern.ts';

/** Names of the fields in which the child is not within its parent. */
export function widenedFields(parent: Authority, child: Authority): string[] {
  return Object.entries(WIDER)
    .filter(([, isWider]) => isWider(parent, child))
    .map(([field]) => field);
}

type Compare = (parent: Authority, child: Authority) => boolean;

const WIDER: Partial<Record<keyof Authority, Compare>> = {
  root_principal: (parent, child) => child.root_principal !== parent.root_principal,
  scope: (parent, child) => uncovered(parent.scope, child.scope).length > 0,
  capability: ({ capability }, child) =>
    capability !== undefined && child.capability !== capability,
  purpose: (parent, child) =>
    Object.entries(parent.purpose).some(
      ([key, value]) =>
        !Object.hasOwn(child.purpose, key) ||
        canonicalJson(child.purpose[key]) !== canonicalJson(value),
    ),
  budget: (parent, child) => parent.budget !== undefined && !isWithin(parent.budget, child.budget),
  concurrent_branches: (parent, child) =>
    parent.concurrent_branches === 'exclusive' && child.concurrent_branches !== 'exclusive',
  depth: (parent, child) =>
    child.depth !== parent.depth + 1 || child.depth > parent.max_delegation_depth,
  max_delegation_depth: (parent, child) => child.max_delegation_depth > parent.max_delegation_depth,
  session_id: (parent, child) => child.session_id !== parent.session_id,
  expires_at: (parent, child) => child.expires_at > parent.expires_at,
};

function isWithin(held: NonNullable<Authority['budget']>, asked: Authority['budget']): boolean {
  if (asked?.currency !== held.currency) return false;
  const most = toMinor(held.max_amount, held.currency);
  const amount = toMinor(asked.max_amount, asked.currency);
  return most !== undefined && amount !== undefined && amount <= most;
}

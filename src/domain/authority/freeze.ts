/**
 * Freezes: the keys under which freezes are stored, and which keys apply to a call.
 *
 * A freeze of a capability applies to every caller or to one root principal. The second form has the same
 * kind and appends the principal to the target after a space. Neither capability names nor principals
 * contain a space.
 *
 * @module
 */

import type { FreezeTarget } from '../../protocol/operator.ts';

/** The unique key of a freeze. */
export interface FreezeKey {
  readonly what: FreezeTarget;
  /** Empty for the whole service. */
  readonly target: string;
}

/** Freezes that block every call of a root principal, the widest first. */
export function principalFreezes(rootPrincipal: string): FreezeKey[] {
  return [
    { what: 'service', target: '' },
    { what: 'root_principal', target: rootPrincipal },
  ];
}

/** Freezes that block this root principal from any of these capabilities. */
export function capabilityFreezes(
  capabilities: Iterable<string>,
  rootPrincipal: string | undefined,
): FreezeKey[] {
  return [...new Set(capabilities)].flatMap((capability): FreezeKey[] => [
    { what: 'capability', target: capability },
    ...(rootPrincipal === undefined
      ? []
      : [{ what: 'capability', target: capabilityTarget(capability, rootPrincipal) } as const]),
  ]);
}

/** The target of a capability freeze. */
export function capabilityTarget(capability: string, rootPrincipal?: string): string {
  return rootPrincipal === undefined ? capability : `${capability} ${rootPrincipal}`;
}

/** Splits the target of a capability freeze. */
export function readCapabilityTarget(target: string): {
  readonly capability: string;
  readonly root_principal?: string | undefined;
} {
  const space = target.indexOf(' ');
  if (space < 0) return { capability: target };
  return { capability: target.slice(0, space), root_principal: target.slice(space + 1) };
}

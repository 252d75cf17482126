/**
 * Freezes: what one that is kept applies to.
 *
 * A capability is frozen for everybody, or for one root principal. The second is kept under the first's
 * kind, with the principal after a space: neither a capability's name nor a principal has one.
 *
 * @module
 */

import type { FreezeTarget } from '../../protocol/operator.ts';

/** What a freeze is kept under: no two have the same. */
export interface FreezeKey {
  readonly what: FreezeTarget;
  /** Empty for the whole service. */
  readonly target: string;
}

/** The freezes that keep a root principal from everything, the widest first. */
export function principalFreezes(rootPrincipal: string): FreezeKey[] {
  return [
    { what: 'service', target: '' },
    { what: 'root_principal', target: rootPrincipal },
  ];
}

/** The freezes that keep this root principal from any of these capabilities. */
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

/** What a freeze of a capability is kept under. */
export function capabilityTarget(capability: string, rootPrincipal?: string): string {
  return rootPrincipal === undefined ? capability : `${capability} ${rootPrincipal}`;
}

/** The parts of a target of a capability's freeze. */
export function readCapabilityTarget(target: string): {
  readonly capability: string;
  readonly root_principal?: string | undefined;
} {
  const space = target.indexOf(' ');
  if (space < 0) return { capability: target };
  return { capability: target.slice(0, space), root_principal: target.slice(space + 1) };
}

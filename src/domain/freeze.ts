/**
 * Freezes: what one that is kept applies to.
 *
 * A capability is frozen for everybody, or for one root principal. The second is kept under the first's
 * kind, with the principal after a space: neither a capability's name nor a principal has one.
 *
 * @module
 */

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

/** Whether a freeze keeps this root principal from this capability. */
export function freezesCapability(
  { what, target }: { readonly what: string; readonly target: string },
  capability: string,
  rootPrincipal: string | undefined,
): boolean {
  if (what !== 'capability') return false;
  if (target === capability) return true;
  return rootPrincipal !== undefined && target === capabilityTarget(capability, rootPrincipal);
}

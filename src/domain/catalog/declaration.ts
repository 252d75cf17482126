/**
 * A declaration as the manifest has it, and its digest, which approvals are bound to.
 *
 * The version is what an author says about a declaration; the digest is the declaration. An approval that is
 * bound to both does not cover a capability that was changed without a new version.
 *
 * @module
 */

import type { Capability, CapabilityDeclaration } from '../../protocol/capability.ts';
import { digestOf } from '../wire/canonical.ts';

export function declarationOf({ name: _, ...declaration }: Capability): CapabilityDeclaration {
  return declaration;
}

/** Made once for each capability of a catalog: declarations never change while a service runs. */
const DIGESTS = new WeakMap<Capability, string>();

export function declarationDigest(capability: Capability): string {
  const known = DIGESTS.get(capability);
  if (known !== undefined) return known;
  const digest = digestOf(declarationOf(capability));
  DIGESTS.set(capability, digest);
  return digest;
}

/**
 * The capabilities that a token may use, as the service reports them, with their declarations.
 *
 * @module
 */

import type { Platform } from '../platform.ts';
import type { CapabilityDeclaration } from '../protocol/capability.ts';
import type { FailureAnswer } from '../protocol/failure.ts';
import type { Manifest } from '../protocol/trust.ts';
import { createSlicer } from '../service/pace/slices.ts';
import { type Gateway, isFailure } from './gateway.ts';

/** Visits each of them, in slices: a catalog may have a thousand. Resolves with the failure that prevents it. */
export async function eachAvailable(
  gateway: Gateway,
  platform: Platform,
  visit: (name: string, declared: CapabilityDeclaration) => void,
): Promise<FailureAnswer | undefined> {
  const [manifest, permissions] = await Promise.all([
    gateway.manifest(),
    gateway.ask('permissions', {}),
  ]);
  if (isFailure(manifest)) return manifest;
  if (isFailure(permissions)) return permissions;
  await createSlicer(platform)().each(permissions.available, ({ capability }) => {
    const declared = declaredIn(manifest, capability);
    if (declared) visit(capability, declared);
    return true;
  });
  return undefined;
}

/** Own properties only: "constructor" is not a capability. A name may be any value that a caller sent. */
export function declaredIn(
  { capabilities }: Manifest,
  name: unknown,
): CapabilityDeclaration | undefined {
  return typeof name === 'string' && Object.hasOwn(capabilities, name)
    ? capabilities[name]
    : undefined;
}

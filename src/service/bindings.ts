/**
 * Finds what the handles of a call pin: in the store, or with the capability's own resolver.
 *
 * @module
 */

import type { BindingFacts } from '../domain/bindings.ts';
import { chargeFrom } from '../domain/budget.ts';
import type { Capability } from '../protocol/capability.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { TokenCaller } from './caller.ts';
import type { PinnedElsewhere } from './define.ts';
import type { Parts } from './parts.ts';

type Lookup = (handle: string) => BindingFacts | undefined;

const NOTHING_BOUND: Lookup = () => undefined;

/** A lookup over every handle that the parameters carry where a binding is required. */
export function findBindings(
  parts: Parts,
  caller: TokenCaller,
  capability: Capability,
  parameters: JsonObject,
): Promise<Lookup> | Lookup {
  if (!capability.requires_binding?.length) return NOTHING_BOUND;
  return lookupOver(parts, caller, capability, parameters);
}

async function lookupOver(
  parts: Parts,
  { loaded, root_principal }: TokenCaller,
  capability: Capability,
  parameters: JsonObject,
): Promise<Lookup> {
  const known = new Map<string, BindingFacts>(
    loaded.bindings.map((binding) => [binding.binding_id, binding]),
  );
  const resolve = parts.definition.code.get(capability.name)?.resolveBinding;
  for (const requirement of resolve ? (capability.requires_binding ?? []) : []) {
    const handle = Object.hasOwn(parameters, requirement.field)
      ? parameters[requirement.field]
      : undefined;
    if (typeof handle !== 'string' || known.has(handle)) continue;
    const pinned = await resolve?.(handle, requirement);
    if (!pinned) continue;
    const { type } = requirement;
    known.set(handle, { type, capability: capability.name, root_principal, ...factsOf(pinned) });
  }
  return (handle) => known.get(handle);
}

function factsOf({ issued_at, price, data }: PinnedElsewhere) {
  return { issued_at, data: data ?? {}, price: price && chargeFrom(price) };
}

/**
 * Rules on how an input is resolved, given the registered resolvers.
 *
 * A resolver that is named and not registered is a fault. The specification allows a hook (`on_ambiguous`,
 * `on_unresolved`) that can never apply, but it suggests a check that does not happen, so the start warns of it.
 * `on_missing` can always apply: any caller can omit an input.
 *
 * @module
 */

import type { Input } from '../../protocol/capability.ts';
import { resolverOf } from '../invocation/inputs.ts';
import type { Found } from './inputs.ts';

export function hookFaults(input: Input, isRegistered: (reference: string) => boolean): Found[] {
  const { resolution } = input;
  if (!resolution) return [];
  const { mode, resolver_ref } = resolution;
  const resolver = resolverOf(input);
  const needed = resolver_ref ?? (mode === 'backend_resolved' ? resolver : undefined);
  if (needed !== undefined && !isRegistered(needed)) {
    const write = `resolvers: { ${JSON.stringify(needed)}: … } in createService()`;
    return [['resolution', `no resolver "${needed}" is registered`, write]];
  }
  return [];
}

/** The hooks that can never apply, and why. */
export function idleHooks(
  input: Input,
  isRegistered: (reference: string) => boolean,
): [field: string, why: string][] {
  const { mode, on_ambiguous, on_unresolved } = input.resolution ?? {};
  const resolver = resolverOf(input);
  if (resolver !== undefined && isRegistered(resolver)) return [];

  const found: [field: string, why: string][] = [];
  const why = withoutResolver(input);
  if (on_ambiguous !== undefined) {
    found.push(['on_ambiguous', why]);
  }
  // A value is also unresolved when it is outside the closed set or the actor's policy.
  const isChecked = input.allowed_values !== undefined || mode === 'actor_policy_or_explicit';
  if (on_unresolved !== undefined && !isChecked) {
    found.push(['on_unresolved', `${why}, and there are no allowed_values`]);
  }
  return found;
}

function withoutResolver(input: Input): string {
  const { mode } = input.resolution ?? {};
  if (mode === 'closed_values' || mode === 'actor_policy') return `mode "${mode}" asks no resolver`;
  const reference = resolverOf(input);
  return reference === undefined
    ? 'the input names no resolver'
    : `no resolver "${reference}" is registered`;
}

/**
 * Rules on how an input is resolved, given the registered resolvers.
 *
 * A hook (`on_ambiguous`, `on_unresolved`) that can never apply suggests a check that does not happen, so
 * it is a fault. `on_missing` can always apply: any caller can omit an input.
 *
 * @module
 */

import type { Input } from '../../protocol/capability.ts';
import { resolverOf } from '../invocation/inputs.ts';
import type { Found } from './inputs.ts';

export function hookFaults(input: Input, isRegistered: (reference: string) => boolean): Found[] {
  const { resolution } = input;
  if (!resolution) return [];
  const { mode, resolver_ref, on_ambiguous, on_unresolved } = resolution;
  const resolver = resolverOf(input);
  const needed = resolver_ref ?? (mode === 'backend_resolved' ? resolver : undefined);
  if (needed !== undefined && !isRegistered(needed)) {
    const write = `resolvers: { ${JSON.stringify(needed)}: … } in createService()`;
    return [['resolution', `no resolver "${needed}" is registered`, write]];
  }
  // The rules of the catalog report what these modes lack.
  if (mode === 'closed_values' && !input.allowed_values) return [];
  if (mode === 'backend_resolved' && resolver === undefined) return [];
  if (resolver !== undefined && isRegistered(resolver)) return [];

  const found: Found[] = [];
  const why = withoutResolver(input);
  if (on_ambiguous !== undefined) {
    found.push(['resolution.on_ambiguous', `it can never apply: ${why}`, RESOLVER_OR_NOTHING]);
  }
  // A value is also unresolved when it is outside the closed set or the actor's policy.
  const isChecked = input.allowed_values !== undefined || mode === 'actor_policy_or_explicit';
  if (on_unresolved !== undefined && !isChecked) {
    const both = `${why}, and there are no allowed_values`;
    found.push(['resolution.on_unresolved', `it can never apply: ${both}`, RESOLVER_OR_NOTHING]);
  }
  return found;
}

const RESOLVER_OR_NOTHING = 'the resolver_ref of a registered resolver, or leave it out';

function withoutResolver(input: Input): string {
  const { mode } = input.resolution ?? {};
  if (mode === 'closed_values' || mode === 'actor_policy') return `mode "${mode}" asks no resolver`;
  const reference = resolverOf(input);
  return reference === undefined
    ? 'the input names no resolver'
    : `no resolver "${reference}" is registered`;
}

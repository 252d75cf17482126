/**
 * Rules on how an input is resolved, in the light of the resolvers that are registered.
 *
 * A hook (`on_ambiguous`, `on_unresolved`) that nothing can ever reach says that a value is checked where
 * it is not, so it is a fault. `on_missing` can always be reached: every caller can leave an input out.
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
  const asked = resolverOf(input);
  const needed = resolver_ref ?? (mode === 'backend_resolved' ? asked : undefined);
  if (needed !== undefined && !isRegistered(needed)) {
    return [['resolution', `no resolver "${needed}" is registered`]];
  }
  // What these modes cannot do without is a rule of the catalog, which has found it missing.
  if (mode === 'closed_values' && !input.allowed_values) return [];
  if (mode === 'backend_resolved' && asked === undefined) return [];
  if (asked !== undefined && isRegistered(asked)) return [];

  const found: Found[] = [];
  const why = withoutResolver(input);
  if (on_ambiguous !== undefined) {
    found.push(['resolution.on_ambiguous', `it can never apply: ${why}`]);
  }
  // A value also comes to nothing outside of a closed set, or outside of the actor's policy.
  const isChecked = input.allowed_values !== undefined || mode === 'actor_policy_or_explicit';
  if (on_unresolved !== undefined && !isChecked) {
    const both = `${why}, and there are no allowed_values`;
    found.push(['resolution.on_unresolved', `it can never apply: ${both}`]);
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

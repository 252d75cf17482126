/**
 * Input resolution, cell by cell: seven modes, three hooks, seven behaviours. Read from the
 * specification ("Input") and written out as data; nothing here is computed.
 *
 * The last two columns say what becomes of the input for an actor without a policy, and for one whose policy
 * derives "p" and allows "p" and "q":
 *
 * - `takes v`: the handler gets v. `omits`: the handler gets no such input.
 * - `asks …`: `clarification_required`, with these candidates or without any.
 * - `denies`: `input_denied`. `refuses`: `invalid_parameters`.
 * - `fault`: the service does not start, because the hook could never apply.
 *
 * How the hook is reached:
 *
 * - `on_missing`: the input is not sent.
 * - `on_ambiguous`: the value is one for which the resolver finds c1 and c2.
 * - `on_unresolved`: the resolver knows nothing of the value. `closed_values`: it is not among d, p and q.
 *   `actor_policy`: nothing is sent, and the policy of the second actor derives a value that is not
 *   among d, p and q; for the first actor the input is only missing.
 *
 * The default is "d", and is declared with `use_default` alone.
 *
 * @module
 */

import type { ResolutionBehavior, ResolutionMode } from '../../src/protocol/capability.ts';

export type Hook = 'on_missing' | 'on_ambiguous' | 'on_unresolved';
export type Outcome =
  | 'takes d'
  | 'takes p'
  | 'omits'
  | 'asks'
  | 'asks d p q'
  | 'asks c1 c2'
  | 'denies'
  | 'refuses'
  | 'fault';

type Cell = readonly [
  mode: ResolutionMode,
  hook: Hook,
  behavior: ResolutionBehavior,
  withoutPolicy: Outcome,
  withPolicy: Outcome,
];

// biome-ignore format: one line a cell
export const CELLS: readonly Cell[] = [
  ['closed_values', 'on_missing', 'clarify', 'asks d p q', 'asks d p q'],
  ['closed_values', 'on_missing', 'use_default', 'takes d', 'takes d'],
  ['closed_values', 'on_missing', 'use_actor_scope', 'denies', 'takes p'],
  ['closed_values', 'on_missing', 'app_select_or_clarify', 'asks d p q', 'asks d p q'],
  ['closed_values', 'on_missing', 'deny', 'denies', 'denies'],
  ['closed_values', 'on_missing', 'deny_or_clarify', 'asks d p q', 'asks d p q'],
  ['closed_values', 'on_missing', 'omit', 'omits', 'omits'],

  ['closed_values', 'on_ambiguous', 'clarify', 'fault', 'fault'],
  ['closed_values', 'on_ambiguous', 'use_default', 'fault', 'fault'],
  ['closed_values', 'on_ambiguous', 'use_actor_scope', 'fault', 'fault'],
  ['closed_values', 'on_ambiguous', 'app_select_or_clarify', 'fault', 'fault'],
  ['closed_values', 'on_ambiguous', 'deny', 'fault', 'fault'],
  ['closed_values', 'on_ambiguous', 'deny_or_clarify', 'fault', 'fault'],
  ['closed_values', 'on_ambiguous', 'omit', 'fault', 'fault'],

  ['closed_values', 'on_unresolved', 'clarify', 'asks d p q', 'asks d p q'],
  ['closed_values', 'on_unresolved', 'use_default', 'takes d', 'takes d'],
  ['closed_values', 'on_unresolved', 'use_actor_scope', 'denies', 'takes p'],
  ['closed_values', 'on_unresolved', 'app_select_or_clarify', 'asks d p q', 'asks d p q'],
  ['closed_values', 'on_unresolved', 'deny', 'denies', 'denies'],
  ['closed_values', 'on_unresolved', 'deny_or_clarify', 'asks d p q', 'asks d p q'],
  ['closed_values', 'on_unresolved', 'omit', 'omits', 'omits'],

  ['backend_resolved', 'on_missing', 'clarify', 'asks', 'asks'],
  ['backend_resolved', 'on_missing', 'use_default', 'takes d', 'takes d'],
  ['backend_resolved', 'on_missing', 'use_actor_scope', 'denies', 'takes p'],
  ['backend_resolved', 'on_missing', 'app_select_or_clarify', 'asks', 'asks'],
  ['backend_resolved', 'on_missing', 'deny', 'denies', 'denies'],
  ['backend_resolved', 'on_missing', 'deny_or_clarify', 'denies', 'denies'],
  ['backend_resolved', 'on_missing', 'omit', 'omits', 'omits'],

  ['backend_resolved', 'on_ambiguous', 'clarify', 'asks c1 c2', 'asks c1 c2'],
  ['backend_resolved', 'on_ambiguous', 'use_default', 'takes d', 'takes d'],
  ['backend_resolved', 'on_ambiguous', 'use_actor_scope', 'denies', 'takes p'],
  ['backend_resolved', 'on_ambiguous', 'app_select_or_clarify', 'asks c1 c2', 'asks c1 c2'],
  ['backend_resolved', 'on_ambiguous', 'deny', 'denies', 'denies'],
  ['backend_resolved', 'on_ambiguous', 'deny_or_clarify', 'asks c1 c2', 'asks c1 c2'],
  ['backend_resolved', 'on_ambiguous', 'omit', 'omits', 'omits'],

  ['backend_resolved', 'on_unresolved', 'clarify', 'asks', 'asks'],
  ['backend_resolved', 'on_unresolved', 'use_default', 'takes d', 'takes d'],
  ['backend_resolved', 'on_unresolved', 'use_actor_scope', 'denies', 'takes p'],
  ['backend_resolved', 'on_unresolved', 'app_select_or_clarify', 'asks', 'asks'],
  ['backend_resolved', 'on_unresolved', 'deny', 'denies', 'denies'],
  ['backend_resolved', 'on_unresolved', 'deny_or_clarify', 'denies', 'denies'],
  ['backend_resolved', 'on_unresolved', 'omit', 'omits', 'omits'],

  ['actor_policy', 'on_missing', 'clarify', 'asks', 'takes p'],
  ['actor_policy', 'on_missing', 'use_default', 'takes d', 'takes p'],
  ['actor_policy', 'on_missing', 'use_actor_scope', 'denies', 'takes p'],
  ['actor_policy', 'on_missing', 'app_select_or_clarify', 'asks', 'takes p'],
  ['actor_policy', 'on_missing', 'deny', 'denies', 'takes p'],
  ['actor_policy', 'on_missing', 'deny_or_clarify', 'denies', 'takes p'],
  ['actor_policy', 'on_missing', 'omit', 'omits', 'takes p'],

  ['actor_policy', 'on_ambiguous', 'clarify', 'fault', 'fault'],
  ['actor_policy', 'on_ambiguous', 'use_default', 'fault', 'fault'],
  ['actor_policy', 'on_ambiguous', 'use_actor_scope', 'fault', 'fault'],
  ['actor_policy', 'on_ambiguous', 'app_select_or_clarify', 'fault', 'fault'],
  ['actor_policy', 'on_ambiguous', 'deny', 'fault', 'fault'],
  ['actor_policy', 'on_ambiguous', 'deny_or_clarify', 'fault', 'fault'],
  ['actor_policy', 'on_ambiguous', 'omit', 'fault', 'fault'],

  ['actor_policy', 'on_unresolved', 'clarify', 'refuses', 'asks'],
  ['actor_policy', 'on_unresolved', 'use_default', 'takes d', 'takes d'],
  ['actor_policy', 'on_unresolved', 'use_actor_scope', 'refuses', 'denies'],
  ['actor_policy', 'on_unresolved', 'app_select_or_clarify', 'refuses', 'asks'],
  ['actor_policy', 'on_unresolved', 'deny', 'refuses', 'denies'],
  ['actor_policy', 'on_unresolved', 'deny_or_clarify', 'refuses', 'denies'],
  ['actor_policy', 'on_unresolved', 'omit', 'refuses', 'omits'],

  ['actor_policy_or_explicit', 'on_missing', 'clarify', 'asks', 'takes p'],
  ['actor_policy_or_explicit', 'on_missing', 'use_default', 'takes d', 'takes p'],
  ['actor_policy_or_explicit', 'on_missing', 'use_actor_scope', 'denies', 'takes p'],
  ['actor_policy_or_explicit', 'on_missing', 'app_select_or_clarify', 'asks', 'takes p'],
  ['actor_policy_or_explicit', 'on_missing', 'deny', 'denies', 'takes p'],
  ['actor_policy_or_explicit', 'on_missing', 'deny_or_clarify', 'denies', 'takes p'],
  ['actor_policy_or_explicit', 'on_missing', 'omit', 'omits', 'takes p'],

  ['actor_policy_or_explicit', 'on_ambiguous', 'clarify', 'asks c1 c2', 'asks c1 c2'],
  ['actor_policy_or_explicit', 'on_ambiguous', 'use_default', 'takes d', 'takes d'],
  ['actor_policy_or_explicit', 'on_ambiguous', 'use_actor_scope', 'denies', 'takes p'],
  ['actor_policy_or_explicit', 'on_ambiguous', 'app_select_or_clarify', 'asks c1 c2', 'asks c1 c2'],
  ['actor_policy_or_explicit', 'on_ambiguous', 'deny', 'denies', 'denies'],
  ['actor_policy_or_explicit', 'on_ambiguous', 'deny_or_clarify', 'asks c1 c2', 'asks c1 c2'],
  ['actor_policy_or_explicit', 'on_ambiguous', 'omit', 'omits', 'omits'],

  ['actor_policy_or_explicit', 'on_unresolved', 'clarify', 'asks', 'asks'],
  ['actor_policy_or_explicit', 'on_unresolved', 'use_default', 'takes d', 'takes d'],
  ['actor_policy_or_explicit', 'on_unresolved', 'use_actor_scope', 'denies', 'takes p'],
  ['actor_policy_or_explicit', 'on_unresolved', 'app_select_or_clarify', 'asks', 'asks'],
  ['actor_policy_or_explicit', 'on_unresolved', 'deny', 'denies', 'denies'],
  ['actor_policy_or_explicit', 'on_unresolved', 'deny_or_clarify', 'denies', 'denies'],
  ['actor_policy_or_explicit', 'on_unresolved', 'omit', 'omits', 'omits'],

  ['app_selected', 'on_missing', 'clarify', 'asks', 'asks'],
  ['app_selected', 'on_missing', 'use_default', 'takes d', 'takes d'],
  ['app_selected', 'on_missing', 'use_actor_scope', 'denies', 'takes p'],
  ['app_selected', 'on_missing', 'app_select_or_clarify', 'asks', 'asks'],
  ['app_selected', 'on_missing', 'deny', 'denies', 'denies'],
  ['app_selected', 'on_missing', 'deny_or_clarify', 'denies', 'denies'],
  ['app_selected', 'on_missing', 'omit', 'omits', 'omits'],

  ['app_selected', 'on_ambiguous', 'clarify', 'asks c1 c2', 'asks c1 c2'],
  ['app_selected', 'on_ambiguous', 'use_default', 'takes d', 'takes d'],
  ['app_selected', 'on_ambiguous', 'use_actor_scope', 'denies', 'takes p'],
  ['app_selected', 'on_ambiguous', 'app_select_or_clarify', 'asks c1 c2', 'asks c1 c2'],
  ['app_selected', 'on_ambiguous', 'deny', 'denies', 'denies'],
  ['app_selected', 'on_ambiguous', 'deny_or_clarify', 'asks c1 c2', 'asks c1 c2'],
  ['app_selected', 'on_ambiguous', 'omit', 'omits', 'omits'],

  ['app_selected', 'on_unresolved', 'clarify', 'asks', 'asks'],
  ['app_selected', 'on_unresolved', 'use_default', 'takes d', 'takes d'],
  ['app_selected', 'on_unresolved', 'use_actor_scope', 'denies', 'takes p'],
  ['app_selected', 'on_unresolved', 'app_select_or_clarify', 'asks', 'asks'],
  ['app_selected', 'on_unresolved', 'deny', 'denies', 'denies'],
  ['app_selected', 'on_unresolved', 'deny_or_clarify', 'denies', 'denies'],
  ['app_selected', 'on_unresolved', 'omit', 'omits', 'omits'],

  ['explicit_only', 'on_missing', 'clarify', 'asks', 'asks'],
  ['explicit_only', 'on_missing', 'use_default', 'takes d', 'takes d'],
  ['explicit_only', 'on_missing', 'use_actor_scope', 'denies', 'takes p'],
  ['explicit_only', 'on_missing', 'app_select_or_clarify', 'asks', 'asks'],
  ['explicit_only', 'on_missing', 'deny', 'denies', 'denies'],
  ['explicit_only', 'on_missing', 'deny_or_clarify', 'denies', 'denies'],
  ['explicit_only', 'on_missing', 'omit', 'omits', 'omits'],

  ['explicit_only', 'on_ambiguous', 'clarify', 'asks c1 c2', 'asks c1 c2'],
  ['explicit_only', 'on_ambiguous', 'use_default', 'takes d', 'takes d'],
  ['explicit_only', 'on_ambiguous', 'use_actor_scope', 'denies', 'takes p'],
  ['explicit_only', 'on_ambiguous', 'app_select_or_clarify', 'asks c1 c2', 'asks c1 c2'],
  ['explicit_only', 'on_ambiguous', 'deny', 'denies', 'denies'],
  ['explicit_only', 'on_ambiguous', 'deny_or_clarify', 'asks c1 c2', 'asks c1 c2'],
  ['explicit_only', 'on_ambiguous', 'omit', 'omits', 'omits'],

  ['explicit_only', 'on_unresolved', 'clarify', 'asks', 'asks'],
  ['explicit_only', 'on_unresolved', 'use_default', 'takes d', 'takes d'],
  ['explicit_only', 'on_unresolved', 'use_actor_scope', 'denies', 'takes p'],
  ['explicit_only', 'on_unresolved', 'app_select_or_clarify', 'asks', 'asks'],
  ['explicit_only', 'on_unresolved', 'deny', 'denies', 'denies'],
  ['explicit_only', 'on_unresolved', 'deny_or_clarify', 'denies', 'denies'],
  ['explicit_only', 'on_unresolved', 'omit', 'omits', 'omits'],

  ['clarify', 'on_missing', 'clarify', 'asks', 'asks'],
  ['clarify', 'on_missing', 'use_default', 'takes d', 'takes d'],
  ['clarify', 'on_missing', 'use_actor_scope', 'denies', 'takes p'],
  ['clarify', 'on_missing', 'app_select_or_clarify', 'asks', 'asks'],
  ['clarify', 'on_missing', 'deny', 'denies', 'denies'],
  ['clarify', 'on_missing', 'deny_or_clarify', 'denies', 'denies'],
  ['clarify', 'on_missing', 'omit', 'omits', 'omits'],

  ['clarify', 'on_ambiguous', 'clarify', 'asks c1 c2', 'asks c1 c2'],
  ['clarify', 'on_ambiguous', 'use_default', 'takes d', 'takes d'],
  ['clarify', 'on_ambiguous', 'use_actor_scope', 'denies', 'takes p'],
  ['clarify', 'on_ambiguous', 'app_select_or_clarify', 'asks c1 c2', 'asks c1 c2'],
  ['clarify', 'on_ambiguous', 'deny', 'denies', 'denies'],
  ['clarify', 'on_ambiguous', 'deny_or_clarify', 'asks c1 c2', 'asks c1 c2'],
  ['clarify', 'on_ambiguous', 'omit', 'omits', 'omits'],

  ['clarify', 'on_unresolved', 'clarify', 'asks', 'asks'],
  ['clarify', 'on_unresolved', 'use_default', 'takes d', 'takes d'],
  ['clarify', 'on_unresolved', 'use_actor_scope', 'denies', 'takes p'],
  ['clarify', 'on_unresolved', 'app_select_or_clarify', 'asks', 'asks'],
  ['clarify', 'on_unresolved', 'deny', 'denies', 'denies'],
  ['clarify', 'on_unresolved', 'deny_or_clarify', 'denies', 'denies'],
  ['clarify', 'on_unresolved', 'omit', 'omits', 'omits'],
];

/**
 * The modes without any hook. With a closed set (`closed_values`, `actor_policy`) or with a resolver, which
 * takes "known" for "p", finds c1 and c2 for "several", and knows nothing else.
 */
// biome-ignore format: one line a case
export const BARE: readonly (readonly [
  mode: ResolutionMode,
  sent: string | undefined,
  withoutPolicy: Outcome,
  withPolicy: Outcome,
])[] = [
  ['closed_values', undefined, 'refuses', 'refuses'],
  ['closed_values', 'p', 'takes p', 'takes p'],
  ['closed_values', 'known', 'denies', 'denies'],

  ['backend_resolved', undefined, 'refuses', 'refuses'],
  ['backend_resolved', 'known', 'takes p', 'takes p'],
  ['backend_resolved', 'several', 'asks c1 c2', 'asks c1 c2'],
  ['backend_resolved', 'unknown', 'denies', 'denies'],

  ['actor_policy', undefined, 'refuses', 'takes p'],
  ['actor_policy', 'p', 'denies', 'denies'],

  ['actor_policy_or_explicit', undefined, 'refuses', 'takes p'],
  ['actor_policy_or_explicit', 'known', 'denies', 'takes p'],
  ['actor_policy_or_explicit', 'several', 'asks c1 c2', 'asks c1 c2'],
  ['actor_policy_or_explicit', 'unknown', 'denies', 'denies'],

  ['app_selected', undefined, 'refuses', 'refuses'],
  ['app_selected', 'known', 'takes p', 'takes p'],
  ['app_selected', 'several', 'asks c1 c2', 'asks c1 c2'],
  ['app_selected', 'unknown', 'denies', 'denies'],

  ['explicit_only', undefined, 'refuses', 'refuses'],
  ['explicit_only', 'known', 'takes p', 'takes p'],
  ['explicit_only', 'several', 'asks c1 c2', 'asks c1 c2'],
  ['explicit_only', 'unknown', 'denies', 'denies'],

  ['clarify', undefined, 'asks', 'asks'],
  ['clarify', 'known', 'takes p', 'takes p'],
  ['clarify', 'several', 'asks c1 c2', 'asks c1 c2'],
  ['clarify', 'unknown', 'denies', 'denies'],
];

/** Hooks of an input that has no resolver, and no closed set unless its mode needs one: why it is a fault. */
// biome-ignore format: one line a case
export const UNEQUIPPED: readonly (readonly [
  mode: ResolutionMode,
  hook: Hook,
  fault: string | undefined,
])[] = [
  ['closed_values', 'on_missing', undefined],
  ['closed_values', 'on_ambiguous', 'mode "closed_values" asks no resolver'],
  ['closed_values', 'on_unresolved', undefined],
  ['backend_resolved', 'on_missing', 'mode "backend_resolved" needs a resolver_ref or a catalog_ref'],
  ['backend_resolved', 'on_ambiguous', 'mode "backend_resolved" needs a resolver_ref or a catalog_ref'],
  ['backend_resolved', 'on_unresolved', 'mode "backend_resolved" needs a resolver_ref or a catalog_ref'],
  ['actor_policy', 'on_missing', undefined],
  ['actor_policy', 'on_ambiguous', 'mode "actor_policy" asks no resolver'],
  ['actor_policy', 'on_unresolved', 'mode "actor_policy" asks no resolver, and there are no allowed_values'],
  ['actor_policy_or_explicit', 'on_missing', undefined],
  ['actor_policy_or_explicit', 'on_ambiguous', 'the input names no resolver'],
  ['actor_policy_or_explicit', 'on_unresolved', undefined],
  ['app_selected', 'on_missing', undefined],
  ['app_selected', 'on_ambiguous', 'the input names no resolver'],
  ['app_selected', 'on_unresolved', 'the input names no resolver, and there are no allowed_values'],
  ['explicit_only', 'on_missing', undefined],
  ['explicit_only', 'on_ambiguous', 'the input names no resolver'],
  ['explicit_only', 'on_unresolved', 'the input names no resolver, and there are no allowed_values'],
  ['clarify', 'on_missing', undefined],
  ['clarify', 'on_ambiguous', 'the input names no resolver'],
  ['clarify', 'on_unresolved', 'the input names no resolver, and there are no allowed_values'],
];

/**
 * Rollback windows: how long a transactional call can be undone by calling its compensation.
 *
 * The call and its undoing are tied by the values that both have, for one root principal. A
 * compensation with values that no call of this service left behind is its handler's business.
 *
 * @module
 */

import {
  closedWindow,
  compensationParameters,
  rollbackDigest,
  rollbackNames,
  windowEnd,
} from '../domain/compensation.ts';
import type { Capability } from '../protocol/capability.ts';
import type { Failure } from '../protocol/failure.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { RollbackRecord } from '../storage/composition-store.ts';
import type { Store } from '../storage/store.ts';
import type { TokenCaller } from './caller.ts';
import { capabilityOf } from './definition.ts';
import type { Parts } from './parts.ts';

/** How a call ended, as far as its undoing needs it. */
export interface UndoableCall {
  readonly outcome: string;
  readonly parameters: JsonObject;
  readonly output?: JsonObject | undefined;
}

/** What is kept with a call that completed and can be undone for a while. */
export function rollbackOf(
  { definition, store }: Parts,
  { root_principal }: TokenCaller,
  capability: Capability,
  { outcome, parameters, output }: UndoableCall,
): RollbackRecord | undefined {
  const until = windowEnd(capability, store.now());
  const compensation = capabilityOf(definition, capability.side_effect.compensation ?? '');
  if (outcome !== 'completed' || !output || !until || !compensation) return undefined;
  const values = compensationParameters(compensation, { parameters, output });
  const digest = rollbackDigest(rollbackNames(capability, compensation), values);
  return { capability: compensation.name, root_principal, digest, until };
}

/** Refuses a compensation that comes too late for every call it could undo. */
export function closedRollback(
  { definition, store }: Parts,
  { root_principal }: TokenCaller,
  capability: Capability,
  parameters: JsonObject,
): Promise<Failure | undefined> | undefined {
  const ties = definition.rollbacks.get(capability.name);
  return ties && closedFor(store, ties, { capability, root_principal, parameters });
}

async function closedFor(
  store: Store,
  ties: readonly (readonly string[])[],
  call: { capability: Capability; root_principal: string; parameters: JsonObject },
): Promise<Failure | undefined> {
  const { capability, root_principal, parameters } = call;
  const digests = new Set(ties.map((names) => rollbackDigest(names, parameters)));
  let latest: Date | undefined;
  for (const digest of digests) {
    const key = { capability: capability.name, root_principal, digest };
    const until = await store.rollbackUntil(key);
    if (until && (!latest || until > latest)) latest = until;
  }
  return closedWindow(capability, latest, store.now());
}

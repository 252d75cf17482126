/**
 * What operators do in the simulated store: freezes, and the end of all that callers hold beside their tokens.
 *
 * @module
 */

import type { FreezeKey } from '../../../src/domain/authority/freeze.ts';
import type { ActorEnded, FreezeRecord } from '../../../src/storage/port/records.ts';
import type { FreezePage, FreezePlace, OperatorStore } from '../../../src/storage/port/store.ts';
import { freezeKeyText } from './admission.ts';
import { copyOf } from './copy.ts';
import type { MemoryDatabase } from './database.ts';
import { keyText, timeOrder } from './table.ts';
import { endedActor } from './tokens.ts';

export function freeze(
  database: MemoryDatabase,
  ...[record, entry, actor]: Parameters<OperatorStore['freeze']>
): 'frozen' | ActorEnded {
  const ended = endedActor(database, actor, record.frozen_at);
  if (ended) return ended;
  if ((record.what === 'service') !== (record.target === '')) {
    throw new Error(`Cannot freeze ${record.what} "${record.target}": there is no such target`);
  }
  database.freezes.put(freezeKeyText(record), copyOf(record));
  database.log.append(entry);
  return 'frozen';
}

/** A freeze that has expired by `now` froze nothing any more. */
export function unfreeze(
  database: MemoryDatabase,
  now: Date,
  ...[target, entry, actor]: Parameters<OperatorStore['unfreeze']>
): boolean | ActorEnded {
  const ended = endedActor(database, actor, now);
  if (ended) return ended;
  const key = freezeKeyText(target);
  const frozen = database.freezes.get(key);
  database.freezes.remove(key);
  database.log.append(entry);
  return frozen !== undefined && (frozen.until === undefined || frozen.until > now);
}

export function freezesUnder(
  { freezes }: MemoryDatabase,
  keys: readonly FreezeKey[],
): FreezeRecord[] {
  return keys.flatMap((key) => copyOf(freezes.get(freezeKeyText(key))) ?? []);
}

export function listFreezes(
  { freezes }: MemoryDatabase,
  ...[limit, after]: Parameters<OperatorStore['listFreezes']>
): FreezePage {
  const rows = Array.from(freezes.values())
    .sort((one, other) => byAge(other, one))
    .filter((row) => !after || byAge(row, after) < 0);
  const page = rows.slice(0, limit).map(copyOf);
  return { freezes: page, next: rows.length > limit ? copyOf(page.at(-1)) : undefined };
}

function byAge(one: FreezePlace, other: FreezePlace): number {
  const ids = [keyText(one.what, one.target), keyText(other.what, other.target)] as const;
  return timeOrder(one.frozen_at, other.frozen_at, ids);
}

export function voidPromises(database: MemoryDatabase): void {
  const { grants, bindings, keys, sessions, identities, calls } = database;
  for (const grant of [...grants.values()]) {
    grants.put(grant.grant_id, { ...grant, uses: grant.max_uses });
  }
  for (const { binding_id } of [...bindings.values()]) bindings.remove(binding_id);
  for (const { record } of [...keys.values()]) {
    keys.remove(keyText(record.chain, record.capability, record.key));
  }
  for (const { session } of [...sessions.values()]) sessions.remove(session.session_id);
  for (const { identity_id } of [...identities.values()]) identities.remove(identity_id);
  for (const call of [...calls.values()]) {
    if (!call.composed) continue;
    calls.put(call.intent.operation_id, { ...call, composed: undefined, steps: [] });
  }
}

/**
 * Entries: fills in what every entry of this service has in common.
 *
 * @module
 */

import { type EntryFields, type EntryRecord, entryOf, SALT_BYTES } from '../../domain/log/entry.ts';
import { amended } from '../../domain/values/amended.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { Caller } from './caller.ts';
import type { Parts } from './parts.ts';
import { newEntryId } from './random.ts';

type Said = Omit<
  EntryFields,
  'entry_id' | 'timestamp' | 'actor_key' | 'root_principal' | 'success'
>;

/** An entry about what `caller` did or was refused, now. */
export function entryBy(
  { store, platform }: Pick<Parts, 'store' | 'platform'>,
  caller: Pick<Caller, 'principal' | 'root_principal'>,
  said: Said,
): EntryRecord {
  const now = store.now();
  const fields: EntryFields = amended(said, {
    entry_id: newEntryId(platform, now),
    actor_key: caller.principal,
    root_principal: caller.root_principal,
    success: said.event_class.endsWith('_success'),
    timestamp: now.toISOString(),
  });
  return entryOf(fields, platform.random(SALT_BYTES));
}

/** An act of authority: it makes, ends or decides something, so it is high risk by nature. */
export function actEntry(
  parts: Pick<Parts, 'store' | 'platform'>,
  caller: Pick<Caller, 'principal' | 'root_principal'>,
  act: Omit<Said, 'event_class' | 'state'> & { failure?: Failure | undefined },
): EntryRecord {
  const { failure, ...said } = act;
  const told: Said = amended(said, {
    event_class: failure ? 'high_risk_failure' : 'high_risk_success',
    state: failure ? 'refused' : 'completed',
    failure_type: failure?.type,
  });
  return entryBy(parts, caller, told);
}

/**
 * Entries: fills in what every entry of this service has in common.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { isDuration } from '../domain/duration.ts';
import { type EntryFields, type EntryRecord, entryOf, SALT_BYTES } from '../domain/entry.ts';
import { ID_BYTES, idOf } from '../domain/ids.ts';
import type { Failure } from '../protocol/failure.ts';
import type { Caller } from './caller.ts';
import type { Parts } from './parts.ts';

type Said = Omit<
  EntryFields,
  'entry_id' | 'timestamp' | 'actor_key' | 'root_principal' | 'success'
>;

/** An entry about what `caller` did or was refused, now. */
export function entryBy(
  { store }: Pick<Parts, 'store'>,
  caller: Pick<Caller, 'principal' | 'root_principal'>,
  said: Said,
): EntryRecord {
  const fields: EntryFields = {
    ...said,
    entry_id: idOf('ent_', randomBytes(ID_BYTES.ent_)),
    actor_key: caller.principal,
    root_principal: caller.root_principal,
    success: said.event_class.endsWith('_success'),
    timestamp: store.now().toISOString(),
    retention: retentionOf(said),
  };
  return entryOf(fields, randomBytes(SALT_BYTES));
}

/** As the capability declares it, in the detail; it decides when the contents are erased. */
function retentionOf({ detail }: Said): string | undefined {
  const { retention } = detail ?? {};
  return isDuration(retention) ? retention : undefined;
}

/** An act of authority: it makes, ends or decides something, so it is high risk by nature. */
export function actEntry(
  parts: Pick<Parts, 'store'>,
  caller: Pick<Caller, 'principal' | 'root_principal'>,
  act: Omit<Said, 'event_class' | 'state'> & { failure?: Failure | undefined },
): EntryRecord {
  const { failure, ...said } = act;
  return entryBy(parts, caller, {
    ...said,
    event_class: failure ? 'high_risk_failure' : 'high_risk_success',
    state: failure ? 'refused' : 'completed',
    failure_type: failure?.type,
  });
}

/**
 * Entries: fills in the fields that every entry of this service has.
 *
 * @module
 */

import { type EntryFields, type EntryRecord, entryOf, SALT_BYTES } from '../../domain/log/entry.ts';
import { amended } from '../../domain/values/amended.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { newEntryId } from '../operations/random.ts';
import type { Caller } from './caller.ts';

export type EntryContent = Omit<
  EntryFields,
  'entry_id' | 'timestamp' | 'actor_key' | 'root_principal' | 'success'
>;

/** An entry, dated now, about an act of `caller` or its refusal. */
export function entryBy(
  { store, platform }: Pick<ServiceParts, 'store' | 'platform'>,
  caller: Pick<Caller, 'principal' | 'root_principal'>,
  content: EntryContent,
): EntryRecord {
  const now = store.now();
  // Every field by its name: each call passes here, and copying unknown members takes longer.
  const fields: Required<EntryFields> = {
    entry_id: newEntryId(platform, now),
    entry_type: content.entry_type,
    event_class: content.event_class,
    success: content.event_class.endsWith('_success'),
    state: content.state,
    timestamp: timeText(now),
    actor_key: caller.principal,
    root_principal: caller.root_principal,
    invocation_id: content.invocation_id,
    capability: content.capability,
    failure_type: content.failure_type,
    client_reference_id: content.client_reference_id,
    task_id: content.task_id,
    parent_invocation_id: content.parent_invocation_id,
    upstream_service: content.upstream_service,
    approval_request_id: content.approval_request_id,
    approval_grant_id: content.approval_grant_id,
    token_id: content.token_id,
    parameters_digest: content.parameters_digest,
    cost_actual: content.cost_actual,
    stream_summary: content.stream_summary,
    detail: content.detail,
    retention: content.retention,
  };
  return entryOf(fields, platform.random(SALT_BYTES), now);
}

let lastTime = Number.NaN;
let lastText = '';

/** The calls of one commit share few milliseconds, so the last text often serves again. */
function timeText(now: Date): string {
  if (now.getTime() !== lastTime) {
    lastText = now.toISOString();
    lastTime = now.getTime();
  }
  return lastText;
}

/**
 * The entry of an act of authority. Such an act creates, ends or decides authority, so it is high
 * risk.
 */
export function actEntry(
  parts: Pick<ServiceParts, 'store' | 'platform'>,
  caller: Pick<Caller, 'principal' | 'root_principal'>,
  act: Omit<EntryContent, 'event_class' | 'state'> & { failure?: Failure | undefined },
): EntryRecord {
  const { failure, ...facts } = act;
  const content: EntryContent = amended(facts, {
    event_class: failure ? 'high_risk_failure' : 'high_risk_success',
    state: failure ? 'refused' : 'completed',
    failure_type: failure?.type,
  });
  return entryBy(parts, caller, content);
}

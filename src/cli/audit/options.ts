/**
 * The filters of `writ audit query` and `writ audit tail`: those of POST /svc/audit, by the names of options.
 *
 * @module
 */

import { EntryType } from '../../protocol/audit.ts';
import { choice, type Given, value } from '../shell/options.ts';

export const FILTER_OPTIONS = {
  capability: value('<name>', 'entries of this capability'),
  since: value('<time>', 'entries from this time on, such as 2026-01-31T12:00:00Z'),
  'invocation-id': value('<id>', 'entries of this invocation'),
  'client-reference-id': value('<id>', 'entries with this reference of the caller'),
  'task-id': value('<id>', 'entries of this task'),
  'parent-invocation-id': value('<id>', 'entries of calls that this invocation made'),
  type: choice([...EntryType.options, 'all'], 'entries of this type (default: invocation)'),
} as const;

export type FiltersGiven = Given<typeof FILTER_OPTIONS>;

/** Fields of the request by their wire names. */
export function givenFilters(given: FiltersGiven) {
  return {
    capability: given.capability,
    since: given.since,
    invocation_id: given['invocation-id'],
    client_reference_id: given['client-reference-id'],
    task_id: given['task-id'],
    parent_invocation_id: given['parent-invocation-id'],
    entry_type: given.type,
  };
}

export type Filters = ReturnType<typeof givenFilters>;

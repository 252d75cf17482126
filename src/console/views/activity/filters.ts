/**
 * The filters of Activity: in the address, so that a search can be linked, and as the service takes them.
 *
 * @module
 */

import type { EntryType } from '../../../protocol/audit.ts';
import type { InputOf } from '../../../protocol/operations.ts';

/** Each has the name of its field in the query of the log, or of `activity.entries`. */
const FILTERS = [
  'entry_type',
  'capability',
  'since',
  'invocation_id',
  'client_reference_id',
  'task_id',
  'parent_invocation_id',
  'token_id',
] as const;

type FilterName = (typeof FILTERS)[number];
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

/** What the types of entries are called here. */
export const TYPE_WORDS = {
  invocation: 'Calls',
  replay: 'Repeated calls',
  dry_run: 'Dry runs',
  settlement: 'Late outcomes',
  compensation: 'Undone steps',
  issuance: 'Delegations',
  revocation: 'Ended delegations',
  approval_request: 'Approval requests',
  approval_decision: 'Approval decisions',
  operator: 'Acts of operators',
  session: 'Sign-in and passkeys',
} as const satisfies Record<EntryType, string>;

export function queryFilters(query: URLSearchParams): Filters {
  const given = FILTERS.map((name) => [name, query.get(name)?.trim() ?? ''] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ''));
}

/** Entries of one page. */
export const PAGE_SIZE = 50;

/** Without a type, the console shows entries of all types. The service refuses a type that it does not know. */
export function filterQuery(
  { entry_type, ...rest }: Omit<Filters, 'token_id'>,
  cursor: string | undefined,
): InputOf<'audit.query'> {
  return {
    ...rest,
    entry_type: (entry_type ?? 'all') as EntryType | 'all',
    limit: PAGE_SIZE,
    ...(cursor !== undefined && { cursor }),
  };
}

/** How far back a search has looked, by its cursor: the number of the oldest entry that was read. */
export function searchedTo(cursor: string): number | undefined {
  return /^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined;
}

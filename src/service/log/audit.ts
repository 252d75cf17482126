/**
 * Audit queries: a caller reads its own entries, newest first, with what proves them.
 *
 * The log room has three subjects. Reading: this file, `checkpoints.ts` and `proofs.ts`. Sealing
 * goes in this order:
 *
 * 1. `sealer.ts` decides when to seal.
 * 2. `compare-log.ts` compares the log with everything that was signed before.
 * 3. `seal.ts` signs the tree and stores the checkpoint.
 * 4. `witness.ts` asks witnesses to cosign it.
 *
 * Upkeep: `retention.ts` erases old contents, and `recover-log.ts` is how an operator goes on after
 * signed entries were lost.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import { entryView } from '../../domain/log/entry.ts';
import { amended } from '../../domain/values/amended.ts';
import type { AuditEntry, AuditQuery } from '../../protocol/audit.ts';
import type { EntryQuery } from '../../storage/port/store.ts';
import { answered, inLane } from '../caller/audited.ts';
import { type Caller, callerOf, holdsScope } from '../caller/caller.ts';
import { type Answer, type Ask, requestOf } from '../operations/operations.ts';
import { createPage, cursorPosition } from '../operations/page.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Slices } from '../pace/slices.ts';

/** Entries in one read: about a millisecond of an embedded store. */
const READ_MAX = 32;

/**
 * Reads for one answer. The longest page needs fewer. A query that finds nothing in so many reads
 * is answered with a cursor to continue from.
 */
const READS_MAX = 256;

/** A principal sees its own entries. An operator with the audit scope sees all. */
export async function queryAudit(parts: ServiceParts, ask: Ask): Promise<Answer> {
  return answered(parts, await callerOf(parts, ask), async (caller) => {
    return entriesFor(parts, { caller, ask }, requestOf('audit.query', ask));
  });
}

type Filters = Omit<EntryQuery, 'limit'>;

/** Chooses among the entries that a query finds. Waits for a turn before it reads the store. */
type Choice = (entry: StoredEntry, slices: Slices) => Promise<boolean>;

/** One page of the entries that a caller may see. */
export function entriesFor(
  parts: ServiceParts,
  { caller, ask }: { readonly caller: Caller; readonly ask: Ask },
  query: AuditQuery,
  choice?: Choice,
): Promise<Answer> {
  const search = { query, filters: filtersOf(caller, query), choice };
  return inLane(parts, caller, ask, (slices) => readPage(parts, slices, search));
}

interface Search {
  readonly query: AuditQuery;
  readonly filters: Filters;
  readonly choice: Choice | undefined;
}

function filtersOf(caller: Caller, query: AuditQuery): Filters {
  return {
    rootPrincipal: holdsScope(caller, 'operator:audit') ? undefined : caller.root_principal,
    entryType: query.entry_type === 'all' ? undefined : (query.entry_type ?? 'invocation'),
    capability: query.capability,
    invocationId: query.invocation_id,
    clientReferenceId: query.client_reference_id,
    taskId: query.task_id,
    parentInvocationId: query.parent_invocation_id,
    since: query.since ? new Date(query.since) : undefined,
    before: cursorPosition(query.cursor, readCursor),
  };
}

async function readPage(
  { store }: ServiceParts,
  slices: Slices,
  { query, filters, choice }: Search,
): Promise<Answer> {
  const page = createPage<AuditEntry>('entries', query.limit);
  let { before } = filters;
  let isFull = false;
  for (let reads = 0; reads < READS_MAX && !isFull; reads++) {
    // One more than the limit shows whether there is a next page.
    const limit = Math.min(READ_MAX, query.limit + 1 - page.count);
    await slices.turn();
    const found = await store.queryEntries({ ...filters, before, limit });
    const chosen = choice ? await chosenFrom(found.entries, slices, choice) : found.entries;
    await slices.each(chosen, (stored) => {
      isFull = !page.add(viewOf(stored, query));
      return !isFull;
    });
    if (!isFull) before = found.next;
    if (before === undefined) break;
  }
  const next = isFull ? page.last?.sequence : before;
  const next_cursor = next === undefined ? null : String(next);
  return page.answer({ count: page.count, next_cursor });
}

async function chosenFrom(
  entries: readonly StoredEntry[],
  slices: Slices,
  choice: Choice,
): Promise<StoredEntry[]> {
  const chosen: StoredEntry[] = [];
  for (const entry of entries) {
    if (await choice(entry, slices)) chosen.push(entry);
  }
  return chosen;
}

function viewOf(stored: StoredEntry, { include }: AuditQuery): AuditEntry {
  const view = entryView(stored);
  const { leaf, personal } = stored;
  if (include !== 'leaf' || !leaf) return view;
  const proved = amended(view, { leaf: base64Of(leaf) });
  return personal ? amended(proved, { personal: base64Of(personal) }) : proved;
}

function base64Of({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('base64');
}

/** The sequence number to continue below. Entries above it were sent or do not match. */
function readCursor(cursor: string): number | undefined {
  return /^(?:0|[1-9]\d{0,14})$/.test(cursor) ? Number(cursor) : undefined;
}

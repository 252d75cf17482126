/**
 * Audit: the caller's own trail, newest first, each entry with what proves it.
 *
 * @module
 */

import { toBase64 } from '../domain/base64.ts';
import type { StoredEntry } from '../domain/entry.ts';
import { entryView } from '../domain/entry.ts';
import { failure, Refusal } from '../domain/failure.ts';
import type { AuditAnswer, AuditQuery } from '../protocol/audit.ts';
import { answered } from './audited.ts';
import { callerOf, holds } from './caller.ts';
import { type Ask, requestOf } from './operations.ts';
import type { Parts } from './parts.ts';

/** A principal sees its own trail; an operator with the audit scope sees every trail. */
export async function queryAudit(parts: Parts, ask: Ask): Promise<AuditAnswer> {
  return answered(parts, await callerOf(parts, ask), async (caller) => {
    const query = requestOf('audit.query', ask);
    const everything = holds(caller, 'operator:audit');
    const stored = await parts.store.queryEntries({
      rootPrincipal: everything ? undefined : caller.root_principal,
      entryType: query.entry_type === 'all' ? undefined : (query.entry_type ?? 'invocation'),
      capability: query.capability,
      invocationId: query.invocation_id,
      clientReferenceId: query.client_reference_id,
      taskId: query.task_id,
      parentInvocationId: query.parent_invocation_id,
      since: query.since ? new Date(query.since) : undefined,
      before: placeOf(query.cursor),
      // One more than asked for tells whether there is a next page.
      limit: query.limit + 1,
    });
    const page = stored.slice(0, query.limit);
    const last = stored.length > page.length ? page.at(-1) : undefined;
    return {
      entries: page.map((entry) => viewOf(entry, query)),
      count: page.length,
      next_cursor: last ? String(last.sequence) : null,
    };
  });
}

function viewOf(stored: StoredEntry, { include }: AuditQuery) {
  const { leaf, personal } = include === 'leaf' ? stored : {};
  return {
    ...entryView(stored),
    ...(leaf && { leaf: toBase64(leaf) }),
    ...(personal && { personal: toBase64(personal) }),
  };
}

/** The place after which a page goes on: the sequence of the last entry of the page before. */
function placeOf(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  if (/^(?:0|[1-9]\d{0,14})$/.test(cursor)) return Number(cursor);
  const detail = `Cannot go on from "${cursor}": expected a cursor of an earlier page`;
  throw new Refusal(failure('invalid_parameters', detail));
}

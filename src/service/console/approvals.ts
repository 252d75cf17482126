/**
 * Approvals in the console: the inbox of a person.
 *
 * The rules of the operations decide what a person sees: the inbox has what the person may decide. Texts of callers
 * stay as they are.
 *
 * @module
 */

import { isVoter } from '../../domain/authority/approval-request.ts';
import { visibleObject, visibleText } from '../../domain/wire/visible-text.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { ConsoleRequest } from '../../protocol/console/methods.ts';
import type { Inbox, InboxItem } from '../../protocol/console/views.ts';
import type { ApprovalRecord } from '../../storage/port/records.ts';
import type { PendingPlace } from '../../storage/port/store.ts';
import { handsIn, notApprover, titleText } from '../approval/approvers.ts';
import { needsPasskey } from '../approval/confirmation.ts';
import { approverScope } from '../author/approval-policy.ts';
import { inLane } from '../caller/audited.ts';
import { type Asking, type Caller, holdsScope } from '../caller/caller.ts';
import { cursorPosition } from '../operations/page.ts';
import type { Slices } from '../pace/slices.ts';
import type { ConsoleParts } from './parts.ts';

/** Requests in one read. Each may have parameters of 256 KiB. */
const READ_MAX = 4;

/** Reads for one answer. A longer list continues on the next page. */
const READS_MAX = 100;

export async function inboxOf(
  parts: ConsoleParts,
  { limit, cursor }: ConsoleRequest<'inbox'>,
  { caller, ask }: Asking,
): Promise<Inbox> {
  const capabilities = decidable(parts, caller);
  const after = cursorPosition(cursor, readCursor);
  if (capabilities.length === 0) return { requests: [], next_cursor: null };
  return inLane(parts, caller, ask, async (slices) => {
    const requests: InboxItem[] = [];
    let position = after;
    for (let reads = 0; reads < READS_MAX; reads++) {
      await slices.turn();
      const now = parts.store.now();
      const query = { now, capabilities, limit: READ_MAX, after: position };
      const found = await parts.store.pendingApprovals(query);
      for (const request of await decidableOf(parts, caller, found.requests)) {
        // One more than the limit shows that there is a next page.
        if (requests.length === limit) return { requests, next_cursor: cursorOf(position) };
        requests.push(await itemOf(parts, caller, request, slices));
        position = request;
      }
      position = found.next;
      if (position === undefined) break;
    }
    return { requests, next_cursor: cursorOf(position) };
  });
}

/** Those that the person may decide. */
async function decidableOf<Asked extends Parameters<typeof notApprover>[2]>(
  parts: ConsoleParts,
  caller: Caller,
  requests: readonly Asked[],
): Promise<Asked[]> {
  const found: Asked[] = [];
  for (const each of requests) if (!(await notApprover(parts, caller, each))) found.push(each);
  return found;
}

/** The capabilities whose requests the person may decide. */
export function decidable({ definition }: ConsoleParts, caller: Caller): string[] {
  return [...definition.catalog.capabilities.values()]
    .filter(({ name, approval }) => approval && holdsScope(caller, approverScope(name)))
    .map(({ name }) => name);
}

async function itemOf(
  parts: ConsoleParts,
  caller: Caller,
  request: ApprovalRecord,
  slices: Slices,
): Promise<InboxItem> {
  // The store was asked for capabilities of the catalog only.
  const capability = parts.definition.catalog.capabilities.get(request.capability) as Capability;
  const { approvals } = request;
  return {
    approval_request_id: request.approval_request_id,
    capability: request.capability,
    title: titleText(capability, request),
    side_effect: capability.side_effect.type,
    chain: handsIn(request),
    cost: request.cost ?? null,
    parameters_count: Object.keys(request.parameters).length,
    has_hidden: await hasHidden(request, slices),
    needs_passkey: needsPasskey(parts, request),
    approvals: approvals.length,
    approvals_required: request.approvals_required,
    has_approved: isVoter(approvals, caller.root_principal),
    created_at: request.created_at.toISOString(),
    expires_at: request.expires_at.toISOString(),
  };
}

/** Whether any text of the request has characters that are invisible or imitate others. */
async function hasHidden(
  { parameters, preview = {}, note = '', requested_through }: ApprovalRecord,
  slices: Slices,
): Promise<boolean> {
  const texts = [note, ...requested_through];
  if (texts.some((text) => visibleText(text) !== text)) return true;
  const shown = await slices.finish(visibleObject({ parameters, preview }));
  // The page shows the lines of a text, so a line feed is not hidden.
  const text = JSON.stringify(shown).replaceAll('⟨U+000A⟩', '\\n');
  return text !== JSON.stringify({ parameters, preview });
}

/** Looks for one count. A person with more pending requests than were looked at sees too small a number. */
const COUNT_READS_MAX = 5;

/** The number of pending requests that the person may decide, at most `most`. */
export async function countPending(
  parts: ConsoleParts,
  caller: Caller,
  most: number,
): Promise<number> {
  const { store } = parts;
  const capabilities = decidable(parts, caller);
  if (capabilities.length === 0) return 0;
  const now = store.now();
  let count = 0;
  let after: PendingPlace | undefined;
  for (let reads = 0; reads < COUNT_READS_MAX; reads++) {
    const page = await store.pendingSides({ now, capabilities, limit: most, after });
    count += (await decidableOf(parts, caller, page.requests)).length;
    after = page.next;
    if (after === undefined || count >= most) break;
  }
  return Math.min(count, most);
}

function cursorOf(position: PendingPlace | undefined): string | null {
  return position ? `${position.expires_at.getTime()}-${position.approval_request_id}` : null;
}

function readCursor(cursor: string): PendingPlace | undefined {
  const [, time, id] = /^(\d{1,15})-(apr_[0-9a-f]{32})$/.exec(cursor) ?? [];
  if (time === undefined || id === undefined) return undefined;
  return { expires_at: new Date(Number(time)), approval_request_id: id };
}

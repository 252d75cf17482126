/**
 * `writ approvals list`: the requests that the caller may decide.
 *
 * @module
 */

import type { Client } from '../../client/index.ts';
import { personOf } from '../../domain/decision/values.ts';
import { titleOf } from '../../domain/sign-in/consent-words.ts';
import { exact } from '../../domain/values/time-words.ts';
import { visibleText } from '../../domain/wire/visible-text.ts';
import { APPROVAL_PAGE_MAX, type ApprovalRequest } from '../../protocol/approval.ts';
import { answerOrExit, clientFor, SERVICE_OPTIONS } from '../login/session.ts';
import { type Io, leaf } from '../shell/command.ts';
import { choice, number } from '../shell/options.ts';
import { type Column, printJson, printTable } from '../shell/output.ts';

const LIMIT_DEFAULT = 50;

const STATUSES = ['pending', 'approved', 'denied', 'expired', 'all'] as const;

const COLUMNS: readonly Column<ApprovalRequest>[] = [
  { heading: 'id', cell: ({ approval_request_id }) => approval_request_id },
  { heading: 'what', cell: ({ title, capability }) => title ?? titleOf(capability) },
  { heading: 'asks', cell: askedBy },
  { heading: 'approved', cell: approvedOf },
  {
    heading: 'expires',
    cell: ({ status, expires_at }) => (status === 'pending' ? exact(expires_at) : status),
  },
];

/** "agent:planner ← ann": the one who acts comes first. */
export function askedBy({ requested_through, requester }: ApprovalRequest): string {
  const { subject, root_principal } = requester;
  const names = requested_through ?? [...new Set([subject, root_principal])];
  return names.map((name) => visibleText(personOf(name))).join(' ← ');
}

function approvedOf({ approvals, approvals_required }: ApprovalRequest): string {
  return `${approvals.length} of ${approvals_required}`;
}

export const listCommand = leaf({
  name: 'list',
  summary: 'list the requests that you may decide',
  about:
    'Lists the requests that you may decide, the newest first. Needs the scope approver:<capability>.',
  options: {
    status: choice(STATUSES, 'which ones (default: pending)'),
    limit: number('<n>', `how many at most (default: ${LIMIT_DEFAULT})`),
    ...SERVICE_OPTIONS,
  },
  examples: [['writ approvals list', 'what waits for you at the service of your login']],
  cannot: 'list approval requests',
  async run(given, io) {
    const client = await clientFor(given, io);
    const status = given.status ?? 'pending';
    const limit = given.limit ?? LIMIT_DEFAULT;
    const requests = await requestsAt(client, { status, limit }, given, io);
    if (given.json) for (const each of requests) printJson(io, each);
    else printTable(io, requests, COLUMNS, 'No request waits for you.');
  },
});

interface Wanted {
  readonly status: (typeof STATUSES)[number];
  readonly limit: number;
  /** Ends the reading. */
  readonly signal?: AbortSignal;
}

/** Bounds how long a service with pages of nothing keeps the command. */
const PAGES_MAX = 100;

/** Reads pages until the limit. A page may be shorter than asked for. */
export async function requestsAt(
  client: Client,
  { status, limit, signal }: Wanted,
  given: { readonly json: boolean },
  io: Io,
): Promise<ApprovalRequest[]> {
  const found: ApprovalRequest[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX && found.length < limit; pages++) {
    const asked = {
      ...(status !== 'all' && { status }),
      limit: Math.min(limit - found.length, APPROVAL_PAGE_MAX),
      ...(cursor !== undefined && { cursor }),
    };
    const reply = await client.ask('approval_requests.list', asked, { signal });
    const { approval_requests, next_cursor } = answerOrExit(reply, given, io);
    found.push(...approval_requests.slice(0, limit - found.length));
    if (next_cursor === null) break;
    cursor = next_cursor;
  }
  return found;
}

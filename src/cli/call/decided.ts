/**
 * Waits for the decision on an approval request, with repeated long polls.
 *
 * @module
 */

import type { Client, Refused } from '../../client/index.ts';
import { backoffMs } from '../../client/pace.ts';
import { printable } from '../../domain/wire/printable.ts';
import { type ApprovalRequest, WAIT_SECONDS_MAX } from '../../protocol/approval.ts';
import type { Failure } from '../../protocol/failure.ts';
import { failureExit } from '../login/session.ts';
import { CommandFault, EXIT_APPROVAL, EXIT_FOUND } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';
import { printJson } from '../shell/output.ts';

/** Milliseconds added to the timeout of a wait, so that its answer can arrive. */
const MARGIN_MS = 5_000;

/** Failures to reach the service in a row, after which the command gives up. */
const FAILURES_MAX = 5;

/** Resolves with the id of the grant. Rejects when the request is denied or expires; with --json it is printed first. */
export async function decided(
  client: Client,
  failure: Failure,
  { json }: { readonly json: boolean },
  io: Io,
): Promise<string> {
  const id = failure.approval_request_id ?? '';
  const url = failure.decision_url ? `: ${failure.decision_url}` : '';
  io.err(`${printable(`Waiting for the decision on ${id}${url}`)}\n`);
  let failures = 0;
  for (let turn = 0; ; turn += 1) {
    const reply = await client.ask(
      'approval_requests.get',
      { approval_request_id: id, prefer: `wait=${WAIT_SECONDS_MAX}` },
      { timeoutMs: WAIT_SECONDS_MAX * 1_000 + MARGIN_MS, retries: 0 },
    );
    failures = reply.ok ? 0 : failures + 1;
    const isOver = reply.ok && ['denied', 'expired'].includes(reply.answer.status);
    if (json && isOver) printJson(io, reply.answer);
    const grant = reply.ok ? grantOf(reply.answer) : mayWait(reply, failures);
    if (grant !== undefined) return grant;
    // A stopping service ends every wait early; without a pause this loop would flood it.
    await client.pause(backoffMs(Math.min(turn, 3)));
  }
}

/** The grant of a decided request; nothing while it is pending. */
function grantOf(request: ApprovalRequest): string | undefined {
  const { approval_request_id: id, status, grant_id, reason, decided_by } = request;
  if (status === 'pending') return undefined;
  if (status === 'approved' && grant_id) return grant_id;
  const by = decided_by ? ` by ${decided_by}` : '';
  const [why, exit] = {
    denied: [`${id} was denied${by}${reason ? `: ${reason}` : ''}`, EXIT_FOUND] as const,
    expired: [`${id} expired before a decision`, EXIT_APPROVAL] as const,
    approved: [`${id} is approved, and its grant is for another caller`, EXIT_FOUND] as const,
  }[status];
  throw new CommandFault(why, { exit });
}

/** A service that does not answer for a moment may be asked again. */
function mayWait({ failure, answer }: Refused, failures: number): undefined {
  if (failure.retry && failures < FAILURES_MAX) return undefined;
  throw new CommandFault(failure.detail, { exit: failureExit(failure, answer !== undefined) });
}

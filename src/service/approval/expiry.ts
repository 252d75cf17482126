/**
 * Expiry: closes each request that was not decided in time, once, with an entry for the requester
 * and a notice.
 *
 * The expiry time alone decides whether a request is expired. This task only records it.
 *
 * @module
 */

import { failure } from '../../domain/failure.ts';
import type { ApprovalRecord } from '../../storage/port/records.ts';
import { actEntry } from '../caller/entries.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { type Repeated, startRepeating } from '../pace/repeated.ts';
import { noticesOf } from './notices.ts';

/** In milliseconds: the longest delay of the entry and the notice. */
const LOOK_MS = 5_000;

/** Requests in one transaction. Each may have parameters of 256 KiB. */
const BATCH = 10;

export function startExpiry(parts: ServiceParts, everyMs: number = LOOK_MS): Repeated {
  const onError = (error: unknown) => parts.log.error({ err: error }, 'expiry failed');
  return startRepeating(parts.platform, () => expireAll(parts), everyMs, onError);
}

async function expireAll(parts: ServiceParts): Promise<void> {
  for (;;) {
    const expired = await parts.store.expireApprovals(parts.store.now(), BATCH, (request) =>
      consequenceOf(parts, request),
    );
    for (const { approval_request_id } of expired) parts.waits.wake(approval_request_id);
    if (expired.length > 0) parts.webhooks.nudge();
    if (expired.length < BATCH) return;
  }
}

function consequenceOf(parts: ServiceParts, request: ApprovalRecord) {
  const { subject: principal, root_principal, capability, approval_request_id } = request;
  const entry = actEntry(
    parts,
    { principal, root_principal },
    {
      entry_type: 'approval_decision',
      capability,
      approval_request_id,
      parameters_digest: request.parameters_digest,
      failure: failure('approval_request_expired', 'Cannot decide the request: it expired'),
      detail: { decision: 'expired', approvals: request.approvals.length },
    },
  );
  return { entry, deliveries: noticesOf(parts, 'expired', request) };
}

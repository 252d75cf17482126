/**
 * Settings of approval requests: how many may wait for a decision.
 *
 * @module
 */

import { wholeNumber } from './parts.ts';

const Requests = wholeNumber(2, 100_000);

/** In bytes. Half of it has room for the longest parameters and preview. */
const BYTES_MIN = 1_048_576;

export const ApprovalSettings = {
  max_open_approvals: Requests.default(1_000).describe(
    'How many approval requests of one root principal and its delegates may wait for a decision at the same time',
  ),
  max_open_approvals_per_chain: Requests.default(100).describe(
    'How many of them may come from one delegation of the root principal and everything below it; never more than half of `max_open_approvals`',
  ),
  max_open_approval_bytes: wholeNumber(BYTES_MIN, 1_073_741_824)
    .default(8_388_608)
    .describe(
      'How many bytes of parameters, previews and notes these requests of one root principal may keep; one delegation gets half of it',
    ),
};

export const APPROVAL_ENVIRONMENT = {
  max_open_approvals: 'WRIT_MAX_OPEN_APPROVALS',
  max_open_approvals_per_chain: 'WRIT_MAX_OPEN_APPROVALS_PER_CHAIN',
  max_open_approval_bytes: 'WRIT_MAX_OPEN_APPROVAL_BYTES',
} as const;

/**
 * Passkeys on the pages: a person's own, and the question that a passkey answers for one decision.
 *
 * @module
 */

import { grantTerms } from '../../domain/authority/grant.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import type { ConsoleRequest } from '../../protocol/console/methods.ts';
import type { Challenge } from '../../protocol/console/views.ts';
import {
  addressedRequest,
  closedRequest,
  notApprover,
  visibleRequest,
} from '../approval/approvers.ts';
import { frozenFor } from '../authority/freeze.ts';
import type { Caller } from '../caller/caller.ts';
import { decisionQuestion } from '../passkey/decision.ts';
import type { ConsoleParts } from './parts.ts';

/** The same rules as for the decision itself, so a person is not asked to sign what would be refused. */
export async function challengeFor(
  parts: ConsoleParts,
  caller: Caller,
  asked: ConsoleRequest<'decision.challenge'>,
): Promise<Challenge> {
  const find = asked.decision === 'deny' ? visibleRequest : addressedRequest;
  const request = await find(parts, caller, asked.approval_request_id);
  refuse(await notApprover(parts, caller, request));
  refuse(closedRequest(request, parts.store.now()));
  const approver = caller.root_principal;
  if (asked.decision === 'deny') return decisionQuestion(parts, { request, approver, terms: null });
  refuse(await frozenFor(parts, caller.root_principal));
  const { grant_type } = asked;
  if (!grant_type) {
    const detail = 'Cannot ask for a signature: an approval needs a grant_type';
    throw new Refusal(failure('invalid_parameters', detail));
  }
  const first = request.approvals[0]?.terms;
  const given = grantTerms(request.grant_policy, { ...asked, grant_type }, first);
  if ('failure' in given) throw new Refusal(given.failure);
  return decisionQuestion(parts, { request, approver, terms: given.terms });
}

/**
 * Reads a decision from a service, and the terms that an approver gives.
 *
 * @module
 */

import type { Client } from '../../client/index.ts';
import { grantTerms } from '../../domain/authority/grant.ts';
import { firstTerms } from '../../domain/decision/terms.ts';
import type { ApprovalRequest, GrantTerms } from '../../protocol/approval.ts';
import type { Decision } from '../../protocol/decision.ts';
import { GrantType } from '../../protocol/failure.ts';
import { answerOrExit } from '../login/session.ts';
import type { Io } from '../shell/command.ts';
import { CommandFault, EXIT_FOUND } from '../shell/exit.ts';
import { choice, type Given, needed, number, value } from '../shell/options.ts';

export const ID_OPERAND = { id: needed('<id>', 'the approval request, such as apr_1f…') } as const;

export const TERMS_OPTIONS = {
  'grant-type': choice(
    GrantType.options,
    "the type of the grant (default: that of the request's policy)",
  ),
  'expires-in': value(
    '<seconds>',
    'the lifetime of the grant (default: the longest of the policy)',
  ),
  'max-uses': number('<n>', 'how often the grant can be used (default: once)'),
  'session-id': value(
    '<id>',
    'the session of a session_bound grant (default: that of the request)',
  ),
} as const;

export type TermsGiven = Given<typeof TERMS_OPTIONS>;

/** An answer about another request is no answer. */
export async function fetchDecision(
  client: Client,
  id: string,
  given: { readonly json: boolean },
  io: Io,
): Promise<Decision> {
  const request = { approval_request_id: id };
  const decision = answerOrExit(await client.ask('approval_requests.decision', request), given, io);
  if (decision.request?.approval_request_id === id) return decision;
  throw new CommandFault('the service answered with another request', { exit: EXIT_FOUND });
}

/** By the same rules as the service and the page, so an omitted value is the one that they take. */
export function termsFor(request: ApprovalRequest, given: TermsGiven): GrantTerms {
  const { grant_policy, terms } = request;
  const first = firstTerms(request);
  const grant_type = given['grant-type'] ?? first.grant_type;
  const ofRequest = terms ? terms.session_id : request.session_id;
  const session = given['session-id'] ?? (grant_type === 'session_bound' ? ofRequest : null);
  const chosen = grantTerms(
    grant_policy,
    {
      grant_type,
      session_id: session ?? undefined,
      expires_in_seconds: secondsOf(given['expires-in']),
      max_uses: given['max-uses'] ?? first.max_uses,
    },
    terms ?? undefined,
  );
  // The line of the command begins with what it could not do.
  if ('failure' in chosen) throw new Error(chosen.failure.detail.replace(/^Cannot grant: /, ''));
  return chosen.terms;
}

/** A policy can have a fraction of a second. */
function secondsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (/^\d{1,12}(?:\.\d{1,9})?$/.test(text) && seconds > 0) return seconds;
  throw new Error(`expected a positive number of seconds after --expires-in, not "${text}"`);
}

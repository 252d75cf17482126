/**
 * Approval in a conversation: where the client can ask its user, the call waits for the decision.
 *
 * The user is asked to have the request approved, never to approve it: who may is the service's to
 * say, and it is asked for the grant. What comes back from the client names a request, and the
 * service shows it only to its requester, so it needs no seal.
 *
 * @module
 */

import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { failure } from '../domain/failure.ts';
import type { FailureAnswer } from '../protocol/failure.ts';
import { type Desk, isFailure } from './desk.ts';

/** Seconds to wait for the decision after the user said go on; clients give up after a minute. */
const WAIT_SECONDS = 25;

const QUESTION = 'approval';

/** Asks the client's user about an approval that is required, where the client can. */
export function elicitation(
  server: Server,
  context: ServerContext,
  answer: object,
): InputRequiredResult | undefined {
  if (!isFailure(answer) || !canAsk(server, context)) return undefined;
  const { type, detail, approval_request_id: id } = answer.failure;
  if (type !== 'approval_required' || id === undefined) return undefined;
  const message = `${detail}. Have the request ${id} approved, then go on; it is not approved by going on.`;
  return inputRequired({
    requestState: id,
    inputRequests: {
      [QUESTION]: inputRequired.elicit({
        message,
        requestedSchema: { type: 'object', properties: {} },
      }),
    },
  });
}

/** What became of a request that the user was asked about; nothing where none was. */
export async function continuation(
  desk: Desk,
  { mcpReq }: ServerContext,
): Promise<{ grantId?: string } | FailureAnswer | undefined> {
  const view = inputResponse(mcpReq.inputResponses, QUESTION);
  const id = mcpReq.requestState<unknown>();
  if (view.kind !== 'elicit' || typeof id !== 'string') return undefined;
  if (view.action !== 'accept') return {};

  const prefer = `wait=${WAIT_SECONDS}`;
  const request = await desk.ask('approval_requests.get', { approval_request_id: id, prefer });
  if (isFailure(request)) return request;
  const { status, grant_id, reason } = request;
  if (status === 'approved' && grant_id) return { grantId: grant_id };
  if (status === 'pending') return {};
  const type = status === 'expired' ? 'approval_request_expired' : 'approval_request_decided';
  const why = reason ? `: ${reason}` : '';
  const detail = `Cannot continue: approval request "${id}" is ${status}${why}`;
  return { success: false, failure: failure(type, detail) };
}

/** In the newer protocol every request says what its client can; in the older, the handshake did. */
function canAsk(server: Server, { mcpReq }: ServerContext): boolean {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope };
  const perRequest = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  const said = perRequest ?? server.getClientCapabilities();
  const modes = said?.elicitation;
  return modes !== undefined && (modes.form !== undefined || modes.url === undefined);
}

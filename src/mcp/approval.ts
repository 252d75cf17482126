/**
 * Approval by elicitation: if the client can ask its user, the call waits for the decision.
 *
 * The client asks the user to get the request approved, never to approve it: the service decides who
 * may approve. The client sends back the id of a request. The service shows a request only to its
 * requester, so the id needs no signature.
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
import { type Gateway, isFailure } from './gateway.ts';

/** Seconds to wait for the decision after the user continued; clients give up after a minute. */
const WAIT_SECONDS = 25;

const QUESTION = 'approval';

/** Asks the client's user to get a required approval, if the client supports elicitation. */
export function elicitation(
  server: Server,
  context: ServerContext,
  answer: object,
): InputRequiredResult | undefined {
  if (!isFailure(answer) || !canAsk(server, context)) return undefined;
  const { type, detail, approval_request_id: id, decision_url: page } = answer.failure;
  if (type !== 'approval_required' || id === undefined) return undefined;
  const where = page === undefined ? '' : ` An approver decides at ${page}`;
  const message = `${detail}. Have request ${id} approved, then continue; continuing does not approve it.${where}`;
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

/** The decision on a request that the user was asked about; `undefined` if the user was not asked. */
export async function continuation(
  gateway: Gateway,
  { mcpReq }: ServerContext,
): Promise<{ grantId?: string } | FailureAnswer | undefined> {
  const view = inputResponse(mcpReq.inputResponses, QUESTION);
  const id = mcpReq.requestState<unknown>();
  if (view.kind !== 'elicit' || typeof id !== 'string') return undefined;
  if (view.action !== 'accept') return {};

  const prefer = `wait=${WAIT_SECONDS}`;
  const request = await gateway.ask('approval_requests.get', { approval_request_id: id, prefer });
  if (isFailure(request)) return request;
  const { status, grant_id, reason } = request;
  if (status === 'approved' && grant_id) return { grantId: grant_id };
  if (status === 'pending') return {};
  const type = status === 'expired' ? 'approval_request_expired' : 'approval_request_decided';
  const why = reason ? `: ${reason}` : '';
  const detail = `Cannot continue: approval request "${id}" is ${status}${why}`;
  return { success: false, failure: failure(type, detail) };
}

/** The newer protocol sends the client's capabilities with every request, the older one in the handshake. */
function canAsk(server: Server, { mcpReq }: ServerContext): boolean {
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope };
  const perRequest = envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  const capabilities = perRequest ?? server.getClientCapabilities();
  const modes = capabilities?.elicitation;
  return modes !== undefined && (modes.form !== undefined || modes.url === undefined);
}

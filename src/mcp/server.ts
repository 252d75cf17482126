/**
 * The MCP server of one caller: lists its tools and calls them. Translates; the service decides.
 *
 * Lists the capabilities that the service reports as available to the token, or the pair that searches and calls them. Moves reserved parameters
 * out of the arguments, and `svc/` fields out of `_meta`; any other name with one of these prefixes
 * stays a parameter, which the service refuses.
 *
 * @module
 */

import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isObject } from '../domain/wire/json.ts';
import type { Platform } from '../platform.ts';
import type { FailureAnswer } from '../protocol/failure.ts';
import type { InvokeAnswer } from '../protocol/invocation.ts';
import type { InputOf } from '../protocol/operations.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import { PROTOCOL_VERSION } from '../protocol/trust.ts';
import type { EventSink } from '../service/operations/stream.ts';
import { continuation, elicitation } from './approval.ts';
import { declaredIn, eachAvailable, type Gateway, isFailure } from './gateway.ts';
import { type SortedMeta, sortedMeta } from './meta.ts';
import { toolResultOf } from './result.ts';
import {
  CALL_TOOL,
  carriedCall,
  SEARCH_TOOL,
  type SentCall,
  searchCapabilities,
  type ToolList,
} from './search-tools.ts';
import { sentenceOf } from './sentence.ts';
import { type CapabilityTool, GRANT_PARAMETER, KEY_PARAMETER, toolOf } from './tool.ts';

const INSTRUCTIONS =
  'Every tool is a governed capability: a call is checked against the authority of the token, and may need the approval of a person. A failed call says what to do next; follow it, and do not work around it.';

const SEARCH_INSTRUCTIONS =
  'Find what you can do with search_capabilities, and do it with call_capability.';

export interface McpServerOptions {
  readonly platform: Platform;
  readonly tools: ToolList;
  /** The id of the service, where it is known; otherwise its manifest is read, which may be gated. */
  readonly serviceId?: string | undefined;
}

export async function createMcpServer(
  gateway: Gateway,
  { platform, tools, serviceId }: McpServerOptions,
): Promise<Server> {
  const name = serviceId ?? (await idOf(gateway));
  const info = { name, version: PROTOCOL_VERSION };
  const isPair = tools === 'search';
  const instructions = isPair ? `${SEARCH_INSTRUCTIONS} ${INSTRUCTIONS}` : INSTRUCTIONS;
  const server = new Server(info, { capabilities: { tools: {} }, instructions });
  server.setRequestHandler('tools/list', async () => ({
    tools: isPair ? await listPair(gateway) : await listTools(gateway, platform),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { name, arguments: sent = {} } = params;
    // In this mode the names of the pair are taken: a capability with one of them is called through the pair.
    if (isPair && name === SEARCH_TOOL.name) return searchCapabilities(gateway, platform, sent);
    const meta = sortedMeta(context.mcpReq._meta ?? {});
    const isCarried = isPair && name === CALL_TOOL.name;
    const call = callOf(isCarried ? carriedCall(sent) : { name, arguments: sent }, meta);
    return callTool({ gateway, server, context, faultyMeta: meta.faulty }, call);
  });
  return server;
}

async function idOf(gateway: Gateway): Promise<string> {
  const manifest = await gateway.manifest();
  if (isFailure(manifest)) throw protocolError(manifest);
  return manifest.service_identity.id;
}

/** The pair is the same for every caller, and is shown to known callers only. */
async function listPair(gateway: Gateway): Promise<CapabilityTool[]> {
  const permissions = await gateway.ask('permissions', {});
  if (isFailure(permissions)) throw protocolError(permissions);
  return [SEARCH_TOOL, CALL_TOOL];
}

async function listTools(gateway: Gateway, platform: Platform): Promise<CapabilityTool[]> {
  const tools: CapabilityTool[] = [];
  const prevented = await eachAvailable(gateway, platform, (name, declared, conditions) => {
    tools.push(toolOf(name, declared, conditions));
  });
  if (prevented) throw protocolError(prevented);
  return tools;
}

interface Conversation {
  readonly gateway: Gateway;
  readonly server: Server;
  readonly context: ServerContext;
  /** Names in `_meta` for which the service will refuse the call. */
  readonly faultyMeta: readonly string[];
}

async function callTool(conversation: Conversation, call: InputOf<'invoke'>) {
  const { gateway, server, context, faultyMeta } = conversation;
  const decided = await continuation(gateway, context);
  if (decided && isFailure(decided)) return toolResultOf(decided);
  const input = decided
    ? { ...call, approval_grant: decided.grantId ?? call.approval_grant }
    : call;
  const { answer, fields } = await invoke(conversation, input);
  // Asks the user once: a second time the caller gets the failure.
  const asked = decided ? undefined : elicitation(server, context, answer);
  return asked ?? toolResultOf(answer, fields, faultyMeta);
}

async function invoke(
  { gateway, context }: Conversation,
  input: InputOf<'invoke'>,
): Promise<{ answer: InvokeAnswer | FailureAnswer; fields?: readonly string[] | undefined }> {
  // A caller to whom a gated manifest is closed is refused by the invocation, which leaves an entry.
  const manifest = await gateway.manifest();
  const declared = isFailure(manifest) ? undefined : declaredIn(manifest, input.capability);
  const modes = declared?.response_modes ?? ['unary'];
  const sink = progressSink(context);
  const stream = modes.includes('streaming') && (sink !== undefined || !modes.includes('unary'));
  const answer = await gateway.ask('invoke', { ...input, stream }, sink);
  // A result that a schema admits is complete as it is.
  return { answer, fields: declared?.output_schema ? undefined : declared?.output.fields };
}

/**
 * The input of `invoke`, with unchecked values: the schema of the operation finds what is
 * wrong with them. An unknown reserved name stays a parameter, which the service refuses.
 */
function callOf(call: SentCall, { fields, unknown }: SortedMeta): InputOf<'invoke'> {
  const { name: capability, arguments: sent } = call;
  const {
    [GRANT_PARAMETER]: approval_grant,
    [KEY_PARAMETER]: idempotency_key,
    ...parameters
  }: JsonObject = isObject(sent) ? sent : {};
  const given = {
    approval_grant,
    idempotency_key,
    ...fields,
    capability,
    parameters: isObject(sent) ? { ...parameters, ...unknown } : sent,
    continue_approved: true,
  };
  return given as InputOf<'invoke'>;
}

function protocolError({ failure }: FailureAnswer): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidRequest, failure.detail, { failure });
}

/** Most notifications of one call: they stay in memory while a client does not read. */
const NOTIFICATIONS_MAX = 1_000;

/** `undefined` when the client sent no progress token. */
function progressSink(context: ServerContext): EventSink | undefined {
  const { mcpReq } = context;
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return {
    isOpen: () => !mcpReq.signal.aborted,
    async send(event, json) {
      if (mcpReq.signal.aborted) return false;
      if (event !== 'progress' || progress >= NOTIFICATIONS_MAX) return true;
      progress += 1;
      const message = sentenceOf(JSON.parse(json).progress, progress);
      const params = { progressToken, progress, message };
      // Rejects only when the client is gone.
      return mcpReq.notify({ method: 'notifications/progress', params }).then(
        () => true,
        () => false,
      );
    },
  };
}

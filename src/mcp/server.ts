/**
 * The MCP server of one caller: lists its tools and calls them. Translates; the service decides.
 *
 * Lists the capabilities that the service reports as available to the token. Moves reserved parameters
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
import type { Platform } from '../platform.ts';
import type { CapabilityDeclaration } from '../protocol/capability.ts';
import type { FailureAnswer } from '../protocol/failure.ts';
import type { InvokeAnswer } from '../protocol/invocation.ts';
import type { InputOf } from '../protocol/operations.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import { type Manifest, PROTOCOL_VERSION } from '../protocol/trust.ts';
import { createSlicer } from '../service/pace/slices.ts';
import { continuation, elicitation } from './approval.ts';
import { type Gateway, isFailure } from './gateway.ts';
import { type SortedMeta, sortedMeta } from './meta.ts';
import { progressSink } from './progress.ts';
import { toolResultOf } from './result.ts';
import { type CapabilityTool, GRANT_PARAMETER, KEY_PARAMETER, toolOf } from './tool.ts';

const INSTRUCTIONS =
  'Every tool is a governed capability: a call is checked against the authority of the token, and may need the approval of a person. A failed call says what to do next; follow it, and do not work around it.';

export async function createMcpServer(gateway: Gateway, platform: Platform): Promise<Server> {
  const manifest = await gateway.manifest();
  if (isFailure(manifest)) throw protocolError(manifest);
  const info = { name: manifest.service_identity.id, version: PROTOCOL_VERSION };
  const server = new Server(info, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  server.setRequestHandler('tools/list', async () => ({
    tools: await listTools(gateway, platform),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const meta = sortedMeta(context.mcpReq._meta ?? {});
    const call = callOf(params.name, params.arguments ?? {}, meta);
    return callTool({ gateway, server, context, faultyMeta: meta.faulty }, call);
  });
  return server;
}

async function listTools(gateway: Gateway, platform: Platform): Promise<CapabilityTool[]> {
  const [manifest, permissions] = await Promise.all([
    gateway.manifest(),
    gateway.ask('permissions', {}),
  ]);
  if (isFailure(manifest)) throw protocolError(manifest);
  if (isFailure(permissions)) throw protocolError(permissions);
  const tools: CapabilityTool[] = [];
  // A tool takes some microseconds to describe, and a catalog may have a thousand.
  await createSlicer(platform)().each(permissions.available, ({ capability }) => {
    const declared = declaredIn(manifest, capability);
    if (declared) tools.push(toolOf(capability, declared));
    return true;
  });
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
  const manifest = await gateway.manifest();
  if (isFailure(manifest)) return { answer: manifest };
  const declared = declaredIn(manifest, input.capability);
  const modes = declared?.response_modes ?? ['unary'];
  const sink = progressSink(context);
  const stream = modes.includes('streaming') && (sink !== undefined || !modes.includes('unary'));
  const answer = await gateway.ask('invoke', { ...input, stream }, sink);
  // A result that a schema admits is complete as it is.
  return { answer, fields: declared?.output_schema ? undefined : declared?.output.fields };
}

/** Own properties only: "constructor" is not a capability. */
function declaredIn({ capabilities }: Manifest, name: string): CapabilityDeclaration | undefined {
  return Object.hasOwn(capabilities, name) ? capabilities[name] : undefined;
}

/**
 * The input of `invoke`, with unchecked values: the schema of the operation finds what is
 * wrong with them. An unknown reserved name stays a parameter, which the service refuses.
 */
function callOf(capability: string, sent: JsonObject, meta: SortedMeta): InputOf<'invoke'> {
  const {
    [GRANT_PARAMETER]: approval_grant,
    [KEY_PARAMETER]: idempotency_key,
    ...parameters
  } = sent;
  const { fields, unknown } = meta;
  const given = { approval_grant, idempotency_key, ...fields };
  return {
    ...(given as Partial<InputOf<'invoke'>>),
    capability,
    parameters: { ...parameters, ...unknown },
    continue_approved: true,
  };
}

function protocolError({ failure }: FailureAnswer): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidRequest, failure.detail, { failure });
}

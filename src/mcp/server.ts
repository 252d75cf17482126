/**
 * The MCP server of one caller: lists its tools and calls them. It translates, and decides nothing.
 *
 * Listed is what the service says is available to the token. Reserved parameters are lifted out of
 * the arguments; any other name that begins like one stays among them, where the service refuses it.
 *
 * @module
 */

import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { CapabilityDeclaration } from '../protocol/capability.ts';
import type { FailureAnswer } from '../protocol/failure.ts';
import type { InvokeAnswer } from '../protocol/invocation.ts';
import type { InputOf } from '../protocol/operations.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import { type Manifest, PROTOCOL_VERSION } from '../protocol/trust.ts';
import { createSlicer } from '../service/slices.ts';
import { continuation, elicitation } from './approval.ts';
import { type Desk, isFailure } from './desk.ts';
import { progressSink } from './progress.ts';
import { toolResultOf } from './result.ts';
import { type CapabilityTool, GRANT_PARAMETER, KEY_PARAMETER, toolOf } from './tool.ts';

const INSTRUCTIONS =
  'Every tool is a governed capability: a call is checked against the authority of the token, and may need the approval of a person. A failed call says what to do next; follow it, and do not work around it.';

export async function createMcpServer(desk: Desk): Promise<Server> {
  const manifest = await desk.manifest();
  if (isFailure(manifest)) throw protocolError(manifest);
  const info = { name: manifest.service_identity.id, version: PROTOCOL_VERSION };
  const server = new Server(info, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  server.setRequestHandler('tools/list', async () => ({ tools: await listTools(desk) }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const sent = { name: params.name, parameters: params.arguments ?? {} };
    return callTool({ desk, server, context }, sent);
  });
  return server;
}

async function listTools(desk: Desk): Promise<CapabilityTool[]> {
  const [manifest, permissions] = await Promise.all([desk.manifest(), desk.ask('permissions', {})]);
  if (isFailure(manifest)) throw protocolError(manifest);
  if (isFailure(permissions)) throw protocolError(permissions);
  const tools: CapabilityTool[] = [];
  await slicer().each(permissions.available, ({ capability }) => {
    const declared = declaredIn(manifest, capability);
    if (declared) tools.push(toolOf(capability, declared));
    return true;
  });
  return tools;
}

/** A tool takes some microseconds to describe, and a catalog may have a thousand. */
const slicer = createSlicer();

interface Conversation {
  readonly desk: Desk;
  readonly server: Server;
  readonly context: ServerContext;
}

async function callTool(
  conversation: Conversation,
  { name, parameters }: { name: string; parameters: JsonObject },
) {
  const { desk, server, context } = conversation;
  const call = callOf(name, parameters);
  const decided = await continuation(desk, context);
  if (decided && isFailure(decided)) return toolResultOf(decided);
  const input = decided
    ? { ...call, approval_grant: decided.grantId ?? call.approval_grant }
    : call;
  const answer = await invoke(conversation, input);
  // A caller that was asked once is not asked again: it gets the failure, and can act on it.
  const asked = decided ? undefined : elicitation(server, context, answer);
  return asked ?? toolResultOf(answer);
}

async function invoke(
  { desk, context }: Conversation,
  input: InputOf<'invoke'>,
): Promise<InvokeAnswer | FailureAnswer> {
  const manifest = await desk.manifest();
  if (isFailure(manifest)) return manifest;
  const modes = declaredIn(manifest, input.capability)?.response_modes ?? ['unary'];
  const sink = progressSink(context);
  const stream = modes.includes('streaming') && (sink !== undefined || !modes.includes('unary'));
  return desk.ask('invoke', { ...input, stream }, sink);
}

/** A name that every object answers to is no capability for that. */
function declaredIn({ capabilities }: Manifest, name: string): CapabilityDeclaration | undefined {
  return Object.hasOwn(capabilities, name) ? capabilities[name] : undefined;
}

/** A call as the service is asked it. */
function callOf(capability: string, sent: JsonObject): InputOf<'invoke'> {
  const {
    [GRANT_PARAMETER]: approval_grant,
    [KEY_PARAMETER]: idempotency_key,
    ...parameters
  } = sent;
  // Whatever they are: the schema of the operation says what is wrong with them.
  const reserved = { approval_grant, idempotency_key } as Partial<InputOf<'invoke'>>;
  return { capability, parameters, ...reserved };
}

function protocolError({ failure }: FailureAnswer): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidRequest, failure.detail, { failure });
}

/**
 * `writ mcp`: a bridge from an agent's standard input and output to a running service.
 *
 * Calls the service with the client, as any other program would, and adds nothing to what the token
 * allows. Standard output belongs to the protocol, so everything else goes to standard error.
 *
 * @module
 */

import { createClient } from '../../client/client.ts';
import type { Client } from '../../client/interface.ts';
import type { Refused } from '../../client/reply.ts';
import { UnsendableCall } from '../../client/request.ts';
import { failure } from '../../domain/failure.ts';
import { printable } from '../../domain/wire/printable.ts';
import { type Gateway, isFailure } from '../../mcp/gateway.ts';
import { serveMcpOverPipes } from '../../mcp/stdio.ts';
import { system } from '../../platform.ts';
import type { FailureAnswer } from '../../protocol/failure.ts';
import type { InvokeAnswer } from '../../protocol/invocation.ts';
import type { AnswerOf, InputOf, OperationName } from '../../protocol/operations.ts';
import { failureAnswer } from '../../service/operations/operations.ts';
import type { EventSink } from '../../service/operations/stream.ts';
import { commandFault, credentialFor, SERVICE_OPTIONS, serviceOf } from '../login/session.ts';
import { leaf } from '../shell/command.ts';
import { EXIT_OK } from '../shell/exit.ts';
import { choice } from '../shell/options.ts';

const { json: _, ...OPTIONS } = SERVICE_OPTIONS;

export const mcpCommand = leaf({
  name: 'mcp',
  summary: 'serve the capabilities of a token to an agent, as MCP tools',
  about:
    'Serves MCP on standard input and output for one delegation token: lists the capabilities of the token as tools, and calls them at the service. For agents that start their tools as a command; other agents connect to <url>/mcp. Without --pin, the bridge trusts the keys it gets at its start.',
  options: {
    ...OPTIONS,
    tools: choice(
      ['all', 'search'],
      'search: list two tools, one that searches and one that calls, for a service with very many (default: all)',
    ),
  },
  examples: [
    ['writ mcp --service http://127.0.0.1:8420', 'with your login'],
    ['writ mcp --service http://127.0.0.1:8420 --token-file token.txt', 'with a token'],
  ],
  exits: [[EXIT_OK, 'the input ended']],
  cannot: 'serve MCP',
  async run({ 'token-file': file, tools = 'all', ...given }, io) {
    const url = serviceOf(given.service, io);
    if (io.pipes === undefined) throw new Error('standard input or output is not open');
    const credential = oneAtATime(() => credentialFor(url, file, io));
    const client = createClient({
      url,
      credential: await credential(),
      pins: given.pin.length > 0 ? given.pin : undefined,
      gatedManifest: given['gated-manifest'],
    });
    // A login is renewed while the bridge runs.
    const gateway = remoteGateway(async () => client.withCredential(await credential()));
    await checkAccess(gateway);
    const onError = ({ message }: Error) => io.err(`${printable(message)}\n`);
    const server = serveMcpOverPipes(gateway, io.pipes, { platform: system, tools, onError });
    await Promise.race([server.ended, io.untilStopped?.() ?? server.ended]);
    await server.close();
  },
});

/** Calls at the same time share one renewal. */
function oneAtATime<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let running: Promise<Made> | undefined;
  return () => {
    running ??= make().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** Checks access at the start, when a person still reads the output, and not at the first call. */
async function checkAccess(gateway: Gateway): Promise<void> {
  const manifest = await gateway.manifest();
  if (isFailure(manifest)) throw commandFault(manifest.failure);
  const permissions = await gateway.ask('permissions', {});
  if (isFailure(permissions)) throw commandFault(permissions.failure);
}

function remoteGateway(connect: () => Promise<Client>): Gateway {
  async function asked<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    sink?: EventSink,
  ): Promise<AnswerOf<Name> | FailureAnswer> {
    const client = await connect();
    if (name === 'invoke' && (input as InputOf<'invoke'>).stream) {
      return (await streamed(client, input as InputOf<'invoke'>, sink)) as AnswerOf<Name>;
    }
    const reply = await client.ask(name, input);
    return reply.ok ? (reply.answer as AnswerOf<Name>) : failureOf(reply);
  }
  return {
    ask: (name, input, sink) => asked(name, input, sink).catch((error) => unsent(name, error)),
    async manifest() {
      const client = await connect();
      const reply = await client.manifest();
      return reply.ok ? reply.answer : failureOf(reply);
    },
  };
}

/** The client cannot send such a call; the answer is the failure that the service would give. */
function unsent(name: OperationName, error: unknown): FailureAnswer {
  if (!(error instanceof UnsendableCall)) throw error;
  const type = error.field === 'capability' ? 'unknown_capability' : 'invalid_parameters';
  return failureAnswer(system, failure(type, error.message), name === 'invoke');
}

async function streamed(
  client: Client,
  input: InputOf<'invoke'>,
  sink: EventSink | undefined,
): Promise<InvokeAnswer | FailureAnswer> {
  for await (const { event, data } of client.stream(input)) {
    if (event === 'progress') await sink?.send(event, JSON.stringify(data));
    if (event === 'completed' || event === 'failed') return data;
    if (event === 'refused' || event === 'lost') return failureOf(data);
  }
  throw new Error('Cannot tell how the stream ended');
}

function failureOf({ answer, failure: found }: Refused): FailureAnswer {
  return answer ?? { success: false, failure: found };
}

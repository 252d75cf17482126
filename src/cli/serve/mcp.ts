/**
 * `writ mcp`: a bridge from an agent's standard input and output to a running service.
 *
 * Calls the service with the client, as any other program would, and adds nothing to what the token
 * allows. Standard output belongs to the protocol, so everything else goes to standard error.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { createClient } from '../../client/client.ts';
import type { Client } from '../../client/interface.ts';
import type { Refused } from '../../client/reply.ts';
import { UnsendableCall } from '../../client/request.ts';
import { failure } from '../../domain/failure.ts';
import { printable } from '../../domain/wire/printable.ts';
import { type Gateway, isFailure } from '../../mcp/gateway.ts';
import type { ToolList } from '../../mcp/pair.ts';
import { serveMcpOverPipes } from '../../mcp/stdio.ts';
import { system } from '../../platform.ts';
import type { FailureAnswer } from '../../protocol/failure.ts';
import type { InvokeAnswer } from '../../protocol/invocation.ts';
import type { AnswerOf, InputOf, OperationName } from '../../protocol/operations.ts';
import { failureAnswer } from '../../service/core/operations.ts';
import type { EventSink } from '../../service/core/stream.ts';
import { CREDENTIAL_VARIABLE, credentialFor } from '../login/credential.ts';
import { joinedValues } from '../shell/arguments.ts';
import { EXIT_FAILED, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';

const MCP_USAGE = `Usage: writ mcp --service <url> [options]

Serves MCP on standard input and output for one delegation token: lists the
capabilities of the token as tools, and calls them at the service. For agents that
start their tools as a command; other agents connect to <url>/mcp.

  --pin <thumbprint>   a key of the service (may be repeated); without one, the
                       bridge trusts the keys it gets at its start
  --token-file <file>  the delegation token (default: $${CREDENTIAL_VARIABLE},
                       else that of "writ login")
  --gated-manifest     send the token to fetch the manifest too, for a service that
                       requires a credential there
  --tools search       list two tools, one that searches and one that calls, for a
                       service with very many (default: all)
  --help               this text

Exit status: 0 the input ended, 2 it could not run.
`;

export async function mcp(args: readonly string[], io: Io): Promise<number> {
  try {
    const { values } = parseArgs({ args: joinedValues(args, options), options });
    if (values.help) {
      io.out(MCP_USAGE);
      return EXIT_OK;
    }
    if (values.service === undefined) throw new Error('no service is named; give --service');
    if (io.pipes === undefined) throw new Error('standard input or output is not open');
    const tools = toolListOf(values.tools);
    const { service: url, 'token-file': file } = values;
    const credential = oneAtATime(() => credentialFor(url, file, io));
    const client = createClient({
      url,
      credential: await credential(),
      pins: values.pin,
      gatedManifest: values['gated-manifest'],
    });
    // A login is renewed while the bridge runs.
    const gateway = remoteGateway(async () => client.withCredential(await credential()));
    await checkAccess(gateway);
    const onError = ({ message }: Error) => io.err(`${printable(message)}\n`);
    const server = serveMcpOverPipes(gateway, io.pipes, { platform: system, tools, onError });
    await Promise.race([server.ended, io.untilStopped?.() ?? server.ended]);
    await server.close();
    return EXIT_OK;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.err(`Cannot serve MCP: ${printable(why)}\n`);
    return EXIT_FAILED;
  }
}

const options = {
  service: { type: 'string' },
  pin: { type: 'string', multiple: true },
  'token-file': { type: 'string' },
  'gated-manifest': { type: 'boolean' },
  tools: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

function toolListOf(given = 'all'): ToolList {
  if (given === 'all' || given === 'search') return given;
  throw new Error(`--tools is "${given}", expected "all" or "search"`);
}

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
  if (isFailure(manifest)) throw new Error(manifest.failure.detail);
  const permissions = await gateway.ask('permissions', {});
  if (isFailure(permissions)) throw new Error(permissions.failure.detail);
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

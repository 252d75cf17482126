/**
 * `writ mcp`: a bridge from the pipes of an agent's desktop to a running service.
 *
 * Asks the service with the client, as every other program would, and adds nothing to what the token
 * allows. Standard output belongs to the protocol, so everything else goes to standard error.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { type Client, createClient } from '../client/client.ts';
import type { Refused } from '../client/reply.ts';
import { UnsendableCall } from '../client/request.ts';
import { failure } from '../domain/failure.ts';
import { type Desk, isFailure } from '../mcp/desk.ts';
import { serveMcpOverPipes } from '../mcp/stdio.ts';
import { system } from '../platform.ts';
import type { FailureAnswer } from '../protocol/failure.ts';
import type { InvokeAnswer } from '../protocol/invocation.ts';
import type { AnswerOf, InputOf, OperationName } from '../protocol/operations.ts';
import { failureAnswer } from '../service/core/operations.ts';
import type { EventSink } from '../service/core/stream.ts';
import { joinedValues } from './arguments.ts';
import { CREDENTIAL_VARIABLE, credentialOf } from './credential.ts';
import { EXIT_FAILED, EXIT_OK } from './exit.ts';
import type { Io } from './io.ts';
import { printable } from './printable.ts';

const MCP_USAGE = `Usage: writ mcp --service <url> [options]

Speaks MCP on standard input and output for one delegation token: lists what the
token may do as tools, and calls them at the service. For agents that start their
tools as a command; others connect to <url>/mcp.

  --pin <thumbprint>   a key of the service (may be repeated); without one, the
                       keys that it shows at the start are held
  --token-file <file>  the delegation token (default: $${CREDENTIAL_VARIABLE})
  --gated-manifest     send the token for the manifest too, where the service asks
                       for a credential there
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
    if (values.service === undefined) throw new Error('the service is not named; give --service');
    if (io.pipes === undefined) throw new Error('there are no pipes to speak over');
    const credential = credentialOf(values['token-file'], io);
    const desk = deskAt(
      createClient({
        url: values.service,
        credential,
        pins: values.pin,
        gatedManifest: values['gated-manifest'],
      }),
    );
    await checkAccess(desk);
    const tell = ({ message }: Error) => io.err(`${printable(message)}\n`);
    const server = serveMcpOverPipes(desk, io.pipes, system, tell);
    await Promise.race([server.ended, io.untilStopped?.() ?? server.ended]);
    await server.close();
    return EXIT_OK;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.err(`Cannot speak MCP: ${printable(why)}\n`);
    return EXIT_FAILED;
  }
}

const options = {
  service: { type: 'string' },
  pin: { type: 'string', multiple: true },
  'token-file': { type: 'string' },
  'gated-manifest': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Said at the start, where a person still looks, and not at the first call. */
async function checkAccess(desk: Desk): Promise<void> {
  const manifest = await desk.manifest();
  if (isFailure(manifest)) throw new Error(manifest.failure.detail);
  const permissions = await desk.ask('permissions', {});
  if (isFailure(permissions)) throw new Error(permissions.failure.detail);
}

function deskAt(client: Client): Desk {
  async function asked<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    sink?: EventSink,
  ): Promise<AnswerOf<Name> | FailureAnswer> {
    if (name === 'invoke' && (input as InputOf<'invoke'>).stream) {
      return (await streamed(client, input as InputOf<'invoke'>, sink)) as AnswerOf<Name>;
    }
    const reply = await client.ask(name, input);
    return reply.ok ? (reply.answer as AnswerOf<Name>) : failureOf(reply);
  }
  return {
    ask: (name, input, sink) => asked(name, input, sink).catch((error) => unsent(name, error)),
    async manifest() {
      const reply = await client.manifest();
      return reply.ok ? reply.answer : failureOf(reply);
    },
  };
}

/** What no request can carry, the service would refuse; so it is refused in its words. */
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

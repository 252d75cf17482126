/**
 * MCP over standard input and output: one caller, until the input ends.
 *
 * Bounds lines and parses them strictly before the MCP package gets them. A line that cannot be read is
 * answered with an error and skipped. When the input ends, running calls
 * are answered first, within the time that clients wait for a child process to exit.
 *
 * @module
 */

import { Readable, type Writable } from 'node:stream';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { BODY_LIMITS, readJson } from '../domain/wire/json.ts';
import { createLineCutter, type Line } from '../service/pace/lines.ts';
import type { Gateway } from './gateway.ts';
import { metaFault } from './meta.ts';
import { createMcpServer, type McpServerOptions } from './server.ts';
import { createUnanswered, type Unanswered } from './unanswered.ts';

/** In milliseconds. A longer call still ends at the service and is recorded there. */
const LAST_ANSWERS_MS = 10_000;

export interface Pipes {
  readonly input: Readable;
  readonly output: Writable;
}

export interface PipedServer {
  /** Resolves when the input has ended and all requests are answered, or the client has left. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export interface PipedServerOptions extends McpServerOptions {
  onError(error: Error): void;
}

export function serveMcpOverPipes(
  gateway: Gateway,
  { input, output }: Pipes,
  { platform, tools, onError }: PipedServerOptions,
): PipedServer {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const refuse = (code: number, message: string) => {
    output.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })}\n`);
  };
  const unanswered = createUnanswered(platform);
  output.once('close', unanswered.forget);
  output.on('error', unanswered.forget);
  const lines = Readable.from(readableLines({ input, refuse, unanswered }), { objectMode: false });
  lines.once('close', end);
  const transport = new StdioServerTransport(lines, output);
  const send = transport.send.bind(transport);
  transport.send = (message) => send(message).finally(() => unanswered.answered(message));
  const handle = serveStdio(() => createMcpServer(gateway, { platform, tools }), {
    transport,
    onerror: onError,
    maxSubscriptions: 0,
  });
  async function close(): Promise<void> {
    unanswered.forget();
    await handle.close();
  }
  return { ended, close };
}

interface Lines {
  readonly input: Readable;
  refuse(code: number, message: string): void;
  readonly unanswered: Unanswered;
}

/** Passes on the lines that are JSON and not too long. Ends when all requests are answered. */
async function* readableLines({ input, refuse, unanswered }: Lines): AsyncGenerator<Buffer> {
  for await (const line of linesOf(input)) {
    if ('tooLong' in line) {
      const message = `Cannot read a message of more than ${BODY_LIMITS.bytes} bytes`;
      refuse(ProtocolErrorCode.InvalidRequest, message);
      continue;
    }
    if (Buffer.from(line.bytes).toString().trim() === '') continue;
    const reading = readJson(line.bytes);
    if ('fault' in reading) {
      refuse(ProtocolErrorCode.ParseError, reading.fault);
      continue;
    }
    if (!isMessage(reading.value)) {
      const fault = metaFault(reading.value);
      const message = fault ?? 'Cannot read the line: it is not a message of JSON-RPC';
      refuse(ProtocolErrorCode.InvalidRequest, message);
      continue;
    }
    if (!unanswered.heard(reading.value)) {
      // With its own id the client would take this error for the answer to the running request.
      const { id } = reading.value as { id: unknown };
      const message = `Cannot take a second request ${JSON.stringify(id)}: the first still runs`;
      refuse(ProtocolErrorCode.InvalidRequest, message);
      continue;
    }
    yield Buffer.concat([line.bytes, LINE_END]);
  }
  await unanswered.settled(LAST_ANSWERS_MS);
}

function isMessage(value: unknown): boolean {
  return isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value);
}

const LINE_END = Buffer.from('\n');

async function* linesOf(input: Readable): AsyncGenerator<Line> {
  const cutter = createLineCutter(BODY_LIMITS.bytes);
  for await (const piece of input as AsyncIterable<Uint8Array>) yield* cutter.cut(piece);
  const rest = cutter.rest();
  if (rest) yield rest;
}

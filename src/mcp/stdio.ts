/**
 * MCP over a pair of pipes: one caller, for as long as the input lasts.
 *
 * Lines are bounded and read strictly before the protocol sees them; one that cannot be read is
 * answered with an error and skipped, and the conversation goes on.
 *
 * @module
 */

import { Readable, type Writable } from 'node:stream';
import { ProtocolErrorCode } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { BODY_LIMITS, readJson } from '../domain/json.ts';
import type { Desk } from './desk.ts';
import { createMcpServer } from './server.ts';

export interface Pipes {
  readonly input: Readable;
  readonly output: Writable;
}

export interface PipedServer {
  /** Resolves when the input has ended. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export function serveMcpOverPipes(
  desk: Desk,
  { input, output }: Pipes,
  onError: (error: Error) => void,
): PipedServer {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const refuse = (code: number, message: string) => {
    output.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } })}\n`);
  };
  const lines = Readable.from(readableLines(input, refuse), { objectMode: false });
  lines.once('close', end);
  const transport = new StdioServerTransport(lines, output);
  const handle = serveStdio(() => createMcpServer(desk), {
    transport,
    onerror: onError,
    maxSubscriptions: 0,
  });
  return { ended, close: () => handle.close() };
}

type Refuse = (code: number, message: string) => void;

/** The lines that are JSON and not too long. Of one that is too long, no more is kept than fits. */
async function* readableLines(input: Readable, refuse: Refuse): AsyncGenerator<Buffer> {
  for await (const line of linesOf(input)) {
    if (line === undefined) {
      const message = `Cannot read a message of more than ${BODY_LIMITS.bytes} bytes`;
      refuse(ProtocolErrorCode.InvalidRequest, message);
      continue;
    }
    if (line.toString().trim() === '') continue;
    const reading = readJson(line);
    if ('fault' in reading) refuse(ProtocolErrorCode.ParseError, reading.fault);
    else yield Buffer.concat([line, LINE_END]);
  }
}

const LINE_END = Buffer.from('\n');

/** Each line without its end; nothing for one that is too long. */
async function* linesOf(input: Readable): AsyncGenerator<Buffer | undefined> {
  let held: Buffer[] = [];
  let size = 0;
  const take = (piece: Buffer) => {
    size += piece.length;
    if (size <= BODY_LIMITS.bytes) held.push(piece);
  };
  for await (const chunk of input) {
    let rest = Buffer.from(chunk);
    for (let at = rest.indexOf(LINE_END); at >= 0; at = rest.indexOf(LINE_END)) {
      take(rest.subarray(0, at));
      yield size <= BODY_LIMITS.bytes ? Buffer.concat(held) : undefined;
      held = [];
      size = 0;
      rest = rest.subarray(at + 1);
    }
    take(rest);
  }
}

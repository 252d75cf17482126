/**
 * MCP over the standard streams of a child process: one JSON message a line.
 *
 * A line that is no message is ignored, because programs print by mistake. A child that sends many lines that answer
 * nothing is ended: reading them would delay every other caller.
 *
 * @module
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { isObject } from '../../domain/wire/json.ts';
import { type Child, type ChildOptions, startChild } from './child.ts';

/** Lines that answer no request, in one window. Progress and log messages of an honest server are fewer. */
const UNASKED_MAX = 10_000;
const WINDOW_MS = 10_000;

/** Requests that may be without an answer. A child that never answers must not make the list grow. */
const ASKED_MAX = 10_000;

export interface StdioConnection {
  readonly child: Child;
  readonly transport: Transport;
}

/** Starts the child at once. The client starts to read when it connects. */
export function connectStdio(options: Omit<ChildOptions, 'onLine'>): StdioConnection {
  const asked = new Set<unknown>();
  const count = createCounter(options);
  const child = startChild({ ...options, onLine: take });

  function take(line: Uint8Array): void {
    const message = messageOf(line);
    const isAnswer = message !== undefined && !('method' in message) && asked.delete(message.id);
    const isFlood = !isAnswer && count() > UNASKED_MAX;
    if (isFlood) child.kill(`it sent more than ${UNASKED_MAX} lines that nothing asked for`);
    // The client checks the rest of the message.
    else if (message && isWanted(message))
      transport.onmessage?.(message as unknown as JSONRPCMessage);
  }

  // The client recognises a child process by `stderr` and `pid`, and then takes silence for an older server.
  const transport: Transport & { stderr: null; pid: null } = {
    stderr: null,
    pid: null,
    async start() {
      // Has no effect after the first time: a promise resolves once.
      void child.ended.then(() => transport.onclose?.());
    },
    async send(message) {
      if ('method' in message && 'id' in message) asked.add(message.id);
      if (asked.size > ASKED_MAX) asked.delete(asked.values().next().value);
      await child.write(`${JSON.stringify(message)}\n`);
    },
    close: () => child.close(),
  };
  return { child, transport };
}

/** Progress and log messages have no reader here. */
function isWanted({ id, method }: Readonly<Record<string, unknown>>): boolean {
  if (id !== undefined || typeof method !== 'string') return true;
  return !/^notifications\/(?:message|progress)$/.test(method);
}

function messageOf(line: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(line).toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Counts in windows of time. */
function createCounter({ platform }: Pick<ChildOptions, 'platform'>): () => number {
  let began = platform.monotonic();
  let count = 0;
  return () => {
    if (platform.monotonic() - began > WINDOW_MS) {
      began = platform.monotonic();
      count = 0;
    }
    count += 1;
    return count;
  };
}

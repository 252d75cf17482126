/**
 * A client at the other end of a pipe, for tests that look at the lines themselves.
 *
 * @module
 */

import { PassThrough } from 'node:stream';
import type { Runtime } from '../../src/service/runtime.ts';
import { type Conversation, serveConversation } from '../../src/stdio/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
export type Message = any;

export interface PipeClient extends Conversation {
  readonly input: PassThrough;
  readonly output: PassThrough;
  /** Writes a line: a text as it is, anything else as JSON. */
  say(line: unknown): void;
  /** The next message, in the order they came. Waits for it. */
  next(): Promise<Message>;
  /** The next message with this id; others before it are dropped. */
  answerTo(id: unknown): Promise<Message>;
  /** Ends the input, waits for the end, and gives what was not asked for yet. */
  hangUp(): Promise<Message[]>;
}

export function openPipe(runtime: Runtime): PipeClient {
  const input = new PassThrough();
  const output = new PassThrough();
  const messages: Message[] = [];
  const waiting: ((message: Message) => void)[] = [];
  let text = '';
  output.on('data', (piece) => {
    text += piece;
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const message = JSON.parse(line);
      const waiter = waiting.shift();
      if (waiter) waiter(message);
      else messages.push(message);
    }
  });
  const next = () =>
    messages.length > 0
      ? Promise.resolve(messages.shift())
      : new Promise<Message>((resolve) => void waiting.push(resolve));
  const conversation = serveConversation(runtime, { input, output });
  return {
    ...conversation,
    input,
    output,
    next,
    say: (line) => void input.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`),
    async answerTo(id) {
      for (;;) {
        const message = await next();
        if (message.id === id) return message;
      }
    },
    async hangUp() {
      input.end();
      await conversation.ended;
      return messages;
    },
  };
}

/** A request of JSON-RPC. */
export function asking(id: unknown, method: string, params?: object): object {
  return { jsonrpc: '2.0', id, method, ...(params && { params }) };
}

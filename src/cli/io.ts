/**
 * What a command sees of the world, so that it can be tested without a process.
 *
 * @module
 */

import type { Readable, Writable } from 'node:stream';

export interface Io {
  out(text: string): void;
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a person looks at what is written: then it may be laid out, and progress shown. */
  readonly isTerminal?: { readonly out: boolean; readonly err: boolean };
  /** Resolves when the process was asked to end; for commands that run until then. */
  readonly untilStopped?: () => Promise<void>;
  /** The pipes themselves, for a command that holds a conversation over them. */
  readonly pipes?: { readonly input: Readable; readonly output: Writable };
  /** All of standard input; absent where there is none. */
  readonly input?: () => Promise<string>;
}

/** Resolves with the number that the process should end with (`exit.ts`). */
export type Command = (args: readonly string[], io: Io) => Promise<number>;

/** Reads a stream to its end, or rejects when it has more than that many bytes. */
export async function readAll(
  stream: AsyncIterable<Uint8Array | string>,
  bytesMax: number,
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > bytesMax) throw new Error(`standard input has more than ${bytesMax} bytes`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString();
}

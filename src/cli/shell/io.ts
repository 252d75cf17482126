/**
 * The environment of a command: streams, variables and signals, so that tests need no process.
 *
 * @module
 */

import type { Readable, Writable } from 'node:stream';

export interface Io {
  out(text: string): void;
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether output goes to a terminal: then a command may format it and show progress. */
  readonly isTerminal?: {
    readonly out: boolean;
    readonly err: boolean;
    /** The width of the terminal now, where it is known. */
    readonly columns?: number | undefined;
  };
  /** Resolves when the process is asked to stop; for commands that run until then. */
  readonly untilStopped?: () => Promise<void>;
  /** Makes the process end with the command, although code that the command loads may keep it alive. */
  readonly endAfter?: () => void;
  /** The raw streams, for a command that speaks a protocol over them. */
  readonly pipes?: { readonly input: Readable; readonly output: Writable };
  /** All of standard input; absent where there is none. */
  readonly input?: () => Promise<string>;
  /** Asks the person at the terminal; absent where there is none. Resolves with nothing when the input has ended. */
  readonly ask?: ((question: string) => Promise<string | undefined>) | undefined;
}

/** Aborts when the process is asked to stop. */
export function stopSignal({ untilStopped }: Io): AbortSignal {
  const stop = new AbortController();
  void untilStopped?.().then(() => stop.abort(new Error('the command was asked to stop')));
  return stop.signal;
}

/** Reads a stream to its end. Rejects when it has more than `bytesMax` bytes. */
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

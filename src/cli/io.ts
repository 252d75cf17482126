/**
 * What a command sees of the world, so that it can be tested without a process.
 *
 * @module
 */

export interface Io {
  out(text: string): void;
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** All of standard input; absent where there is none. */
  readonly input?: () => Promise<string>;
}

/** Resolves with the number that the process should end with (`exit.ts`). */
export type Command = (args: readonly string[], io: Io) => Promise<number>;

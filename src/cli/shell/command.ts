/**
 * Commands as data: a leaf does one thing, a group has leaves. `program.ts` runs them; help, completion and the
 * page of the documentation are made from them.
 *
 * @module
 */

import type { Readable, Writable } from 'node:stream';
import { EXIT_OK } from './exit.ts';
import type { Given, Options } from './options.ts';

interface Named {
  readonly name: string;
  /** One line in a list of commands: a lower-case verb, no full stop. */
  readonly summary: string;
  /** Paragraphs of help, separated by empty lines. */
  readonly about?: string;
}

export interface Leaf extends Named {
  readonly operands: Options;
  readonly options: Options;
  /** Commands that work as they stand, each with what it does. */
  readonly examples: readonly (readonly [command: string, what: string])[];
  /** What an exit status means here, where that is more than `EXIT_MEANINGS` says. */
  readonly exits: readonly (readonly [status: number, meaning: string])[];
  /** Completes "Cannot …: " before the reason of an error, such as `read the log`. */
  readonly cannot: string;
  run(given: Readonly<Record<string, unknown>>, io: Io): Promise<number>;
}

export interface Group extends Named {
  /** Runs when the arguments name none of the commands. */
  readonly own?: Leaf;
  readonly commands: readonly (Leaf | Group)[];
}

/** A command of the first level. Its module is loaded only when it is asked for. */
export interface Entry extends Named {
  load(): Promise<Leaf | Group>;
}

interface LeafSpec<Operands extends Options, Settings extends Options> extends Named {
  /** In their order. An operand of the kind `list` or `rest` comes last. */
  readonly operands?: Operands;
  readonly options?: Settings;
  readonly examples?: Leaf['examples'];
  readonly exits?: Leaf['exits'];
  readonly cannot: string;
  /**
   * Resolves with an exit status, or with nothing for `EXIT_OK`. An error it throws becomes one line and `EXIT_FAILED`,
   * or that of a `CommandFault`.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands end without a word about it.
  run(given: Given<Operands> & Given<Settings>, io: Io): Promise<number | void>;
}

// biome-ignore lint/complexity/noBannedTypes: no operands and no options are the default.
export function leaf<Operands extends Options = {}, Settings extends Options = {}>(
  spec: LeafSpec<Operands, Settings>,
): Leaf {
  const { operands, options, examples = [], exits = [], run, ...named } = spec;
  return {
    ...named,
    operands: operands ?? {},
    options: options ?? {},
    examples,
    exits,
    // The program gives exactly what the two tables describe.
    run: async (given, io) =>
      (await run(given as Given<Operands> & Given<Settings>, io)) ?? EXIT_OK,
  };
}

export function isGroup(command: Leaf | Group): command is Group {
  return 'commands' in command;
}

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

/** Whether the person at the terminal answers yes. */
export async function answersYes({ ask }: Pick<Io, 'ask'>, question: string): Promise<boolean> {
  return /^y(?:es)?$/i.test(((await ask?.(question)) ?? '').trim());
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

/**
 * Commands as data: a leaf does one thing, a group has leaves. `program.ts` runs them; help, completion and the
 * page of the documentation are made from them.
 *
 * @module
 */

import type { Io } from './io.ts';
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
  /** Resolves with an exit status. An error it throws becomes one line and `EXIT_FAILED`, or that of a `CommandFault`. */
  run(given: Given<Operands> & Given<Settings>, io: Io): Promise<number>;
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
    run: (given, io) => run(given as Given<Operands> & Given<Settings>, io),
  };
}

export function isGroup(command: Leaf | Group): command is Group {
  return 'commands' in command;
}

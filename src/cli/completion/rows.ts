/**
 * What a shell completes, as rows: one for each command, with the words that may follow it.
 *
 * @module
 */

import { type Group, isGroup, type Leaf } from '../shell/command.ts';

export interface CompletionRow {
  /** The words that name the command after `writ`, joined by spaces; empty for `writ` itself. */
  readonly at: string;
  readonly commands: readonly CompletionWord[];
  readonly options: readonly CompletionOption[];
  /** Words that an operand may be. */
  readonly choices: readonly string[];
}

interface CompletionWord {
  readonly name: string;
  readonly help: string;
}

export interface CompletionOption extends CompletionWord {
  readonly takesValue: boolean;
  /** Empty where the value is free. */
  readonly choices: readonly string[];
}

const HELP: CompletionOption = {
  name: '--help',
  help: 'this text',
  takesValue: false,
  choices: [],
};

const VERSION: CompletionOption = {
  name: '--version',
  help: 'the version of this program',
  takesValue: false,
  choices: [],
};

export function completionRows(commands: readonly (Leaf | Group)[]): CompletionRow[] {
  const help = { name: 'help', help: 'the text of a command' };
  const root = {
    at: '',
    commands: [...commands.map(wordOf), help],
    options: [HELP, VERSION],
    choices: [],
  };
  const names = commands.map(({ name }) => name);
  const ofHelp = { at: 'help', commands: [], options: [], choices: names };
  return [root, ofHelp, ...commands.flatMap((command) => rowsOf(command, ''))];
}

function rowsOf(command: Leaf | Group, above: string): CompletionRow[] {
  const at = `${above} ${command.name}`.trim();
  const below = isGroup(command) ? command.commands : [];
  const leaf = isGroup(command) ? command.own : command;
  const row = {
    at,
    commands: below.map(wordOf),
    options: [...optionsOf(leaf), HELP],
    choices: Object.values(leaf?.operands ?? {}).flatMap(({ choices }) => choices ?? []),
  };
  return [row, ...below.flatMap((each) => rowsOf(each, at))];
}

function wordOf({ name, summary }: Leaf | Group): CompletionWord {
  return { name, help: summary };
}

function optionsOf(leaf: Leaf | undefined): CompletionOption[] {
  return Object.entries(leaf?.options ?? {}).map(([name, { kind, help, choices }]) => ({
    name: `--${name}`,
    help,
    takesValue: kind !== 'flag',
    choices: choices ?? [],
  }));
}

/** Text in single quotes, as bash and zsh read it. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Runs commands with commander: reads arguments, prints help, and turns every error into one line and a status.
 *
 * @module
 */

import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { printable } from '../../domain/wire/printable.ts';
import { packageManifest } from '../../package.ts';
import { type Entry, type Group, isGroup, type Leaf } from './command.ts';
import { CommandFault, EXIT_FAILED, EXIT_MEANINGS, EXIT_OK } from './exit.ts';
import type { Io } from './io.ts';
import type { Option as OptionRow } from './options.ts';

/** Columns of help. */
const HELP_WIDTH = 96;

/** Runs what the arguments ask for. Never rejects; resolves with the exit status. */
export async function runProgram(
  entries: readonly Entry[],
  argv: readonly string[],
  io: Io,
): Promise<number> {
  let status = EXIT_OK;
  const run: Run = async (command, given) => {
    status = await ended(command, given, io);
  };
  const program = rootOf();
  try {
    for (const entry of entries) {
      // A command that is not asked for shows only its summary, so its module is not loaded.
      const isAsked = argv.includes(entry.name);
      program.addCommand(isAsked ? commandOf(await entry.load(), run) : named(entry));
    }
    configure(program, io);
    await program.parseAsync(argv, { from: 'user' });
    return status;
  } catch (error) {
    return refused(error, argv, io);
  }
}

type Run = (command: Leaf, given: Record<string, unknown>) => Promise<void>;

function rootOf(): Command {
  const root = new Command('writ')
    .description('Governed capabilities for automated agents.')
    .version(packageManifest().version, '-v, --version', 'the version of this program')
    .helpOption('-h, --help', 'this text, or that of a command')
    .helpCommand('help [command]', 'the text of a command');
  return root.addHelpText('after', `\nExit status:\n${exitLines(EXIT_MEANINGS)}`);
}

function commandOf(command: Leaf | Group, run: Run): Command {
  const made = named(command);
  if (isGroup(command)) {
    for (const each of command.commands) made.addCommand(commandOf(each, run));
    return made;
  }
  for (const [name, row] of Object.entries(command.operands)) {
    const { kind, isNeeded, help, choices } = row;
    const form = kind === 'list' ? `${name}...` : name;
    const operand = new Argument(isNeeded ? `<${form}>` : `[${form}]`, help);
    made.addArgument(choices ? operand.choices([...choices]) : operand);
  }
  const rows = Object.entries(command.options);
  const flags = new Set(rows.map(([name]) => `--${name}`));
  for (const [name, row] of rows) made.addOption(optionOf(name, row, flags));
  made.addHelpText('after', afterHelp(command));
  return made.action(() => run(command, givenTo(command, made)));
}

function named({ name, summary, about }: Pick<Leaf, 'name' | 'summary' | 'about'>): Command {
  return new Command(name)
    .summary(summary)
    .description(about ?? `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`)
    .helpOption('-h, --help', 'this text')
    .helpCommand(false);
}

function optionOf(name: string, row: OptionRow<unknown>, flags: ReadonlySet<string>): Option {
  const form = row.form === undefined ? '' : ` ${row.form}`;
  const option = new Option(`--${name}${form}`, row.help);
  if (row.isNeeded) option.makeOptionMandatory();
  if (row.kind === 'flag') return option;
  return option.argParser((text: string, before: unknown) => {
    // A value may begin with a dash, as one thumbprint in 64 does; another option is no value.
    if (flags.has(text)) throw new InvalidArgumentError('Expected a value, not another option.');
    if (row.choices && !row.choices.includes(text)) {
      throw new InvalidArgumentError(`Expected one of ${row.choices.join(', ')}.`);
    }
    if (row.kind === 'list') return [...((before as string[] | undefined) ?? []), text];
    return row.kind === 'number' ? numberOf(text) : text;
  });
}

function numberOf(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a positive whole number.');
}

function givenTo({ operands, options }: Leaf, made: Command): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  Object.entries(operands).forEach(([name, { kind }], index) => {
    given[name] = made.processedArgs[index] ?? (kind === 'list' ? [] : undefined);
  });
  const values = made.opts();
  for (const [name, { kind }] of Object.entries(options)) {
    const absent = { flag: false, list: [], value: undefined, number: undefined }[kind];
    given[name] = values[attributeOf(name)] ?? absent;
  }
  return given;
}

function attributeOf(name: string): string {
  return new Option(`--${name}`).attributeName();
}

function afterHelp({ examples, exits }: Leaf): string {
  const shown = examples.map(([command, what]) => `  # ${what}\n  ${command}`).join('\n');
  const first = shown === '' ? '' : `\nExamples:\n${shown}\n`;
  const own = exits.length === 0 ? '' : `\nExit status:\n${exitLines(exits)}`;
  return `${first}${own}`;
}

function exitLines(rows: readonly (readonly [number, string])[]): string {
  return rows.map(([status, meaning]) => `  ${status}  ${meaning}`).join('\n');
}

/** The same for every command, so that each prints through the streams of `io`. */
function configure(command: Command, io: Io): void {
  command
    .exitOverride()
    .showHelpAfterError(false)
    .showSuggestionAfterError(true)
    .configureHelp({ helpWidth: HELP_WIDTH, sortSubcommands: true, showGlobalOptions: false })
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      // `refused` writes the line, from the error that commander throws.
      outputError: () => undefined,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
    });
  for (const each of command.commands) configure(each, io);
}

async function ended(command: Leaf, given: Record<string, unknown>, io: Io): Promise<number> {
  try {
    return await command.run(given, io);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = printable(why.replaceAll(/\s*\n\s*/g, '; '));
    // A refusal of the service is a sentence of its own.
    io.err(
      message.startsWith('Cannot ') ? `${message}\n` : `Cannot ${command.cannot}: ${message}\n`,
    );
    return error instanceof CommandFault ? error.exit : EXIT_FAILED;
  }
}

/** What commander refused: help and version are answers, everything else is a wrong command. */
function refused(error: unknown, argv: readonly string[], io: Io): number {
  if (!(error instanceof CommanderError)) throw error;
  if (error.exitCode === 0 || error.code === 'commander.help') return error.exitCode && EXIT_FAILED;
  const reason = error.message
    .replace(/^error: /, '')
    .replaceAll(/\s*\n\s*/g, ' ')
    .replaceAll("'", '"')
    .replace(/\.$/, '');
  const words = `writ ${shownArguments(argv)}`.trim();
  io.err(`Cannot run "${printable(words)}": ${printable(reason)}. Try "--help".\n`);
  return EXIT_FAILED;
}

/** The words of the command without its options, whose values may be long. */
function shownArguments(argv: readonly string[]): string {
  const words = argv.findIndex((word) => word.startsWith('-'));
  return argv
    .slice(0, words === -1 ? 3 : words)
    .join(' ')
    .slice(0, 80);
}

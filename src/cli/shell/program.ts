/**
 * Runs commands with commander: reads arguments, prints help, and turns every error into one line and a status.
 *
 * @module
 */

import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { printable } from '../../domain/wire/printable.ts';
import { packageManifest } from '../../package.ts';
import { type Entry, type Group, type Io, isGroup, type Leaf } from './command.ts';
import { CommandFault, EXIT_FAILED, EXIT_MEANINGS, EXIT_OK } from './exit.ts';
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
  let words = argv;
  let rest: readonly string[] | undefined;
  const run: Run = async (command, given) => {
    status = await ended(command, { ...given, ...restGiven(command, rest) }, io);
  };
  const program = rootOf();
  const known: (Leaf | Group)[] = [];
  try {
    for (const entry of entries) {
      // A command that is not asked for shows only its summary, so its module is not loaded.
      const loaded = argv.includes(entry.name) ? await entry.load() : undefined;
      if (loaded) known.push(loaded);
      if (loaded && takesRest(loaded, argv)) [words, rest] = splitAtDashes(argv);
      program.addCommand(loaded ? commandOf(loaded, run) : named(entry));
    }
    configure(program, io);
    await program.parseAsync(words, { from: 'user' });
    return status;
  } catch (error) {
    return commanderExit(error, namesIn(argv, known), io);
  }
}

/** Whether the arguments are for a command to which the words after `--` belong. */
function takesRest(command: Leaf | Group, [name, second]: readonly string[]): boolean {
  if (command.name !== name) return false;
  if (isGroup(command) && command.commands.some((each) => each.name === second)) return false;
  const own = isGroup(command) ? command.own : command;
  return Object.values(own?.operands ?? {}).some(({ kind }) => kind === 'rest');
}

/** Commander would read the words after `--` as operands, and the first perhaps as a command. */
function splitAtDashes(argv: readonly string[]): [readonly string[], (readonly string[])?] {
  const end = argv.indexOf('--');
  return end === -1 ? [argv] : [argv.slice(0, end), argv.slice(end + 1)];
}

function restGiven({ operands }: Leaf, rest: readonly string[] | undefined) {
  const names = Object.entries(operands).filter(([, { kind }]) => kind === 'rest');
  return Object.fromEntries(names.map(([name]) => [name, rest]));
}

type Run = (command: Leaf, given: Record<string, unknown>) => Promise<void>;

function rootOf(): Command {
  const root = new Command('writ')
    .description('Governed capabilities for automated agents.')
    .version(packageManifest().version, '-v, --version', 'the version of this program')
    .helpOption('-h, --help', 'this text, or that of a command')
    .helpCommand('help [command]', 'the text of a command')
    .enablePositionalOptions();
  return root.addHelpText('after', `\nExit status:\n${exitLines(EXIT_MEANINGS)}`);
}

function commandOf(command: Leaf | Group, run: Run): Command {
  if (!isGroup(command)) return leafOf(command, run);
  const made = command.own ? leafOf(command.own, run) : named(command);
  for (const each of command.commands) made.addCommand(commandOf(each, run));
  return made;
}

function leafOf(command: Leaf, run: Run): Command {
  const made = named(command);
  for (const [name, row] of Object.entries(command.operands)) {
    if (row.kind === 'rest') continue;
    const { kind, isNeeded, help, choices } = row;
    const form = kind === 'list' ? `${name}...` : name;
    const operand = new Argument(isNeeded ? `<${form}>` : `[${form}]`, help);
    made.addArgument(choices ? operand.choices([...choices]) : operand);
  }
  const rows = Object.entries(command.options);
  const flags = new Set([...rows.map(([name]) => `--${name}`), '--help', '-h']);
  for (const [name, row] of rows) made.addOption(optionOf(name, row, flags));
  made.usage(usageOf(command)).addHelpText('after', afterHelp(command));
  return made.action(() => run(command, givenTo(command, made)));
}

/** The arguments of a command, as help shows them after its name. */
export function usageOf({ operands, options }: Leaf): string {
  const words = Object.entries(operands).map(([name, { kind, isNeeded, form }]) => {
    if (kind === 'rest') return `[-- ${form}]`;
    const shown = kind === 'list' ? `${name}...` : name;
    return isNeeded ? `<${shown}>` : `[${shown}]`;
  });
  const needed = Object.entries(options)
    .filter(([, { isNeeded }]) => isNeeded)
    .map(([name, { form }]) => `--${name} ${form}`);
  return [...needed, '[options]', ...words].join(' ');
}

function named({ name, summary, about }: Pick<Leaf, 'name' | 'summary' | 'about'>): Command {
  return (
    new Command(name)
      .summary(summary)
      .description(about ?? `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`)
      .helpOption('-h, --help', 'this text')
      .helpCommand(false)
      // An option after the name of a command belongs to that command.
      .enablePositionalOptions()
  );
}

function optionOf(name: string, row: OptionRow<unknown>, flags: ReadonlySet<string>): Option {
  const form = row.form === undefined ? '' : ` ${row.form}`;
  const option = new Option(`--${name}${form}`, row.help);
  if (row.isNeeded) option.makeOptionMandatory();
  if (row.kind === 'flag') return option;
  return option.argParser((text: string, before: unknown) => {
    // A value may begin with a dash, as one thumbprint in 64 does; another option is no value.
    if (flags.has(text.replace(/=.*$/s, '')))
      throw new InvalidArgumentError('Expected a value, not another option.');
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

/** What a command gets for an option that is not given, by its kind; nothing for the others. */
const ABSENT: Readonly<Record<string, unknown>> = { flag: false, list: [] };

function givenTo({ operands, options }: Leaf, made: Command): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  Object.entries(operands).forEach(([name, { kind }], index) => {
    if (kind === 'rest') return;
    given[name] = made.processedArgs[index] ?? (kind === 'list' ? [] : undefined);
  });
  const values = made.opts();
  for (const [name, { kind }] of Object.entries(options)) {
    given[name] = values[attributeOf(name)] ?? ABSENT[kind];
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
      // `commanderExit` writes the line, from the error that commander throws.
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
    const message = printable(why.replaceAll(/(:?)\s*\n\s*/g, (_, colon) => (colon ? ': ' : '; ')));
    // A refusal of the service is a sentence of its own.
    io.err(
      message.startsWith('Cannot ') ? `${message}\n` : `Cannot ${command.cannot}: ${message}\n`,
    );
    return error instanceof CommandFault ? error.exit : EXIT_FAILED;
  }
}

/** What commander refused: help and version are answers, everything else is a wrong command. */
function commanderExit(error: unknown, names: readonly string[], io: Io): number {
  if (!(error instanceof CommanderError)) throw error;
  if (error.exitCode === 0 || error.code === 'commander.help') return error.exitCode && EXIT_FAILED;
  const reason = error.message
    .replace(/^error: /, '')
    .replaceAll(/\s*\n\s*/g, ' ')
    // A value that belongs to an unknown option may be a secret.
    .replace(/^(unknown option '--?[\w-]+)=.*'/, "$1'")
    .replaceAll("'", '"')
    .replace(/\.$/, '');
  const words = ['writ', ...names].join(' ');
  io.err(`Cannot run "${words}": ${printable(reason)}. Try "--help".\n`);
  return EXIT_FAILED;
}

/** The names of commands that the arguments begin with. Operands may be secrets, so they are not repeated. */
function namesIn(argv: readonly string[], commands: readonly (Leaf | Group)[]): string[] {
  const [name, ...more] = argv;
  const found = commands.find((each) => each.name === name);
  if (!found) return [];
  return [found.name, ...(isGroup(found) ? namesIn(more, found.commands) : [])];
}

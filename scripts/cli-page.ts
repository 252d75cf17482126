/**
 * The page of the command line: every command with its operands, options and examples, from the commands themselves.
 *
 * @module
 */

import { type Group, isGroup, type Leaf } from '../src/cli/shell/command.ts';
import { EXIT_MEANINGS } from '../src/cli/shell/exit.ts';
import type { Options } from '../src/cli/shell/options.ts';
import { usageOf } from '../src/cli/shell/program.ts';

const RULES = `# The command line

Made from the commands by \`npm run generate\`. \`writ <command> --help\` prints the same text.

- **Output.** The result goes to standard output, progress and errors to standard error. Commands print tables and facts for people, also into
  a pipe. \`--json\` prints JSON for programs: one document a line, in the form of the protocol where the protocol has one. A refusal of the
  service is then printed as JSON too.
- **Colour and progress.** Colour appears only on a terminal, and not where \`NO_COLOR\` is set or \`TERM\` is \`dumb\`. Progress appears only when
  standard error is a terminal and the command takes more than a second.
- **Errors** are one line on standard error: what could not be done, and why. There is no stack trace.
- **Credentials** of a command are never arguments, because arguments show in the list of processes. A command takes its credential from
  \`--token-file\`, else from \`$WRIT_CLIENT_CREDENTIAL\`, else from your login (\`writ login\`). A file with a secret that others can
  read is refused; a pipe, such as \`<(pass show writ)\`, is read. An empty file is an error, not the next of these.
- **The service** is that of \`--service\`, else of \`$WRIT_CLIENT_SERVICE\`, else the only one with a login.
- **Values** may begin with a dash (\`--pin -x\`). Everything after \`--\` is an operand. Options that may be repeated are given once for each value.
- **Completion** for bash, zsh and fish: \`writ completion --help\`.

## Exit statuses

| status | meaning |
|---|---|
`;

export function cliPage(commands: readonly (Leaf | Group)[]): string {
  const sorted = [...commands].sort((one, other) => (one.name < other.name ? -1 : 1));
  const statuses = EXIT_MEANINGS.map(([status, meaning]) => `| ${status} | ${meaning} |\n`);
  const listed = sorted.map(
    ({ name, summary }) => `| [\`writ ${name}\`](#writ-${name}) | ${cell(summary)} |\n`,
  );
  const heading = '\n## Commands\n\n| command | what it does |\n|---|---|\n';
  const sections = sorted.map((command) => sectionOf(command, 'writ', 2));
  return `${RULES}${statuses.join('')}${heading}${listed.join('')}${sections.join('')}`;
}

function sectionOf(command: Leaf | Group, above: string, level: number): string {
  const name = `${above} ${command.name}`;
  const heading = `\n${'#'.repeat(level)} ${name}\n\n`;
  if (!isGroup(command)) return `${heading}${leafText(command, name)}`;
  const own = command.own ? leafText(command.own, name) : `${aboutOf(command)}\n`;
  const below = command.commands.map((each) => sectionOf(each, name, level + 1));
  return `${heading}${own}${below.join('')}`;
}

function aboutOf({ summary, about }: Leaf | Group): string {
  const text = about ?? `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
  return text
    .split(/\n{2,}/)
    .map((paragraph) => prose(paragraph.replaceAll(/\s*\n\s*/g, ' ')))
    .join('\n\n');
}

function leafText(leaf: Leaf, name: string): string {
  const { operands, options, examples, exits } = leaf;
  const usage = `\`\`\`text\n${name} ${usageOf(leaf)}\n\`\`\`\n`;
  const shown = examples.map(([command, what]) => `# ${what}\n${command}`).join('\n');
  const parts = [
    `${aboutOf(leaf)}\n`,
    usage,
    rowsOf(operands, 'operand', (word) => word),
    rowsOf(options, 'option', (word, form) => `--${word}${form ? ` ${form}` : ''}`),
    shown === '' ? '' : `\`\`\`text\n${shown}\n\`\`\`\n`,
    exits.length === 0
      ? ''
      : `Exit status: ${exits.map(([status, meaning]) => `${status} ${prose(meaning)}`).join('; ')}.\n`,
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function rowsOf(
  table: Options,
  what: 'operand' | 'option',
  shown: (name: string, form: string | undefined) => string,
): string {
  const rows = Object.entries(table).map(([name, { form, help, isNeeded }]) => {
    const need = isNeeded ? ' (required)' : '';
    return `| \`${cell(shown(name, form))}\` | ${cell(prose(help))}${need} |\n`;
  });
  return rows.length === 0 ? '' : `| ${what} | meaning |\n|---|---|\n${rows.join('')}`;
}

/** Variables and options as code. Markdown would read a form such as <file> as HTML, and a star as markup. */
function prose(text: string): string {
  return text
    .replaceAll(/[<*]/g, '\\$&')
    .replaceAll(/\$?\b[A-Z]+_[A-Z_]+\b|(?<![\w-])--[a-z][a-z-]+/g, '`$&`');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

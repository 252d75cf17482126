/**
 * `writ completion`: prints a script with which a shell completes commands, options and their values.
 *
 * The script is made from the commands and asks nothing when it runs.
 *
 * @module
 */

import { type Group, isGroup, type Leaf, leaf } from '../shell/command.ts';
import { neededChoice } from '../shell/options.ts';

type Script = (rows: readonly CompletionRow[]) => string;

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const satisfies Record<
  string,
  Script
>;

const SHELLS = ['bash', 'zsh', 'fish'] as const satisfies (keyof typeof SCRIPTS)[];

export function completionCommand(tree: () => Promise<readonly (Leaf | Group)[]>): Leaf {
  return leaf({
    name: 'completion',
    summary: 'print the completion script of a shell',
    about:
      'Prints a script with which a shell completes the commands, their options and the values of options. The script reads no file and contacts no service. Print it again after an update.',
    operands: { shell: neededChoice(SHELLS, 'the shell') },
    examples: [
      ['source <(writ completion bash)', 'for this shell; add the line to ~/.bashrc for all'],
      ['writ completion zsh > ~/.zfunc/_writ', 'for zsh, with ~/.zfunc in fpath before compinit'],
      ['writ completion fish > ~/.config/fish/completions/writ.fish', 'for fish'],
    ],
    cannot: 'print the completion script',
    async run({ shell }, io) {
      io.out(SCRIPTS[shell](completionRows(await tree())));
    },
  });
}

/**
 * The completion script of bash. Works with bash 3.2, which macOS has.
 *
 * Where it offers nothing, bash completes names of files.
 */
function bashScript(rows: readonly CompletionRow[]): string {
  const groups = rows.filter(({ commands }) => commands.length > 0);
  const chosen = rows.filter(({ choices }) => choices.length > 0);
  const valued = rows.flatMap(({ at, options }) =>
    options.filter(({ takesValue }) => takesValue).map((option) => ({ at, option })),
  );
  return `# Completion of writ for bash, made by "writ completion bash".

_writ_commands() {
  case "$1" in
${groups.map(({ at, commands }) => bashLine(at, namesOf(commands))).join('\n')}
  esac
}

# Words that an operand may be.
_writ_choices() {
  case "$1" in
${chosen.map(({ at, choices }) => bashLine(at, choices)).join('\n')}
  esac
}

_writ_options() {
  case "$1" in
${rows.map(({ at, options }) => bashLine(at, namesOf(options))).join('\n')}
  esac
}

# The values of an option. Fails for an option without a value.
_writ_values() {
  case "$1" in
${valued.map(({ at, option }) => bashLine(`${at} ${option.name}`, option.choices)).join('\n')}
    *) return 1 ;;
  esac
}

_writ() {
  local at="" word words index skipped=0
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}"
  COMPREPLY=()
  # Bash makes three words of --option=value.
  [[ $previous == "=" ]] && previous="\${COMP_WORDS[COMP_CWORD - 2]}"
  [[ $current == "=" ]] && current=""
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    [[ $word == "--" ]] && return
    if [[ $word == "=" ]]; then
      skipped=1
    elif ((skipped)); then
      skipped=0
    elif [[ $word == -* ]]; then
      if _writ_values "$at $word" > /dev/null; then skipped=1; fi
    elif [[ " $(_writ_commands "$at") " == *" $word "* ]]; then
      if [[ -z $at ]]; then at="$word"; else at="$at $word"; fi
    fi
  done
  if ! words="$(_writ_values "$at $previous")"; then
    if [[ $current == -* ]]; then
      words="$(_writ_options "$at")"
    else
      words="$(_writ_commands "$at") $(_writ_choices "$at")"
    fi
  fi
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(compgen -W "$words" -- "$current")
}

complete -o default -F _writ writ
`;
}

function namesOf(words: readonly { readonly name: string }[]): string[] {
  return words.map(({ name }) => name);
}

function bashLine(at: string, words: readonly string[]): string {
  return `    ${shellQuoted(at)}) echo ${shellQuoted(words.join(' '))} ;;`;
}

/** The completion script of zsh, with what each command and option does. */
function zshScript(rows: readonly CompletionRow[]): string {
  return `#compdef writ
# Completion of writ for zsh, made by "writ completion zsh".

_writ() {
  local at="" word skipped=0 index
  local -a commands_here choices_here options_here values_here valued
  for ((index = 2; index <= CURRENT; index++)); do
    commands_here=() choices_here=() options_here=() valued=()
    case "$at" in
${rows.map(caseOf).join('\n')}
    esac
    ((index == CURRENT)) && break
    word="\${words[index]}"
    if [[ $word == "--" ]]; then
      _files
      return
    fi
    if ((skipped)); then
      skipped=0
    elif [[ $word == -* ]]; then
      ((\${valued[(Ie)$word]})) && skipped=1
    elif ((\${commands_here[(I)$word:*]})); then
      at="\${at:+$at }$word"
    fi
  done
  if ((skipped)); then
    case "$at \${words[CURRENT - 1]}" in
${rows.flatMap(valueCases).join('\n')}
    esac
    if ((\${#values_here})); then compadd -a values_here; else _files; fi
  elif [[ \${words[CURRENT]} == -* ]]; then
    _describe -o option options_here
  elif ((\${#commands_here})); then
    _describe command commands_here
  elif ((\${#choices_here})); then
    compadd -a choices_here
  else
    _files
  fi
}

if [[ $funcstack[1] == _writ ]]; then _writ "$@"; else compdef _writ writ; fi
`;
}

function caseOf({ at, commands, choices, options }: CompletionRow): string {
  const valued = options.filter(({ takesValue }) => takesValue).map(({ name }) => name);
  return `      ${shellQuoted(at)})
        commands_here=(${commands.map(described).join(' ')})
        choices_here=(${choices.join(' ')})
        options_here=(${options.map(described).join(' ')})
        valued=(${valued.join(' ')})
        ;;`;
}

function valueCases({ at, options }: CompletionRow): string[] {
  const withChoices = options.filter(({ choices }) => choices.length > 0);
  return withChoices.map(
    ({ name, choices }) =>
      `      ${shellQuoted(`${at} ${name}`)}) values_here=(${choices.join(' ')}) ;;`,
  );
}

/** A colon separates the word from what it does. */
function described({ name, help }: Pick<CompletionOption, 'name' | 'help'>): string {
  return shellQuoted(`${name.replaceAll(':', '\\:')}:${help}`);
}

/** The completion script of fish, with what each command and option does. */
function fishScript(rows: readonly CompletionRow[]): string {
  return `# Completion of writ for fish, made by "writ completion fish".

# The command that the words so far name. Prints nothing after "--".
function __writ_at
    set -l at
    set -l skipped 0
    for word in (commandline -opc)[2..-1]
        if test $skipped = 1
            set skipped 0
            continue
        end
        switch "$at $word"
            case '* --'
                return 1
${valuedCases(rows)}
            case '* -*'
                continue
${commandCases(rows)}
        end
    end
    string join ' ' $at
end

function __writ_is
    test "$(__writ_at)" = "$argv[1]"
end

${rows.flatMap(linesOf).join('\n')}
`;
}

function valuedCases(rows: readonly CompletionRow[]): string {
  const names = rows.flatMap(({ at, options }) =>
    options.filter(({ takesValue }) => takesValue).map(({ name }) => fishQuoted(`${at} ${name}`)),
  );
  return `            case ${names.join(' ')}\n                set skipped 1`;
}

function commandCases(rows: readonly CompletionRow[]): string {
  const names = rows.flatMap(({ at, commands }) =>
    commands.map(({ name }) => fishQuoted(`${at} ${name}`)),
  );
  return `            case ${names.join(' ')}\n                set -a at $word`;
}

function linesOf({ at, commands, options, choices }: CompletionRow): string[] {
  const is = `complete -c writ -n ${fishQuoted(`__writ_is ${fishQuoted(at)}`)}`;
  return [
    ...commands.map(({ name, help }) => `${is} -f -a ${name} -d ${fishQuoted(help)}`),
    ...choices.map((name) => `${is} -f -a ${name}`),
    ...options.map(({ name, help, takesValue, choices: values }) => {
      const long = `${is} -l ${name.slice(2)} -d ${fishQuoted(help)}`;
      if (!takesValue) return long;
      return values.length > 0 ? `${long} -x -a ${fishQuoted(values.join(' '))}` : `${long} -r`;
    }),
  ];
}

/** Fish knows two escapes in single quotes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

interface CompletionRow {
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

interface CompletionOption extends CompletionWord {
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

/** What a shell completes, as rows: one for each command, with the words that may follow it. */
function completionRows(commands: readonly (Leaf | Group)[]): CompletionRow[] {
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
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

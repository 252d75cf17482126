/**
 * The completion script of bash. Works with bash 3.2, which macOS has.
 *
 * Where it offers nothing, bash completes names of files.
 *
 * @module
 */

import { type CompletionRow, shellQuoted } from './rows.ts';

export function bashScript(rows: readonly CompletionRow[]): string {
  const groups = rows.filter(({ commands }) => commands.length > 0);
  const chosen = rows.filter(({ choices }) => choices.length > 0);
  const valued = rows.flatMap(({ at, options }) =>
    options.filter(({ takesValue }) => takesValue).map((option) => ({ at, option })),
  );
  return `# Completion of writ for bash, made by "writ completion bash".

_writ_commands() {
  case "$1" in
${groups.map(({ at, commands }) => line(at, namesOf(commands))).join('\n')}
  esac
}

# Words that an operand may be.
_writ_choices() {
  case "$1" in
${chosen.map(({ at, choices }) => line(at, choices)).join('\n')}
  esac
}

_writ_options() {
  case "$1" in
${rows.map(({ at, options }) => line(at, namesOf(options))).join('\n')}
  esac
}

# The values of an option. Fails for an option without a value.
_writ_values() {
  case "$1" in
${valued.map(({ at, option }) => line(`${at} ${option.name}`, option.choices)).join('\n')}
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

function line(at: string, words: readonly string[]): string {
  return `    ${shellQuoted(at)}) echo ${shellQuoted(words.join(' '))} ;;`;
}

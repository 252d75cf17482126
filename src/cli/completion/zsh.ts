/**
 * The completion script of zsh, with what each command and option does.
 *
 * @module
 */

import { type CompletionOption, type CompletionRow, shellQuoted } from './rows.ts';

export function zshScript(rows: readonly CompletionRow[]): string {
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

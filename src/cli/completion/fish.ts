/**
 * The completion script of fish, with what each command and option does.
 *
 * @module
 */

import type { CompletionRow } from './rows.ts';

export function fishScript(rows: readonly CompletionRow[]): string {
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

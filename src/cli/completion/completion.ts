/**
 * `writ completion`: prints a script with which a shell completes commands, options and their values.
 *
 * The script is made from the commands and asks nothing when it runs.
 *
 * @module
 */

import { type Group, type Leaf, leaf } from '../shell/command.ts';
import { EXIT_OK } from '../shell/exit.ts';
import { neededChoice } from '../shell/options.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { type CompletionRow, completionRows } from './rows.ts';
import { zshScript } from './zsh.ts';

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
      return EXIT_OK;
    },
  });
}

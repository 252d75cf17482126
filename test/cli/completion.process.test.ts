/**
 * The scripts of completion: the one of bash in a bash, those of zsh and fish in their shells where they are installed.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commandTree, main } from '../../src/cli/main.ts';
import { isGroup } from '../../src/cli/shell/command.ts';
import { temporaryFolder } from '../support/ends.ts';

async function scriptOf(shell: string): Promise<string> {
  const out: string[] = [];
  const io = { out: (text: string) => void out.push(text), err: () => undefined, env: {} };
  expect(await main(['completion', shell], io)).toBe(0);
  return out.join('');
}

const folder = temporaryFolder();
const script = join(folder, 'writ.bash');
writeFileSync(script, await scriptOf('bash'));

/** What bash offers for the last of these words, as readline would call the function. */
function offered(...words: string[]): string[] {
  const program = `set -u
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
_writ
for word in \${COMPREPLY[@]+"\${COMPREPLY[@]}"}; do printf '%s\\n' "$word"; done`;
  const args = ['--norc', '--noprofile', '-c', program, 'bash', script, 'writ', ...words];
  const { status, stdout, stderr } = spawnSync('bash', args, { encoding: 'utf8', cwd: folder });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.split('\n').filter(Boolean);
}

test.each([
  [['fs'], ['fsck']],
  [['audit', 'q'], ['query']],
  [['audit', 'query', '--ty'], ['--type']],
  [['audit', 'query', '--type', 'iss'], ['issuance']],
  [['audit', 'query', '--type', '=', 'iss'], ['issuance']],
  [['audit', 'query', '--type', '=', 'all', '--lea'], ['--leaf']],
  // The value of an option is no command, whatever it says.
  [['audit', '--help', 'ta'], ['tail']],
  [['fsck', '--store', 'audit', '--ret'], ['--retention']],
  [['keys', 'rotate', 'r'], ['row']],
  [['keys', 'rotate', 'row', '--at'], ['--at-once']],
  [['guard', 'rev'], ['review']],
  [['guard', '--tools', 's'], ['search']],
  [['guard', '--tools', 'search', 'che'], ['check']],
  [['completion', 'z'], ['zsh']],
  [
    ['help', 'log'],
    ['login', 'logout'],
  ],
  [['--v'], ['--version']],
  // Left to bash, which completes names of files.
  [['guard', '--', 'che'], []],
  [['verify', 'log', 'de'], []],
  [['fsck', '--keys', 'x'], []],
  [['nonsense', 'q'], []],
  [['audit', 'query', '--type', '$(touch made)'], []],
])('bash completes %j to %j', (words, expected) => {
  expect(offered(...words)).toEqual(expected);
  expect(readdirSync(folder), 'words are never run').not.toContain('made');
});

test('bash completes every command, and every option of each', async () => {
  const tree = await commandTree();
  expect(offered('')).toEqual([...tree.map(({ name }) => name), 'help']);
  for (const command of tree) {
    const leaf = isGroup(command) ? command.own : command;
    const options = Object.keys(leaf?.options ?? {}).map((name) => `--${name}`);
    expect(offered(command.name, '--')).toEqual([...options, '--help']);
    if (isGroup(command)) {
      const names = command.commands.map(({ name }) => name);
      expect(offered(command.name, '').slice(0, names.length)).toEqual(names);
    }
  }
}, 120_000);

for (const shell of ['zsh', 'fish'] as const) {
  test(`the script of ${shell} names every command, and parses where ${shell} is installed`, async () => {
    const text = await scriptOf(shell);
    for (const { name, summary } of await commandTree()) {
      expect(text).toContain(name);
      expect(text.replaceAll(/\\'|'\\''/g, "'")).toContain(summary);
    }
    const file = join(folder, `writ.${shell}`);
    writeFileSync(file, text);
    const checked = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
    if (checked.error === undefined) expect(checked.stderr).toBe('');
  });
}

import { expect, test } from 'vitest';
import { commandTree, main } from './main.ts';
import { type Group, isGroup, type Leaf } from './shell/command.ts';

interface Placed {
  /** The words that name it, without `writ`. */
  readonly words: readonly string[];
  readonly command: Leaf | Group;
}

function placed(commands: readonly (Leaf | Group)[], above: readonly string[] = []): Placed[] {
  return commands.flatMap((command) => {
    const words = [...above, command.name];
    const below = isGroup(command) ? placed(command.commands, words) : [];
    return [{ words, command }, ...below];
  });
}

/** The leaf that runs when a command is named alone. */
function leafOf(command: Leaf | Group): Leaf | undefined {
  return isGroup(command) ? command.own : command;
}

async function writ(...argv: string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const status = await main(argv, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: {},
  });
  return { status, out: out.join(''), err: err.join('') };
}

const all = placed(await commandTree());

test('the list of commands says of each what the command itself says', async () => {
  const { out } = await writ('--help');
  const listed = out.replaceAll(/\s+/g, ' ');
  for (const { words, command } of all.filter((each) => each.words.length === 1)) {
    expect(listed, words.join(' ')).toContain(command.summary);
  }
});

for (const { words, command } of all) {
  const name = `writ ${words.join(' ')}`;
  const leaf = leafOf(command);

  test(`${name} has a summary, a help text that is an answer, and examples that are its own`, async () => {
    expect(command.summary, 'lower case, no full stop').toMatch(/^[a-z].*[^.]$/);
    const { status, out, err } = await writ(...words, '--help');
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(out).toContain(`Usage: ${name}`);
    if (!leaf) return;
    expect(leaf.cannot).not.toBe('');
    expect(leaf.examples.length, 'examples').toBeGreaterThan(0);
    for (const [example, what] of leaf.examples) {
      expect(example).toMatch(new RegExp(`(?:^|[ |(])${name}(?:[ )]|$)`));
      expect(what).toMatch(/^\S.*[^.]$/);
    }
  });

  test(`${name} refuses an unknown option in one line`, async () => {
    const needed = Object.entries(leaf?.options ?? {}).filter(([, { isNeeded }]) => isNeeded);
    const given = needed.flatMap(([option, { choices }]) => [`--${option}`, choices?.[0] ?? 'x']);
    const { status, out, err } = await writ(...words, ...given, '--no-such-option');
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(err).toMatch(/^Cannot run "writ.*": unknown option "--no-such-option".*\n$/);
  });

  test(`${name} names only options that it has in its examples`, () => {
    const known = new Set(Object.keys(leaf?.options ?? {}).map((each) => `--${each}`));
    for (const [example] of leaf?.examples ?? []) {
      const own = example.replace(/^.*[ (](?=writ )/, '').replace(/(?: -- |[|<>]).*$/, '');
      const used = own.match(/(?<= )--[a-z-]+/g) ?? [];
      expect(used.filter((option) => !known.has(option))).toEqual([]);
    }
  });
}

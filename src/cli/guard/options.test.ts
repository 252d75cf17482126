import assert from 'node:assert/strict';
import { test } from 'vitest';
import { leaf } from '../shell/command.ts';
import { runProgram } from '../shell/program.ts';
import { GUARD_OPERANDS, GUARD_OPTIONS, type GuardOptions, readOptions } from './options.ts';

/** What `writ guard` reads in these arguments. Rejects with the line that it prints. */
async function readOf(args: readonly string[]): Promise<GuardOptions> {
  let options: GuardOptions | undefined;
  let printed = '';
  const own = leaf({
    name: 'guard',
    summary: 'guard',
    operands: GUARD_OPERANDS,
    options: GUARD_OPTIONS,
    cannot: 'guard',
    async run(given) {
      options = readOptions(given);
      return 0;
    },
  });
  const other = leaf({ name: 'check', summary: 'check', cannot: 'check', run: async () => 0 });
  const group = { name: 'guard', summary: 'guard', own, commands: [other] };
  const print = (text: string) => {
    printed += text;
  };
  const io = { out: print, err: print, env: {} };
  const entry = { name: 'guard', summary: 'guard', load: async () => group };
  await runProgram([entry], ['guard', ...args], io);
  if (options) return options;
  throw new Error(printed);
}

test('readOptions() takes everything after -- as the command, options included', async () => {
  const { upstream, isStdio } = await readOf([
    '--stdio',
    '--env',
    'A_TOKEN',
    '--env=B',
    '--',
    'npx',
    '-y',
    'server',
    '--',
    '--stdio',
  ]);

  assert.deepEqual(upstream, {
    command: ['npx', '-y', 'server', '--', '--stdio'],
    env: ['A_TOKEN', 'B'],
  });
  assert.equal(isStdio, true);
});

test('readOptions() reads an address with the variable of its credential', async () => {
  const { upstream } = await readOf([
    '--url=https://mcp.example.com/mcp',
    '--inside',
    '--header',
    'Authorization: Bearer $API_TOKEN',
  ]);

  assert.deepEqual(upstream, {
    url: 'https://mcp.example.com/mcp',
    inside: true,
    credential: { header: 'Authorization', value: 'Bearer $API_TOKEN' },
  });
});

test('a command after -- that has the name of a command of the guard is still a command', async () => {
  const { upstream } = await readOf(['--', 'check', '--help']);

  assert.deepEqual(upstream, { command: ['check', '--help'] });
});

test('readOptions() names no upstream where the policy does', async () => {
  assert.equal((await readOf(['--policy', 'a.yaml'])).upstream, undefined);
});

const FAULTS: [args: string[], why: RegExp][] = [
  [['--url', 'https://a', '--', 'b'], /one of -- <command>, --url and --openapi/],
  [['--url', 'https://a', '--openapi', 'b'], /one of -- <command>, --url and --openapi/],
  [['--'], /no command after --/],
  [['--url', 'mcp.example.com'], /an address such as https:/],
  [['--origin', 'https://a'], /--origin belongs to --openapi/],
  [['--env', 'A', '--url', 'https://a'], /--env belongs to -- <command>/],
  [['--header', 'A: $B', '--', 'b'], /--header belongs to --url or --openapi/],
  [['--inside', '--', 'b'], /--inside belongs to --url or --openapi/],
  [['--token-file', 'a'], /--token-file belongs to --stdio/],
  [['--tools', 'few'], /--tools <all\|search>.*Expected one of all, search/],
  [['--offr', 'a'], /--offr/],
  [['npx', 'server'], /too many arguments/],
];
for (const [args, why] of FAULTS) {
  test(`readOptions() refuses ${args.join(' ')}`, async () => {
    await assert.rejects(readOf(args), why);
  });
}

test('readOptions() does not repeat a secret that was typed in place of a variable', async () => {
  const args = ['--url', 'https://a', '--header', 'Authorization: Bearer canary-9134'];

  await assert.rejects(
    readOf(args),
    (error: Error) => /variable/.test(error.message) && !/canary/.test(error.message),
  );
});

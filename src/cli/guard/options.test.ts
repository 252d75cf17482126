import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readOptions } from './options.ts';

test('readOptions() takes everything after -- as the command, options included', () => {
  const { upstream, isStdio } = readOptions([
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

test('readOptions() reads an address with the variable of its credential', () => {
  const { upstream } = readOptions([
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

test('readOptions() names no upstream where the policy does', () => {
  assert.equal(readOptions(['--policy', 'a.yaml']).upstream, undefined);
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
  [['--tools', 'few'], /--tools all or --tools search, not "few"/],
  [['--offr', 'a'], /--offr/],
  [['npx', 'server'], /npx/],
];
for (const [args, why] of FAULTS) {
  test(`readOptions() refuses ${args.join(' ')}`, () => {
    assert.throws(() => readOptions(args), why);
  });
}

test('readOptions() does not repeat a secret that was typed in place of a variable', () => {
  const args = ['--url', 'https://a', '--header', 'Authorization: Bearer canary-9134'];

  assert.throws(
    () => readOptions(args),
    (error: Error) => /variable/.test(error.message) && !/canary/.test(error.message),
  );
});

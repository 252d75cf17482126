/**
 * `writ connect`: the command or configuration of each client. `connect.process.test.ts` gives it to a shell.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { atService, jsonLines, type Ran } from './run.ts';

const writ = atService('https://desk.example.com');

function done(ran: Ran): Ran {
  assert.equal(ran.status, 0, ran.err);
  return ran;
}

test('writ connect claude-code prints the command of Claude Code', async () => {
  const http = done(await writ(['connect', 'claude-code', '--name', 'desk']));
  const stdio = done(await writ(['connect', 'claude-code', '--stdio']));

  assert.equal(http.out, 'claude mcp add --transport http desk https://desk.example.com/mcp\n');
  assert.equal(
    stdio.out,
    'claude mcp add --transport stdio desk-example-com -- npx writ mcp --service https://desk.example.com\n',
  );
});

test('writ connect vscode prints the command of VS Code, and the file beside it', async () => {
  const { out, err } = done(await writ(['connect', 'vscode', '--name', 'desk']));
  const stdio = done(await writ(['connect', 'vscode', '--name', 'desk', '--stdio', '--json']));

  const server = { type: 'http', url: 'https://desk.example.com/mcp' };
  const added = JSON.stringify({ name: 'desk', ...server });
  assert.equal(out, `code --add-mcp '${added}'\n`);
  assert.match(err, /^Or put this into \.vscode\/mcp\.json of your project:\n/);
  assert.deepEqual(JSON.parse(err.slice(err.indexOf('{'))), { servers: { desk: server } });
  const [printed] = jsonLines(stdio);
  assert.deepEqual(printed.configuration.servers.desk, {
    type: 'stdio',
    command: 'npx',
    args: ['writ', 'mcp', '--service', 'https://desk.example.com'],
  });
});

test('writ connect cursor prints the configuration of Cursor', async () => {
  const http = done(await writ(['connect', 'cursor', '--name', 'desk']));
  const stdio = done(await writ(['connect', 'cursor', '--name', 'desk', '--stdio']));

  assert.deepEqual(JSON.parse(http.out), {
    mcpServers: { desk: { url: 'https://desk.example.com/mcp' } },
  });
  assert.match(http.err, /\.cursor\/mcp\.json/);
  assert.deepEqual(JSON.parse(stdio.out).mcpServers.desk, {
    command: 'npx',
    args: ['writ', 'mcp', '--service', 'https://desk.example.com'],
  });
});

test('writ connect names a service by its address', async () => {
  const nameAt = async (url: string) =>
    jsonLines(await writ(['connect', 'cursor', '--json', '--service', url]))[0].name;

  assert.equal(await nameAt('http://127.0.0.1:8420'), 'writ');
  assert.equal(await nameAt('http://[::1]:8420'), 'writ');
  assert.equal(await nameAt('https://desk.example.com/a/b'), 'desk-example-com');
  assert.match(await nameAt(`https://${'a.'.repeat(60)}com`), /^[a-z-]{1,64}$/);
});

const MISUSED: [what: string, args: string[], why: RegExp][] = [
  ['another client', ['connect', 'emacs'], /unknown command "emacs"/],
  ['a name for a shell', ['connect', 'cursor', '--name', 'a;b'], /expected letters, digits/],
  ['a name like an option', ['connect', 'cursor', '--name', '-s'], /expected letters, digits/],
  ['no address', ['connect', 'cursor', '--service', 'desk'], /is not an address of a service/],
  [
    'an address with a password',
    ['connect', 'cursor', '--service', 'https://a:b@desk.example.com'],
    /is not an address of a service/,
  ],
];
for (const [what, args, why] of MISUSED) {
  test(`writ connect ends with 2 on ${what}`, async () => {
    const ran = await writ(args);

    assert.deepEqual([ran.status, ran.out], [2, '']);
    assert.match(ran.err, why);
  });
}

test('docs/mcp.md shows what writ connect prints', async () => {
  const guide = readFileSync('docs/mcp.md', 'utf8');
  const shown = [...guide.matchAll(/^\$ npx writ (connect .*)\n((?:[^$`].*\n)+)/gm)];
  assert.equal(shown.length, 3);
  for (const [, words = '', expected] of shown) {
    assert.equal(done(await writ(words.split(' '))).out, expected);
  }
});

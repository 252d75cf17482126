/**
 * What `writ connect` prints, read back by a shell: no address makes it run something.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { atService, jsonLines, type Ran } from './run.ts';

const HOSTILE = [
  "https://desk.example.com/'; touch pwned; '",
  'https://desk.example.com/$(touch pwned)',
  'https://desk.example.com/`touch pwned`',
  'https://desk.example.com/a"b\\c',
  'https://desk.example.com/a&b|c;d>e<f*g!j~k',
  'https://desk.example.com/\n\u001b[2Jx',
  'https://ex\u00e4mple.com/\u202e',
];

const writ = atService('https://desk.example.com');
const SECRET = { credential: 'a-secret-credential' };
const folder = temporaryFolder();

function done(ran: Ran): Ran {
  assert.equal(ran.status, 0, ran.err);
  return ran;
}

/** The words that a shell makes of a line. */
function shellWords(line: string): string[] {
  const script = `set -- ${line}\nprintf '%s\\n' "$@"`;
  const { status, stdout, stderr } = spawnSync('sh', ['-euc', script], {
    cwd: folder,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return stdout.trimEnd().split('\n');
}

for (const url of HOSTILE) {
  test(`writ connect prints nothing that a shell runs for ${JSON.stringify(url)}`, async () => {
    for (const client of ['claude-code', 'vscode', 'cursor']) {
      for (const mode of [[], ['--stdio']]) {
        const args = ['connect', client, '--name', 'desk', '--service', url, ...mode];
        const ran = done(await writ(args, SECRET));
        const [connection] = jsonLines(done(await writ([...args, '--json'], SECRET)));

        for (const hidden of ['\u001b', '\u202e', 'a-secret']) {
          assert.ok(!`${ran.out}${ran.err}`.includes(hidden));
        }
        if (client === 'cursor') {
          assert.deepEqual(JSON.parse(ran.out), connection.configuration);
          continue;
        }
        assert.deepEqual(shellWords(ran.out), connection.command);
      }
    }
    assert.deepEqual(readdirSync(folder), [], 'the shell made no file');
  });
}

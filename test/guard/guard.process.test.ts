/**
 * `writ guard` as a process of its own, before a reference server of the MCP project, used by the official client.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { test, vi } from 'vitest';
import { call, newAgent, VERSIONS } from '../mcp/agent.ts';
import { temporaryFolder } from '../support/ends.ts';

const SLOW = 60_000;

const BIN = resolve('dist/src/cli/bin.js');
const FILES = resolve('node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');

function place() {
  const folder = temporaryFolder();
  const shared = join(folder, 'shared');
  mkdirSync(shared);
  writeFileSync(join(shared, 'note.txt'), 'remember the lamp');
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    WRIT_DATA: join(folder, '.writ'),
    WRIT_MARK: 'none',
    PORT: '0',
  };
  return { folder, shared, env, upstream: ['--', process.execPath, FILES, shared] };
}

test('an agent starts the guard of a reference server, reads a file, and cannot write one', {
  timeout: SLOW,
}, async () => {
  const { folder, shared, env, upstream } = place();
  const agent = newAgent(VERSIONS[0]);
  await agent.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [BIN, 'guard', '--stdio', '--id', 'files', ...upstream],
      env,
      cwd: folder,
      stderr: 'ignore',
    }),
  );

  const read = await call(agent, 'read_text_file', { path: join(shared, 'note.txt') });
  const write = await call(agent, 'write_file', { path: join(shared, 'b.txt'), content: 'b' });
  await agent.close();

  assert.match(read.text, /remember the lamp/);
  assert.equal(write.answer.failure.type, 'unknown_capability');
  assert.match(readFileSync(join(folder, 'writ-guard.yaml'), 'utf8'), /^ {2}# write_file/m);
});

test('a guard that is stopped ends its upstream with it', { timeout: SLOW }, async () => {
  const { folder, env, upstream } = place();
  const guard = spawn(process.execPath, [BIN, 'guard', '--id', 'files', ...upstream], {
    env,
    cwd: folder,
  });
  let printed = '';
  guard.stdout.on('data', (text) => {
    printed += text;
  });
  await vi.waitFor(() => assert.match(printed, / tools? at http:/), { timeout: SLOW });
  const children = upstreamsOf(folder);

  guard.kill('SIGTERM');
  const [status] = await once(guard, 'exit');

  assert.equal(status, 0);
  assert.equal(children.length, 1);
  assert.deepEqual(upstreamsOf(folder), []);
});

/** The command lines of all processes of this machine. */
function processes(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      try {
        return [readFileSync(`/proc/${id}/cmdline`, 'utf8')];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}

/** Processes whose command line has the folder and the server. */
function upstreamsOf(folder: string): string[] {
  return processes().filter(
    (line) => line.includes(FILES) && line.includes(folder) && !line.includes(BIN),
  );
}

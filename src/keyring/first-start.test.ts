import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { test } from 'vitest';
import { atEnd, temporaryFolder } from '../../test/support/ends.ts';
import { keyFilesIn } from '../../test/support/key-files.ts';

const root = temporaryFolder();

const REPLICAS = 8;
const ROUNDS = 10;

// Each replica compiles the sources first, one after the other on a small machine.
const SLOW = 120_000;

/** Opens the folder that each line names, and answers with the keys it would sign with. */
const REPLICA = `
  import { createInterface } from 'node:readline';
  import { openKeyring } from ${JSON.stringify(new URL('./keyring.ts', import.meta.url).href)};
  console.log('ready');
  for await (const folder of createInterface({ input: process.stdin })) {
    const now = () => new Date();
    const onWarning = (message) => { throw new Error(message); };
    const keyring = openKeyring({ folder }, { now, onWarning });
    console.log(keyring.kid('token') + ' ' + keyring.kid('log'));
    keyring.close();
  }
`;

test('openKeyring() ends with one generation when many processes start at once', {
  timeout: SLOW,
}, async () => {
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, startReplica));
  for (let round = 0; round < ROUNDS; round += 1) {
    const folder = join(root, `round-${round}`, 'keys');

    const answers = await Promise.all(replicas.map((replica) => replica.ask(folder)));

    assert.deepEqual(keyFilesIn(folder), ['log-0001.json', 'row-0001.json', 'token-0001.json']);
    const kids = ['token', 'log'].map((use) => kidIn(join(folder, `${use}-0001.json`)));
    assert.deepEqual(answers, Array(REPLICAS).fill(kids.join(' ')));
  }
  await Promise.all(replicas.map((replica) => replica.stop()));
});

async function startReplica() {
  const flags = ['--conditions=writ-source', '--import', 'tsx', '--input-type=module'];
  const child = spawn(process.execPath, [...flags, '--eval', REPLICA], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  atEnd(() => child.kill());
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'ready');
  return {
    ask: async (folder: string): Promise<unknown> => {
      child.stdin.write(`${folder}\n`);
      return (await lines.next()).value;
    },
    stop: async () => {
      const ended = once(child, 'exit');
      child.stdin.end();
      assert.deepEqual(await ended, [0, null]);
    },
  };
}

function kidIn(path: string): string {
  return JSON.parse(readFileSync(path, 'utf8')).kid;
}

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/ends.ts';
import { CommandFault, EXIT_FOUND } from '../../shell/exit.ts';
import { chunkName, fileSink } from './sink.ts';

test('put() changes no file: of two processes with a state each, one writes a chunk', async () => {
  const folder = temporaryFolder();
  const { signal } = new AbortController();
  const name = chunkName(1);
  const texts = Array.from({ length: 8 }, (_, index) => `chunk of process ${index}\n`);

  const ended = await Promise.allSettled(
    texts.map((text, index) =>
      fileSink(folder, join(folder, `state-${index}`)).put({ name, text, sha256: '' }, signal),
    ),
  );

  const won = ended.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
  assert.equal(won.length, 1);
  assert.equal(readFileSync(join(folder, name), 'utf8'), texts[won[0] ?? -1]);
  assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
  for (const each of ended) {
    if (each.status === 'fulfilled') continue;
    assert.ok(each.reason instanceof CommandFault, String(each.reason));
    assert.equal(each.reason.exit, EXIT_FOUND);
  }
  assert.deepEqual(readdirSync(folder), [name]);
});

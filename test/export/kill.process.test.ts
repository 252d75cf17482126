/**
 * `writ audit stream` as a process that is killed at any moment, and started again.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { type Launched, launch } from '../support/launch.ts';
import { eventually } from '../support/world.ts';
import { chunksIn, exportDesk, operator, placesIn, placesOf, upTo, writ } from './desk.ts';
import { receiver } from './receivers.ts';

const WRIT = join(process.cwd(), 'dist/src/cli/bin.js');

/** Some runs of Node, each with its start. */
const SLOW = { timeout: 240_000 };

const desk = await exportDesk();
await desk.sealed(40);

function started(...more: string[]): Launched {
  return launch([WRIT, ...desk.stream('--chunk-entries', '1', ...more)], temporaryFolder(), {
    ...operator,
  });
}

async function killed({ child, ended }: Launched): Promise<void> {
  child.kill('SIGKILL');
  await ended;
}

test(
  'a killed export to a folder continues without a gap, and changes no chunk',
  SLOW,
  async () => {
    const folder = temporaryFolder();
    const seen = new Map<string, string>();
    for (let kills = 0; kills < 6; kills++) {
      const before = chunksIn(folder).length;
      const command = started('--to', `file:${folder}`);
      await eventually(() => chunksIn(folder).length > before);
      // Another moment of the work each time.
      await pause(kills * 3);
      await killed(command);
      for (const name of chunksIn(folder)) {
        const text = readFileSync(join(folder, name), 'utf8');
        assert.equal(seen.get(name) ?? text, text);
        seen.set(name, text);
      }
    }
    const last = started('--to', `file:${folder}`);
    await eventually(() => placesIn(folder).length >= 41);
    last.child.kill('SIGTERM');
    const status = await last.ended;
    const verified = await writ(['verify', 'stream', folder, ...desk.pins]);

    assert.equal(status, 0, last.output.err);
    for (const [name, text] of seen) assert.equal(readFileSync(join(folder, name), 'utf8'), text);
    assert.deepEqual(placesIn(folder), upTo(placesIn(folder).length));
    assert.equal(verified.status, 0, verified.out);
  },
);

test('a killed export to a receiver sends its last chunk again, byte for byte', SLOW, async () => {
  const { posts, url } = await receiver(async () => {
    await pause(20);
    return 200;
  });
  const state = join(temporaryFolder(), 'state');
  const to = ['--to', `${url}/ingest`, '--state', state];
  for (let kills = 0; kills < 4; kills++) {
    const before = posts.length;
    const command = started(...to);
    await eventually(() => posts.length > before + 2);
    await pause(kills * 7);
    await killed(command);
  }
  const end = started(...to, '--once');
  assert.equal(await end.ended, 0, end.output.err);

  const bodies = new Map<number, string>();
  for (const { body } of posts) {
    const { chunk } = JSON.parse(body.split('\n')[0] as string);
    assert.equal(bodies.get(chunk) ?? body, body);
    bodies.set(chunk, body);
  }
  const places = [...bodies].sort(([a], [b]) => a - b).flatMap(([, body]) => placesOf(body));
  assert.deepEqual(places, upTo(places.length));
  assert.ok(places.length >= 41);
});

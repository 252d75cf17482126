/**
 * Services without room, without files to open, on a disk that may not be written, and with a clock that is set: what
 * they cannot do they refuse, nothing is lost or done twice, and all goes on in the same process.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished, test } from 'vitest';
import { openStore } from '../../src/storage/open.ts';
import {
  limitFiles,
  makeDisk,
  remountReadOnly,
  whyNoDisk,
  whyNoLimit,
} from '../faults/small-disk.ts';
import {
  buildProgram,
  type Life,
  newSealedPlace,
  type Place,
  type Running,
  start,
} from '../invoke/processes.ts';
import { atEnd, closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, launch } from '../support/launch.ts';
import { freshDatabase } from '../support/postgres.ts';
import { allClosed, assertHonest } from './honest.ts';
import { type Heard, heardMore, spendUnder } from './load.ts';

/** Only to end a test that hangs. */
const PATIENT = { timeout: 120_000 };
const ANSWER_MS_MAX = 60_000;
const ENOUGH = 20;

await buildProgram();

const whyNotDisk = whyNoDisk();
const named = (name: string): string => (whyNotDisk ? `${name} (not run: ${whyNotDisk})` : name);

/** Loads one process or more while harm is done, and holds what is left against what was heard. */
async function loadedWhile(
  place: Place,
  lives: readonly Life[],
  harm: (known: Heard, processes: readonly Running[]) => Promise<void>,
): Promise<Heard> {
  const processes: Running[] = [];
  for (const life of lives) processes.push(await start(place, life));
  const urls = () => processes.map(({ url }) => url);
  const known = await spendUnder({ urls, covered: 2_000 }, async (heard) => {
    await heardMore(heard, ENOUGH, ANSWER_MS_MAX);
    await harm(heard, processes);
    await heardMore(heard, ENOUGH, ANSWER_MS_MAX);
  });
  assert.ok(!processes.some((each) => each.hasEnded()), 'the processes live');
  await allClosed(place);
  await assertHonest(closedAtEnd(await openStore(place.store)), place, known);
  return known;
}

async function untilReadiness({ url }: Running, wanted: number): Promise<string> {
  for (;;) {
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    const text = await response?.text();
    if (text !== undefined && response?.status === wanted) return text;
    await sleep(20);
  }
}

test.skipIf(whyNotDisk)(
  named('a service on a full disk refuses and is not ready, and goes on when there is room'),
  PATIENT,
  async () => {
    const disk = makeDisk('8m');
    onTestFinished(disk.remove);
    const place = { ...newSealedPlace(), store: `sqlite:${join(disk.folder, 'writ.db')}` };

    await loadedWhile(place, [{}], async (_, [running]) => {
      disk.fill(0);
      const text = await untilReadiness(running as Running, 503);
      assert.match(text, /store: Cannot use the store/);
      disk.grow();
      await untilReadiness(running as Running, 200);
    });
  },
);

test.skipIf(whyNotDisk)(
  named('a service does not start on a file system that may not be written, and says so'),
  PATIENT,
  async () => {
    const disk = makeDisk('32m');
    onTestFinished(disk.remove);
    const folder = temporaryFolder();
    const environment = {
      WRIT_DATA: join(disk.folder, 'data'),
      WRIT_MARK: join(folder, 'mark.db'),
      WRIT_LOG_LEVEL: 'silent',
    };
    const first = launch([DESK], folder, environment);
    await addressOf(first);
    first.child.kill('SIGTERM');
    assert.equal(await first.ended, 0);
    const file = join(disk.folder, 'data/writ.db');
    const before = readFileSync(file);

    remountReadOnly(disk.folder);
    const second = launch([DESK], folder, environment);

    assert.equal(await second.ended, 1);
    assert.match(second.output.err, /^Cannot .*read-?only/im);
    assert.doesNotMatch(second.output.err, /^\s+at /m, 'no stack');
    assert.deepEqual(readFileSync(file), before);
  },
);

/** Set once the process runs: Node itself opens more files at once while it loads a program. */
const FILES = 64;
const CONNECTIONS = 120;

/** Takes all connections that the process can have, and holds them until it is told to let go. */
async function takeConnections({ url }: Running): Promise<() => void> {
  const port = Number(new URL(url).port);
  const sockets = Array.from({ length: CONNECTIONS }, (): Socket => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    return socket;
  });
  const letGo = () => {
    for (const socket of sockets) socket.destroy();
  };
  atEnd(letGo);
  await sleep(1_500);
  return letGo;
}

const whyNotLimit = whyNoLimit();

for (const kind of ['SQLite', 'PostgreSQL']) {
  const about = `a service on ${kind} that may open 64 files lives through a flood, and loses nothing`;
  const title = whyNotLimit ? `${about} (not run: ${whyNotLimit})` : about;
  test.skipIf(whyNotLimit)(title, PATIENT, async () => {
    const place = newSealedPlace(kind === 'SQLite' ? undefined : (await freshDatabase()).url);

    await loadedWhile(place, [{}], async (known, processes) => {
      const [running] = processes as [Running];
      limitFiles(running.pid, FILES);
      const letGo = await takeConnections(running);
      const during = known.heard.length;
      assert.ok(!running.hasEnded());
      letGo();
      await untilReadiness(running, 200);
      await heardMore(known, ENOUGH, ANSWER_MS_MAX);
      assert.ok(known.heard.length > during);
    });
  });
}

/** In minutes. Tokens live for two hours. */
const JUMPS = [50, -50, 0.5, 0];
const CLOCK = fileURLToPath(new URL('./shifted-clock.mjs', import.meta.url));

for (const kind of ['SQLite', 'PostgreSQL']) {
  test(`a clock that is set under load harms nothing on ${kind}`, PATIENT, async () => {
    const place = newSealedPlace(kind === 'SQLite' ? undefined : (await freshDatabase()).url);
    const shift = join(temporaryFolder(), 'shift');
    const wrong = { preload: [CLOCK], environment: { WRIT_TEST_CLOCK: shift } };

    await loadedWhile(place, [wrong, {}], async (known, [running]) => {
      for (const minutes of JUMPS) {
        writeFileSync(shift, `${minutes * 60_000}`);
        running?.signal('SIGUSR2');
        await heardMore(known, ENOUGH, ANSWER_MS_MAX);
        // Long enough that a process of another time would count as dead.
        await sleep(1_500);
      }
    });
  });
}

/**
 * What SQLite asks of the disk: a flush for each acknowledged commit, and the truth about a commit
 * whose flush or write failed.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { createLedger } from './ledger.ts';
import { bundle, startWorker } from './process.ts';
import { LOOP_TIMEOUT, repeat } from './soak.ts';
import { checkStoreFile, prepareFile } from './sqlite.ts';
import { STRACE, whyNoStrace } from './strace.ts';
import type { SyncsConfig } from './syncs.ts';

const folder = temporaryFolder();

const whyNot = whyNoStrace();
const named = (name: string): string => (whyNot ? `${name} (not run: ${whyNot})` : name);

const ALONE = 100;
const TOGETHER = 200;

/** All of them fit into one batch; folding the log into the file takes a few flushes more. */
const TOGETHER_FLUSHES_MAX = 10;

test.skipIf(whyNot)(named('append() flushes each commit, and concurrent ones share'), async () => {
  const program = await bundle(new URL('./syncs.ts', import.meta.url));
  const config: SyncsConfig = { file: join(folder, 'f.db'), alone: ALONE, together: TOGETHER };
  const trace = join(folder, 'trace');

  const done = spawnSync(
    STRACE,
    [
      '-f',
      '--seccomp-bpf',
      '-e',
      'trace=fsync,fdatasync,write',
      '-o',
      trace,
      process.execPath,
      program.path,
      JSON.stringify(config),
    ],
    { encoding: 'utf8' },
  );

  assert.equal(done.status, 0, done.stderr);
  const [, alone, together] = readFileSync(trace, 'utf8').split(/write\(1, "mark /);
  const flushes = (part = '') => part.match(/f(data)?sync\(/g)?.length ?? 0;
  assert.ok(flushes(alone) >= ALONE, `${flushes(alone)} flushes for ${ALONE} commits`);
  assert.ok(
    flushes(together) >= 1 && flushes(together) <= TOGETHER_FLUSHES_MAX,
    `${flushes(together)} flushes for ${TOGETHER} commits at once`,
  );
});

interface Fault {
  readonly name: string;
  readonly calls: string;
  readonly effect: string;
  /** The faulty call is one after so many, and before so many: the first belong to the opening. */
  readonly among: readonly [number, number];
}

const FLUSHES = 'fsync,fdatasync';
const WRITES = 'pwrite64';
const FAULTS: readonly Fault[] = [
  { name: 'is killed at a write', calls: WRITES, effect: 'signal=KILL', among: [20, 600] },
  { name: 'is killed at a flush', calls: FLUSHES, effect: 'signal=KILL', among: [2, 40] },
  { name: 'meets a full disk', calls: WRITES, effect: 'error=ENOSPC', among: [200, 600] },
  { name: 'cannot write', calls: WRITES, effect: 'error=EIO', among: [200, 600] },
  { name: 'cannot flush', calls: FLUSHES, effect: 'error=EIO', among: [10, 40] },
];

/** Each round meets the fault at another call, and from then on at every one. */
const ROUNDS = 2;

for (const { name, calls, effect, among } of FAULTS) {
  const title = named(`a process that ${name} was believed rightly in all it had said`);
  test.skipIf(whyNot)(title, LOOP_TIMEOUT, async () => {
    const program = await bundle(new URL('./worker.ts', import.meta.url));
    const file = join(folder, `${effect}-${calls}.db`);
    const world = await prepareFile(file);
    const ledger = createLedger();

    await repeat(ROUNDS, async (round) => {
      const config = { url: `sqlite:${file}`, instance: `${round}`, lanes: 4, world };
      const when = randomInt(...among);
      const inject = `inject=${calls}:${effect}:when=${when}+`;
      const worker = startWorker({
        program,
        argument: JSON.stringify({ ...config, diesOfFailure: true }),
        onSaid: ledger.hear,
        under: [STRACE, '-f', '-e', `trace=${calls}`, '-e', inject, '-o', '/dev/null'],
      });
      await worker.ended;
      await checkStoreFile(file, world, ledger);
    });
  });
}

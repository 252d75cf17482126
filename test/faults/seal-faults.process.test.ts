/**
 * Processes that seal one log and are killed at any moment: one history of checkpoints comes of it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { createCheckpointCheck } from '../../src/keyring/checkpoint-check.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { createLog } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import { sealNext } from '../../src/service/log/seal.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { openMark, openStore } from '../../src/storage/open.ts';
import { temporaryFolder } from '../support/ends.ts';
import { entry } from '../support/fixtures.ts';
import { freshDatabase } from '../support/postgres.ts';
import { bundle, startWorker, type Worker } from './process.ts';
import type { Said } from './said.ts';
import type { SealingConfig } from './sealing.ts';
import { anyMoment, LOOP_TIMEOUT, repeat } from './soak.ts';

const REPLICAS = 3;
const KILLS = 3;

const program = await bundle(new URL('./sealing.ts', import.meta.url));

const STORES: Record<string, (folder: string) => Promise<{ url: string; drop(): Promise<void> }>> =
  {
    PostgreSQL: () => freshDatabase(),
    'a SQLite file': async (folder) => ({
      url: `sqlite:${join(folder, 'writ.db')}`,
      drop: async () => undefined,
    }),
  };

for (const [name, open] of Object.entries(STORES)) {
  test(
    `processes that are killed while sealing leave one complete history on ${name}`,
    LOOP_TIMEOUT,
    async () => {
      const folder = temporaryFolder();
      const { url } = await open(folder);
      const mark = `sqlite:${join(folder, 'mark.db')}`;
      const config: SealingConfig = { store: url, mark, keys: join(folder, 'keys') };
      const heard: Said[] = [];
      const start = async (): Promise<Worker> => {
        const argument = JSON.stringify(config);
        const worker = startWorker({ program, argument, onSaid: (said) => heard.push(said) });
        await worker.heard(1, ({ said }) => said === 'kept');
        return worker;
      };
      const workers = await Promise.all(Array.from({ length: REPLICAS }, start));

      await repeat(KILLS, async (round) => {
        await anyMoment(100);
        await workers[round % REPLICAS]?.kill();
        workers[round % REPLICAS] = await start();
      });
      await Promise.all(workers.map((worker) => worker.stop()));

      assert.deepEqual(
        heard.filter(({ said }) => said === 'defect'),
        [],
      );
      await checkHistory(config, acknowledged(heard));
    },
  );
}

function acknowledged(heard: readonly Said[]): Set<string> {
  return new Set(
    heard.flatMap((said) => (said.said === 'kept' && 'append' in said.act ? said.act.append : [])),
  );
}

/** Every checkpoint that was told is there, signed, in a history without a gap that can go on. */
async function checkHistory(config: SealingConfig, told: Set<string>): Promise<void> {
  const store = await openStore(config.store);
  const mark = await openMark(config.mark);
  const options = { now: () => new Date(), onWarning: () => undefined };
  const keyring = openKeyring({ folder: config.keys }, options);
  await store.append([entry()]);
  const parts = {
    serviceId: 'faults',
    store,
    keyring,
    mark,
    log: createLog('silent'),
    platform: system,
  };
  const { checkpoint, isNew } = await sealNext(parts);

  assert.equal(isNew, true);
  assert.deepEqual(await mark.read(store.logId), checkpoint);
  const check = createCheckpointCheck(keyring.jwks().keys, keyring.noteKeys);
  const { findings, checkpoints } = await checkStore(store, check);
  assert.deepEqual(findings, []);
  assert.equal(checkpoints, checkpoint.sequence);
  const kept = new Set<string>();
  for (let before = checkpoint.sequence + 1; before > 1; ) {
    const page = await store.listCheckpoints(1_000, before);
    for (const { checkpoint_id } of page) kept.add(checkpoint_id);
    before = page.at(-1)?.sequence ?? 1;
  }
  assert.ok(told.size > KILLS);
  assert.deepEqual(
    [...told].filter((id) => !kept.has(id)),
    [],
  );
  keyring.close();
  await mark.close();
  await store.close();
}

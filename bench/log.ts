/**
 * The log as it grows: what one checkpoint and one proof cost at 10^3, 10^5 and, on request, 10^6 entries.
 *
 * Flat is the promise: sealing and proving read a few nodes however long the log is. Runs in memory,
 * so that what is measured is the work and not the disk.
 *
 *     node --conditions=writ-source --import tsx bench/log.ts [--million]
 *
 * @module
 */

import { generateJwk } from '../src/keyring/es256.ts';
import { openKeyring } from '../src/keyring/keyring.ts';
import { createLog } from '../src/log.ts';
import { consistencyHashes, inclusionHashes } from '../src/service/proofs.ts';
import { sealNext } from '../src/service/seal.ts';
import { openStore } from '../src/storage/open.ts';
import { entry } from '../src/testing/fixtures.ts';

const SIZES = [1_000, 100_000, ...(process.argv.includes('--million') ? [1_000_000] : [])];
const BATCH = 1_000;
const ROUNDS = 200;

const keys = [generateJwk(), generateJwk()].map((jwk) => JSON.stringify([jwk]));
const keyring = openKeyring(
  { tokenKeys: `${keys[0]}`, logKeys: `${keys[1]}` },
  { now: () => new Date(), onWarning: () => undefined },
);
const store = await openStore('memory:');

console.log('entries     seal    inclusion  consistency   (median, ms)   heap MB');
for (const size of SIZES) {
  await growTo(size);
  const seal = await median(async () => {
    await store.append([entry()]);
    await sealNext({ serviceId: 'bench', store, keyring, log: createLog('silent') });
  });
  const inclusion = await median((round) => inclusionHashes(store, (round * 7_919) % size, size));
  const consistency = await median((round) =>
    consistencyHashes(store, 1 + ((round * 7_919) % size), size),
  );
  const heap = process.memoryUsage().heapUsed / 2 ** 20;
  const figures = [seal, inclusion, consistency].map((ms) => ms.toFixed(3).padStart(11));
  console.log(`${String(size).padEnd(8)}${figures.join('')}${heap.toFixed(0).padStart(25)}`);
}
await store.close();

async function growTo(size: number): Promise<void> {
  for (let { size: has } = await store.sequence(); has < size; has += BATCH) {
    await store.append(Array.from({ length: Math.min(BATCH, size - has) }, () => entry()));
  }
}

async function median(work: (round: number) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const begun = performance.now();
    await work(round);
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[ROUNDS / 2] as number;
}

/**
 * A process that appends and seals as fast as it can, and says which checkpoint was sealed.
 *
 * @module
 */

import { writeSync } from 'node:fs';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { createLog } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import { sealNext } from '../../src/service/log/seal.ts';
import { openMark, openStore } from '../../src/storage/open.ts';
import { StoreUnavailable } from '../../src/storage/port/store.ts';
import { entry } from '../support/fixtures.ts';
import type { Said } from './said.ts';

export interface SealingConfig {
  readonly store: string;
  readonly mark: string;
  readonly keys: string;
}

const config = JSON.parse(process.argv[2] ?? '') as SealingConfig;
let isStopping = false;
process.stdin.on('end', () => {
  isStopping = true;
});
process.stdin.resume();

const store = await openStore(config.store);
const mark = await openMark(config.mark);
const options = { now: () => new Date(), onWarning: () => undefined };
const keyring = openKeyring({ folder: config.keys }, options);
const parts = {
  serviceId: 'faults',
  store,
  keyring,
  mark,
  log: createLog('silent'),
  platform: system,
};
say({ said: 'ready' });
while (!isStopping) {
  try {
    // As a service does: nothing is appended before the log has a mark.
    const { checkpoint } = await sealNext(parts);
    say({ said: 'kept', act: { append: [checkpoint.checkpoint_id] } });
    await store.append([entry(), entry()]);
  } catch (error) {
    // Others were quicker, or the store is busy with those that died.
    if (!(error instanceof StoreUnavailable)) say({ said: 'defect', why: String(error) });
  }
}
keyring.close();
await mark.close();
await store.close();
process.stdin.destroy();

/** Written at once: what was said before a kill has been said. */
function say(said: Said): void {
  writeSync(1, `${JSON.stringify(said)}\n`);
}

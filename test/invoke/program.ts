/**
 * One service process for tests that kill it: `program.ts <store> <keys> <effects>`.
 *
 * Its one capability costs ten dollars and has an effect that can be counted from outside: a line in
 * the file of effects, which says whose call it was. Silence counts as death much sooner than in
 * production, so that a test sees the recovery of what a killed process left.
 *
 * @module
 */

import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { configOf } from '../../src/config.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { createLog } from '../../src/log.ts';
import { defineCapability } from '../../src/service/define.ts';
import { createService } from '../../src/service/definition.ts';
import { createRuntime } from '../../src/service/runtime.ts';
import { openStore } from '../../src/storage/open.ts';
import { SETTINGS } from './principals.ts';

/** In milliseconds. Four heartbeats, as in production. */
const HEARTBEAT_MS = 250;
const SILENT_MS = 1_000;

/** In milliseconds: long enough that a kill often falls between admission and settlement. */
const WORK_MS = 20;

const [store = '', keys = '', effects = ''] = process.argv.slice(2);

const pay = defineCapability({
  name: 'pay',
  description: 'Spends ten dollars, and leaves a line about it',
  side_effect: 'irreversible',
  minimum_scope: ['w.use'],
  cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 10 } },
  async handler(_parameters, { client_reference_id, invocation_id }) {
    await sleep(Math.random() * WORK_MS);
    appendFileSync(effects, `${client_reference_id} ${invocation_id}\n`);
    await sleep(Math.random() * WORK_MS);
    return { paid: true };
  },
});

const config = configOf({ ...SETTINGS, keys }, process.cwd());
const opened = await openStore(store);
const keyring = await openKeyring(
  { folder: keys },
  { now: () => new Date(), onWarning: () => undefined },
);
let url = '';
const runtime = await createRuntime({
  definition: createService({ id: 'test-world', capabilities: [pay] }),
  config,
  store: opened,
  keyring,
  log: createLog('silent'),
  baseUrl: () => url,
  recovery: { intervalMs: HEARTBEAT_MS, silentMs: SILENT_MS },
});
const app = createHttpServer(runtime);
url = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`listening on ${url}\n`);

process.once('SIGTERM', async () => {
  await app.close();
  await runtime.close();
  keyring.close();
  await opened.close();
});

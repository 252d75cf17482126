/**
 * One service process for tests that kill or pause it: `program.ts '{"store":…,"keys":…,"effects":…}'`.
 *
 * Its first capability costs ten dollars and has an effect that can be counted from outside: a line in
 * the file of effects, which says whose call it was. A composed one costs fifteen. Silence counts as death much sooner than in
 * production, so that a test sees the recovery of what a killed process left. With a mark it seals its log. It ends
 * with its input, which also comes when the test that started it dies.
 *
 * @module
 */

import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { configOf } from '../../src/config/config.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { createLog } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { NoEffect } from '../../src/service/author/handler.ts';
import { sealStore } from '../../src/service/rows/row-seal.ts';
import { createRuntime } from '../../src/service/runtime.ts';
import { openMark, openStore } from '../../src/storage/open.ts';
import { SETTINGS } from './principals.ts';
import type { Life, Place } from './processes.ts';

/** In milliseconds. Four heartbeats, as in production. */
const HEARTBEAT_MS = 250;
const SILENT_MS = 1_000;

/** In milliseconds: how long an exclusive turn outlives a process that says nothing. */
const LEASE_MS = 1_000;

/** In milliseconds: long enough that a kill often falls between admission and settlement. */
const WORK_MS = 20;

/** ISO 8601: so often that most kills fall near a seal. */
const CADENCE = 'PT0.2S';

const given = JSON.parse(process.argv[2] ?? '') as Place & Pick<Life, 'silentMs' | 'cadence'>;
const { store, keys, effects, silentMs = SILENT_MS, cadence = CADENCE } = given;

process.stdin.on('end', () => process.exit(1));
process.stdin.resume();

/** Open from the beginning: an effect does not depend on how many files may still be opened. */
const file = openSync(effects, 'a');

function note(line: string): void {
  writeSync(file, `${line}\n`);
}

const pay = defineCapability({
  name: 'pay',
  description: 'Spends ten dollars, and leaves a line about it',
  side_effect: 'irreversible',
  minimum_scope: ['w.use'],
  cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 10 } },
  async handler(_parameters, { client_reference_id, invocation_id }) {
    await sleep(Math.random() * WORK_MS);
    note(`${client_reference_id} ${invocation_id}`);
    await sleep(Math.random() * WORK_MS);
    return { paid: true };
  },
});

const linger = defineCapability({
  name: 'linger',
  description: 'Begins, takes its time, and leaves a line about each',
  side_effect: 'write',
  minimum_scope: ['w.use'],
  inputs: [{ name: 'ms', type: 'integer' }],
  async handler({ ms }, { invocation_id }) {
    note(`begun ${invocation_id}`);
    await sleep(ms);
    note(`done ${invocation_id}`);
    return {};
  },
});

const hold = defineCapability({
  name: 'hold',
  description: 'Holds a seat for fifteen dollars, and leaves a line about it',
  side_effect: { type: 'transactional', rollback_window: 'PT1H', compensation: 'release' },
  minimum_scope: ['w.use'],
  output: { type: 'object', fields: ['id'] },
  cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 15 } },
  async handler(_parameters, { invocation_id, cost }) {
    await sleep(Math.random() * WORK_MS);
    note(`held ${invocation_id}`);
    cost({ currency: 'USD', amount: 15 });
    await sleep(Math.random() * WORK_MS);
    return { id: invocation_id };
  },
});

const release = defineCapability({
  name: 'release',
  description: 'Releases a held seat',
  side_effect: 'write',
  minimum_scope: ['w.use'],
  inputs: [{ name: 'id', type: 'string' }],
  handler: () => ({ released: true }),
});

/** Fails now and then, so that what was held has to be released. */
const confirm = defineCapability({
  name: 'confirm',
  description: 'Confirms a held seat, or finds that it cannot',
  side_effect: 'write',
  minimum_scope: ['w.use'],
  output: { type: 'object', fields: ['id'] },
  async handler(_parameters, { invocation_id }) {
    await sleep(Math.random() * WORK_MS);
    if (Math.random() < 0.3) throw new NoEffect('Cannot confirm: sold out');
    return { id: invocation_id };
  },
});

const trip = defineCapability({
  name: 'trip',
  description: 'Holds a seat and confirms it',
  kind: 'composed',
  side_effect: 'irreversible',
  minimum_scope: ['w.use'],
  output: { type: 'object', fields: ['id'] },
  cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 15 } },
  composition: {
    authority_boundary: 'same_service',
    steps: [
      { id: 'hold', capability: 'hold' },
      { id: 'confirm', capability: 'confirm' },
    ],
    input_mapping: {},
    output_mapping: { id: '$.steps.hold.output.id' },
    failure_policy: 'compensate',
    audit_policy: { record_child_invocations: true, parent_task_lineage: true },
  },
});

const config = configOf({ ...SETTINGS, keys, rate_limits: 'off' }, process.cwd());
const mark = given.mark === undefined ? undefined : await openMark(given.mark);
const opened = await openStore(store);
const keyring = await openKeyring(
  { folder: keys },
  { now: () => new Date(), onWarning: () => undefined },
);
await sealStore(opened, keyring.rows);
let url = '';
const runtime = await createRuntime({
  definition: createService({
    id: 'test-world',
    capabilities: [pay, linger, hold, release, confirm, trip],
    ...(mark && { trust: { level: 'anchored' as const, anchoring: { cadence } } }),
  }),
  config,
  store: opened,
  keyring,
  mark,
  log: createLog('silent'),
  platform: system,
  baseUrl: () => url,
  recovery: { intervalMs: HEARTBEAT_MS, silentMs },
  leaseMs: LEASE_MS,
});
const app = createHttpServer(runtime);
url = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`listening on ${url}\n`);

process.once('SIGTERM', async () => {
  await app.close();
  await runtime.close();
  keyring.close();
  await mark?.close();
  await opened.close();
  process.exit(0);
});

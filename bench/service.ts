/**
 * A service in this process, on a SQLite file, asked without a transport: what grows is its own cost.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DEMO_IDENTITIES, travelDesk } from '../examples/travel/service.ts';
import { configOf } from '../src/config/config.ts';
import { openKeyring } from '../src/keyring/keyring.ts';
import { createLog } from '../src/log.ts';
import { system } from '../src/platform.ts';
import type { OperationName } from '../src/protocol/operations.ts';
import { sealNext } from '../src/service/log/seal.ts';
import { perform } from '../src/service/operations/operations.ts';
import { createRuntime } from '../src/service/runtime.ts';
import { openStore } from '../src/storage/open.ts';
import type { Store } from '../src/storage/port/store.ts';
import { storeFolder } from './processes.ts';

export interface Issued {
  readonly token: string;
  readonly token_id: string;
}

export interface BenchService {
  readonly folder: string;
  readonly store: Store;
  /** Signs a checkpoint of what the log holds. */
  seal(): Promise<unknown>;
  ask(name: OperationName, bearer: string, input: object): Promise<Record<string, unknown>>;
  /** A token of Alice's, or one delegated by `parent`. */
  issue(more?: object, parent?: Issued): Promise<Issued>;
  close(): Promise<void>;
}

const ALICE = 'demo-human-key';

export const STORE_FILE = 'writ.db';

export async function openService(): Promise<BenchService> {
  const folder = storeFolder();
  const now = () => new Date();
  const config = configOf({ identities: DEMO_IDENTITIES, rate_limits: 'off' }, folder);
  const store = await openStore(`sqlite:${join(folder, STORE_FILE)}`);
  const keyring = openKeyring({ folder: config.keys }, { now, onWarning: () => undefined });
  const log = createLog('silent');
  const baseUrl = () => 'http://127.0.0.1';
  const runtime = await createRuntime({
    definition: travelDesk,
    config,
    store,
    keyring,
    log,
    platform: system,
    baseUrl,
  });
  const ask: BenchService['ask'] = async (name, bearer, input) => {
    const method = runtime.methods[name];
    if (!method) throw new Error(`Cannot ask ${name}: the service has no such operation`);
    const asked = { bearer: () => bearer, input: () => input };
    const answer = await perform(name, method, asked, runtime);
    const body = 'body' in answer ? (answer.body as Record<string, unknown>) : {};
    if (body.success === false) throw new Error(`Cannot measure ${name}: ${JSON.stringify(body)}`);
    return body;
  };
  return {
    folder,
    store,
    ask,
    seal: () => sealNext({ serviceId: travelDesk.id, store, keyring, log, platform: system }),
    async issue(more = {}, parent) {
      const scope = ['travel.read', 'travel.extras'];
      const input = { scope, ...(parent && { parent_token: parent.token_id }), ...more };
      const answer = await ask('tokens.issue', parent?.token ?? ALICE, input);
      return answer as unknown as Issued;
    },
    async close() {
      await runtime.close();
      keyring.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * CPU time of one call in microseconds, all threads, many calls at once; as it would be at the best speed
 * that the machine had in this run, since a host with other guests changes it from one minute to the next.
 */
export async function cpuOf(calls: number, call: () => Promise<unknown>): Promise<number> {
  const before = unitCost();
  const cost = await costOf(calls, call);
  const unit = (before + unitCost()) / 2;
  return cost * (bestUnit / unit);
}

let bestUnit = Number.POSITIVE_INFINITY;

/** What a fixed piece of work takes right now, in microseconds. */
function unitCost(): number {
  const begun = process.cpuUsage();
  for (let i = 0; i < UNIT_DIGESTS; i += 1) createHash('sha256').update(UNIT_BYTES).digest();
  const { user, system } = process.cpuUsage(begun);
  bestUnit = Math.min(bestUnit, user + system);
  return user + system;
}

/** Some ten milliseconds: long beside the clock's steps, short beside what is measured. */
const UNIT_DIGESTS = 2_000;
const UNIT_BYTES = Buffer.alloc(1_024);

async function costOf(calls: number, call: () => Promise<unknown>): Promise<number> {
  let left = calls;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: 64 }, worker));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

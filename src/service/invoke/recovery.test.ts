import assert from 'node:assert/strict';
import { test } from 'vitest';
import { money } from '../../../test/store/observe.ts';
import {
  admission,
  at,
  cents,
  entry,
  insert,
  rootToken,
  SECOND,
  settlement,
  usd,
} from '../../../test/support/fixtures.ts';
import { system } from '../../platform.ts';
import { HEARTBEAT_MS, SILENT_MS } from '../../storage/port/invocation-store.ts';
import type { IntentRecord } from '../../storage/port/records.ts';
import type { Store } from '../../storage/port/store.ts';
import { openSqlite } from '../../storage/sqlite/store.ts';
import {
  RECOVERY_BATCH,
  type Recovered,
  type RecoveryOptions,
  recoverIntents,
  startRecovery,
} from './recovery.ts';

/** Short, so that several passes fit into a test. */
const INTERVAL_MS = 5;

const answer = new TextEncoder().encode('{"success":false}');
const close = ({ invocation_id, root_principal }: IntentRecord) => ({
  entry: entry({ invocation_id, root_principal, state: 'indeterminate' }),
  answer,
});

/** A store in memory whose clock stands, and a token of 10,000 cents. */
async function storeAt(now: Date) {
  const clock = { now };
  const store = await openSqlite(':memory:', { clock: () => clock.now });
  const token = await insert(store, rootToken({ budget: cents(10_000) }));
  const admit = async (instance_id: string) => {
    const call = admission(token, { charge: usd(10n), intent: { instance_id } });
    assert.equal((await store.admit(call)).admitted, true);
    return call;
  };
  return { store, clock, token, admit };
}

test('recoverIntents() closes silent processes’ calls as indeterminate, and only those', async () => {
  const { store, token, admit } = await storeAt(at(0));
  const dead = await admit('dead');
  await admit('alive');
  await store.heartbeat('dead', at(10));
  await store.heartbeat('alive', at(11));

  const { closed, failed } = await recoverIntents(store, { silentSince: at(10), limit: 9, close });

  assert.deepEqual(
    closed.map(({ operation_id }) => operation_id),
    [dead.intent.operation_id],
  );
  assert.deepEqual(failed, []);
  assert.equal((await store.indeterminate(9)).length, 1);
  const {
    entries: [found],
  } = await store.queryEntries({ invocationId: dead.intent.invocation_id, limit: 9 });
  assert.equal(found?.state, 'indeterminate');
  assert.deepEqual(await money(store, [token]), [[10n, 10n]], 'one open, one kept charged');
  await store.close();
});

test('recoverIntents() closes each call once when two processes recover at once', async () => {
  const { store, admit } = await storeAt(at(0));
  for (let i = 0; i < 20; i++) await admit('dead');
  const { size } = await store.sequence();
  const request = { silentSince: at(SECOND), limit: 99, close };

  const both = await Promise.all([recoverIntents(store, request), recoverIntents(store, request)]);

  const ids = both.flatMap(({ closed }) => closed.map(({ operation_id }) => operation_id));
  assert.equal(ids.length, 20);
  assert.equal(new Set(ids).size, 20);
  assert.equal((await store.sequence()).size, size + 20);
  await store.close();
});

test('recoverIntents() leaves a call alone that its process settled meanwhile', async () => {
  const { store, admit } = await storeAt(at(0));
  const slow = await admit('slow');
  const settled = settlement(slow);
  const settleFirst = (intent: IntentRecord) => {
    // The store takes its turn in order: this settlement comes before the one being made.
    void store.settle(settled);
    return close(intent);
  };

  const { closed } = await recoverIntents(store, {
    silentSince: at(SECOND),
    limit: 9,
    close: settleFirst,
  });

  assert.deepEqual(closed, []);
  assert.deepEqual(await store.indeterminate(9), []);
  await store.close();
});

test('recoverIntents() closes the others when one cannot be closed', async () => {
  const { store, admit } = await storeAt(at(0));
  const broken = (await admit('dead')).intent.operation_id;
  await admit('dead');

  const { closed, failed } = await recoverIntents(store, {
    silentSince: at(SECOND),
    limit: 9,
    close: (intent) => {
      if (intent.operation_id === broken) throw new Error('Cannot tell of it');
      return close(intent);
    },
  });

  assert.equal(closed.length, 1);
  assert.deepEqual(
    failed.map(({ intent }) => intent.operation_id),
    [broken],
  );
  assert.match(String(failed[0]?.error), /Cannot tell of it/);
  await store.close();
});

test('startRecovery() closes at its start what a dead process left, in as many rounds as it takes', async () => {
  const { store, clock, admit } = await storeAt(at(0));
  for (let i = 0; i < RECOVERY_BATCH + 5; i++) await admit('dead');
  await store.heartbeat('dead', at(0));
  clock.now = at(SILENT_MS);

  const { recovery, untilRecovered } = await started(store);

  assert.equal(await untilRecovered(RECOVERY_BATCH + 5), RECOVERY_BATCH + 5);
  await recovery.stop();
  await store.close();
});

test('startRecovery() closes what is abandoned later, and not before it is silent long enough', async () => {
  const { store, clock, admit } = await storeAt(at(0));
  await store.heartbeat('other', at(0));
  await admit('other');
  clock.now = at(SILENT_MS - 1);
  const { recovery, untilRecovered, passes } = await started(store);
  await passes(3);
  assert.equal((await store.abandonedIntents(at(SILENT_MS), 9)).length, 1);

  clock.now = at(SILENT_MS);

  assert.equal(await untilRecovered(1), 1);
  await recovery.stop();
  await store.close();
});

test('startRecovery() keeps its own process from being taken for dead', async () => {
  const { store, clock, admit } = await storeAt(at(0));
  const { recovery, passes } = await started(store);
  await admit('self');
  clock.now = at(10 * SILENT_MS);
  await passes(3);

  assert.deepEqual(await store.abandonedIntents(at(9 * SILENT_MS), 9), []);
  assert.deepEqual(await store.indeterminate(9), []);
  await recovery.stop();
  await store.close();
});

test('startRecovery() resolves when the first heartbeat is kept', async () => {
  const { store, admit } = await storeAt(at(SILENT_MS));

  const { recovery } = await started(store);
  await admit('self');

  assert.deepEqual(await store.abandonedIntents(at(0), 9), []);
  await recovery.stop();
  await store.close();
});

test('startRecovery() rejects when the store does not take the first heartbeat', async () => {
  const { store } = await storeAt(at(0));
  await store.close();

  await assert.rejects(started(store), { name: 'StoreUnavailable' });
});

test('startRecovery() reports a failed pass, and tries again', async () => {
  const { store } = await storeAt(at(0));
  const errors: unknown[] = [];
  const failing = { ...store, abandonedIntents: () => Promise.reject(new Error('disk full')) };

  const { recovery } = await started(failing, { onError: (error) => errors.push(error) });
  while (errors.length < 2) await pause();

  assert.match(String(errors[0]), /disk full/);
  await recovery.stop();
  await store.close();
});

test('stop() waits for the running pass, and runs nothing after it', async () => {
  const { store, admit, clock } = await storeAt(at(0));
  await admit('dead');
  clock.now = at(SILENT_MS);
  let asked = 0;
  const counting = {
    ...store,
    heartbeat: (...given: Parameters<Store['heartbeat']>) => {
      asked += 1;
      return store.heartbeat(...given);
    },
  };
  const { recovery } = await started(counting);

  await recovery.stop();
  const before = asked;
  for (let i = 0; i < 4; i++) await pause();

  assert.equal((await store.indeterminate(9)).length, 1);
  assert.equal(asked, before);
  await store.close();
});

test('HEARTBEAT_MS and SILENT_MS give every call an entry within a minute', () => {
  assert.equal(SILENT_MS + 2 * HEARTBEAT_MS < 60_000, true);
  assert.equal(SILENT_MS > 3 * HEARTBEAT_MS, true);
});

/** A recovery with short intervals, and ways to wait for it. */
async function started(store: Store, changed: Partial<RecoveryOptions> = {}) {
  let recovered = 0;
  let passes = 0;
  const counting: Store = {
    ...store,
    abandonedIntents: (...given) => {
      passes += 1;
      return store.abandonedIntents(...given);
    },
  };
  const recovery = await startRecovery({
    platform: system,
    store: counting,
    instanceId: 'self',
    close,
    intervalMs: INTERVAL_MS,
    onRecovered: ({ closed }: Recovered) => {
      recovered += closed.length;
    },
    onError: (error) => assert.fail(error as Error),
    ...changed,
  });
  return {
    recovery,
    async untilRecovered(count: number) {
      while (recovered < count) await pause();
      return recovered;
    },
    async passes(count: number) {
      const target = passes + count;
      while (passes < target) await pause();
    },
  };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
}

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'vitest';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { createLog } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import type { ServiceDefinition } from '../../src/service/author/definition.ts';
import { followMark, type SealOptions } from '../../src/service/log/seal.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { openStore } from '../../src/storage/open.ts';
import type { MarkStore } from '../../src/storage/port/mark.ts';
import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { emptyStore } from '../support/empty-store.ts';
import { atEnd, closedAtEnd } from '../support/ends.ts';
import { type SeededPlatform, seededPlatform } from '../support/seeded.ts';
import { eventually, type Reply, STORES, type TestService, testService } from '../support/world.ts';
import { calmDesk, grow, life, listed, machine, seal, sealed, unready } from './support.ts';

/** What following a mark needs of a service; nothing is signed with it. */
function sealParts({ store }: TestService, keys: string): SealOptions {
  const options = { now: () => new Date(), onWarning: () => undefined };
  const keyring = openKeyring({ folder: keys }, options);
  keyring.close();
  return { serviceId: calmDesk.id, store, keyring, log: createLog('silent'), platform: system };
}

test('a replica that does not seal advances its own mark, and then refuses a restored store', async () => {
  const own = machine();
  const store = closedAtEnd(await openStore('memory:'));
  const marks = await Promise.all(['one', 'two'].map((name) => own.mark(name)));
  const [one, two] = marks as [MarkStore, MarkStore];
  const service = await testService({ definition: calmDesk, keys: own.keys, mark: one });
  atEnd(() => Promise.all(marks.map((mark) => mark.close())));
  const parts = { ...sealParts(service, own.keys), mark: two };
  // It has followed from the first checkpoint on, which covers nothing.
  await followMark(parts);
  for (let i = 0; i < 3; i++) {
    await sealed(service);
    await followMark(parts);
    const marked = await two.read(service.store.logId);
    assert.deepEqual(marked, await service.store.lastCheckpoint());
  }

  // As if the database had been put back to before all of it.
  const restored = { ...store, origins: () => service.store.origins() };
  await assert.rejects(followMark({ ...parts, store: restored }), /the log has 0/);
});

test('a new database beside an old mark begins a new log', async () => {
  const own = machine();
  await life(own, { store: `sqlite:${join(own.folder, 'one.db')}` }, sealed);

  await life(own, { store: `sqlite:${join(own.folder, 'two.db')}` }, async (service) => {
    assert.equal((await sealed(service)).sequence, 2);
  });
  await life(own, { store: 'memory:' }, async (service) => {
    assert.equal((await sealed(service)).sequence, 2);
  });
});

/** Fails the next insertion of a checkpoint: the process died between the mark and the row. */
function dyingBeforeRow(store: Store, isDying: () => boolean): Store {
  return {
    ...store,
    insertCheckpoint: async (record) => {
      if (isDying()) throw new StoreUnavailable('the process died here');
      return store.insertCheckpoint(record);
    },
  };
}

for (const store of STORES.filter(({ name }) => name === 'PostgreSQL')) {
  test(`a crash between mark and row is repaired with the same checkpoint on ${store.name}`, async () => {
    const own = machine();
    const { url } = await store.open();
    let isDying = false;
    const wrap = (inner: Store) => dyingBeforeRow(inner, () => isDying);
    const marked = await life(own, { store: url, wrap }, async (service) => {
      await sealed(service);
      isDying = true;
      assert.equal((await seal(service)).status, 503);
      const mark = await own.mark();
      const read = await mark.read(service.store.logId);
      await mark.close();
      return read;
    });

    await life(own, { store: url }, async (service) => {
      const kept = await service.store.loadCheckpoint(marked?.checkpoint_id ?? '');
      assert.deepEqual(kept, marked);
      assert.equal((await sealed(service)).sequence, 4);
      assert.deepEqual((await checkStore(service.store)).findings, []);
    });
  });
}

test('a crash between mark and row is repaired in a file before any append', async () => {
  const own = machine();
  const store = `sqlite:${join(own.folder, 'writ.db')}`;
  let isDying = true;
  const wrap = (inner: Store) => dyingBeforeRow(inner, () => isDying);
  await life(own, { store, wrap }, async (service) => {
    assert.deepEqual(await listed(service), [], 'not even the first one was kept');
    await assert.rejects(grow(service), /service_unavailable/);
    isDying = false;
    await eventually(async () => (await unready(service)) === '');
    await grow(service);

    assert.equal((await sealed(service)).sequence, 2);
    assert.deepEqual(await listed(service), [
      [2, 2],
      [1, 0],
    ]);
  });
});

test('a clock that ran ahead once does not affect the dates of later checkpoints', async () => {
  const own = machine();
  await life(own, {}, async (service) => {
    const ahead = 400 * 24 * 3_600_000;
    service.advance(ahead);
    const wrong = await sealed(service);
    service.advance(-ahead);
    const right = await sealed(service);

    assert.equal(right.sequence, wrong.sequence + 1);
    assert.ok(Date.parse(right.created_at) < Date.parse(wrong.created_at) - ahead / 2);
    assert.deepEqual((await checkStore(service.store)).findings, []);
  });
});

for (const store of STORES) {
  test(`the sealer follows its cadence while the log grows, and pauses otherwise, on ${store.name}`, async () => {
    const { url } = await store.open();
    const trust = { level: 'anchored', anchoring: { cadence: 'PT0.1S' } } as const;
    const service = await testService({ store: url, definition: { ...calmDesk, trust } });

    await grow(service);
    await eventually(async () => (await listed(service)).length === 2);
    assert.deepEqual(await listed(service), [
      [2, 1],
      [1, 0],
    ]);
    await grow(service);
    await eventually(async () => (await listed(service)).length === 3);
    await pause(500);

    assert.deepEqual(await listed(service), [
      [3, 2],
      [2, 1],
      [1, 0],
    ]);
  });
}

const CADENCE_MS = 9_000;
const NINE_SECONDS: ServiceDefinition = {
  ...calmDesk,
  trust: { level: 'anchored', anchoring: { cadence: 'PT9S' } },
};

/** A process that can be killed: from then on it changes nothing in the store about its lead. */
function mortal() {
  let isAlive = true;
  const wrap = (store: Store): Store => ({
    ...store,
    lead: async (...given) => isAlive && store.lead(...given),
  });
  const kill = () => {
    isAlive = false;
  };
  return { wrap, kill };
}

/** Lets the time pass in small steps. Readiness waits for the turn that a step began. */
async function passCadence({ runtime }: TestService, platform: SeededPlatform): Promise<void> {
  for (let passed = 0; passed < CADENCE_MS; passed += 1_000) {
    platform.advance(1_000);
    await runtime.unready();
  }
}

/** Whether a checkpoint covers what the log contains. */
async function isCovered({ store }: TestService): Promise<boolean> {
  const { size } = await store.sequence();
  return (await store.lastCheckpoint())?.size === size;
}

const KEPT_STORES = [
  { name: 'SQLite', open: async () => `sqlite:${join(machine().folder, 'desk.db')}` },
  { name: 'PostgreSQL', open: async () => (await emptyStore()).url },
];
for (const { name, open } of KEPT_STORES) {
  for (const ending of ['a stop', 'a kill']) {
    test(`the first cadence after ${ending} of the sealing process ends with a checkpoint, on ${name}`, async () => {
      const own = machine();
      const { wrap, kill } = mortal();
      const platform = seededPlatform(`${name} ${ending}`, Date.parse('2030-01-01T00:00:00Z'));
      const options = { store: await open(), definition: NINE_SECONDS, platform };
      await life(own, { ...options, wrap }, async (service) => {
        await passCadence(service, platform);
        if (ending === 'a kill') kill();
      });

      await life(own, options, async (service) => {
        if (ending === 'a stop') {
          const now = service.store.now();
          assert.equal(await service.store.lead('seal', 'next', now, now), true, 'free at once');
        }
        await grow(service);
        assert.equal(await isCovered(service), false);
        await passCadence(service, platform);

        assert.equal(await isCovered(service), true);
      });
    });
  }
}

test('a replica takes the lead over from one that was killed within a cadence', async () => {
  const own = machine();
  const { wrap, kill } = mortal();
  const platform = seededPlatform('replicas', Date.parse('2030-01-01T00:00:00Z'));
  const options = { store: (await emptyStore()).url, definition: NINE_SECONDS, platform };
  await life(own, { ...options, wrap }, async (first) => {
    await passCadence(first, platform);
    await life(own, options, async (second) => {
      await passCadence(second, platform);
      kill();
      await grow(second);
      await passCadence(second, platform);

      assert.equal(await isCovered(second), true);
    });
  });
});

test('two services on one database make one gapless history of checkpoints', async () => {
  const own = machine();
  const { url } = await emptyStore();
  const trust = { level: 'anchored', anchoring: { cadence: 'PT0.1S' } } as const;
  const definition = { ...calmDesk, trust };
  await life(own, { store: url, definition }, (one) =>
    life(own, { store: url, definition }, async (other) => {
      for (let round = 0; round < 12; round++) {
        const seals = await Promise.all([seal(one), seal(other), grow(one), grow(other)]);
        assert.deepEqual(
          seals.slice(0, 2).map((reply) => (reply as Reply).status),
          [200, 200],
        );
      }
      await sealed(one);

      const history = await one.store.listCheckpoints(1_000);
      const sequences = history.map(({ sequence }) => sequence).reverse();
      assert.deepEqual(
        sequences,
        sequences.map((_, place) => place + 1),
      );
      assert.ok(sequences.length > 10);
      assert.deepEqual((await checkStore(one.store)).findings, []);
      const mark = await own.mark();
      assert.deepEqual(await mark.read(one.store.logId), history[0]);
      await mark.close();
    }),
  );
});

import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'vitest';
import type { CheckpointRecord } from '../../src/domain/checkpoint.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { createLog } from '../../src/log.ts';
import { followMark, type SealParts } from '../../src/service/seal.ts';
import { checkStore } from '../../src/storage/fsck.ts';
import type { MarkStore } from '../../src/storage/mark.ts';
import { openStore } from '../../src/storage/open.ts';
import { type Store, StoreUnavailable } from '../../src/storage/store.ts';
import { emptyStore } from '../empty-store.ts';
import {
  ALICE,
  type Reply,
  STORES,
  type TestOptions,
  type TestService,
  testService,
} from '../service/harness.ts';
import { calmDesk, machine, seal, sealed } from './support.ts';

type Machine = ReturnType<typeof machine>;

async function onMachine(run: (machine: Machine) => Promise<void>): Promise<void> {
  const own = machine();
  try {
    await run(own);
  } finally {
    own.drop();
  }
}

/** One life of the service: what it leaves is in the store, the keys and the mark. */
async function life<Result>(
  { keys, mark: open }: Machine,
  options: TestOptions,
  run: (service: TestService) => Promise<Result>,
): Promise<Result> {
  const mark = options.mark ?? (await open());
  const service = await testService({ definition: calmDesk, keys, ...options, mark });
  try {
    return await run(service);
  } finally {
    await service.close();
    await mark.close();
  }
}

/** What following a mark needs of a service; nothing is signed with it. */
function sealParts({ store }: TestService, keys: string): SealParts {
  const options = { now: () => new Date(), onWarning: () => undefined };
  const keyring = openKeyring({ folder: keys }, options);
  keyring.close();
  return { serviceId: calmDesk.id, store, keyring, log: createLog('silent') };
}

function grow(service: TestService): Promise<unknown> {
  return service.issue(ALICE, { scope: ['travel.search'] });
}

async function listed({ store }: TestService): Promise<[sequence: number, size: number][]> {
  const all = await store.listCheckpoints(100);
  return all.map(({ sequence, size }) => [sequence, size]);
}

test('a restored copy of the database is never signed, says why, and is read all the same', () => {
  return onMachine(async (own) => {
    const [file, copy] = [join(own.folder, 'writ.db'), join(own.folder, 'copy.db')];
    const store = `sqlite:${file}`;
    await life(own, { store }, sealed);
    copyFileSync(file, copy);
    const lost = await life(own, { store }, async (service) => {
      await grow(service);
      return sealed(service);
    });
    copyFileSync(copy, file);

    await life(own, { store }, async (service) => {
      // Restored entries and as many new ones: the tree is longer than what was signed.
      for (let i = 0; i < 4; i++) await grow(service);
      const { status, body } = await seal(service);
      const { body: list, status: read } = await service.ask('GET', '/svc/checkpoints');
      const { text: metrics } = await service.ask('GET', '/metrics');

      assert.deepEqual([status, body.failure.type], [503, 'service_unavailable']);
      assert.match(body.failure.detail, /restored from an older copy.*newest copy.*new database/);
      assert.deepEqual([read, list.checkpoints.length], [200, 2]);
      assert.ok(
        !list.checkpoints.some(
          (each: CheckpointRecord) => each.checkpoint_id === lost.checkpoint_id,
        ),
      );
      assert.equal((await service.ask('GET', '/readyz')).status, 200);
      assert.match(metrics ?? '', /^writ_log_sealing_refused 1$/m);
      assert.equal(service.log.filter((line) => line.includes('restored from an older')).length, 2);
      const { body: trail } = await service.ask('POST', '/svc/audit?entry_type=operator', {
        bearer: 'demo-operator-key',
      });
      assert.equal(trail.entries[0].state, 'refused');
    });
  });
});

test('a replica that does not seal moves its own mark along, and then refuses what was put back', () => {
  return onMachine(async (own) => {
    const store = await openStore('memory:');
    const marks = await Promise.all(['one', 'two'].map((name) => own.mark(name)));
    const [one, two] = marks as [MarkStore, MarkStore];
    const service = await testService({ definition: calmDesk, keys: own.keys, mark: one });
    try {
      const parts = { ...sealParts(service, own.keys), mark: two };
      for (let i = 0; i < 3; i++) {
        await sealed(service);
        await followMark(parts);
        const marked = await two.read(service.store.logId);
        assert.deepEqual(marked, await service.store.lastCheckpoint());
      }

      // As if the database had been put back to before all of it.
      const restored = { ...store, logId: service.store.logId };
      await assert.rejects(followMark({ ...parts, store: restored }), /the log has 0/);
    } finally {
      await service.close();
      await Promise.all(marks.map((mark) => mark.close()));
      await store.close();
    }
  });
});

test('a restored copy is refused while it is shorter than what was signed', () => {
  return onMachine(async (own) => {
    const [file, copy] = [join(own.folder, 'writ.db'), join(own.folder, 'copy.db')];
    await life(own, { store: `sqlite:${file}` }, sealed);
    copyFileSync(file, copy);
    await life(own, { store: `sqlite:${file}` }, async (service) => {
      for (let i = 0; i < 9; i++) await grow(service);
      await sealed(service);
    });

    await life(own, { store: `sqlite:${copy}` }, async (service) => {
      const { body } = await seal(service);

      assert.match(body.failure.detail, /checkpoint 3 was signed over 11 entries, the log has 2/);
      assert.deepEqual(await listed(service), [
        [2, 1],
        [1, 0],
      ]);
    });
  });
});

test('the newest copy is signed again once it is back', () => {
  return onMachine(async (own) => {
    const [file, copy] = [join(own.folder, 'writ.db'), join(own.folder, 'copy.db')];
    await life(own, { store: `sqlite:${file}` }, sealed);
    copyFileSync(file, copy);
    await life(own, { store: `sqlite:${file}` }, sealed);
    await life(own, { store: `sqlite:${copy}` }, async (service) => {
      assert.equal((await seal(service)).status, 503);
    });

    await life(own, { store: `sqlite:${file}` }, async (service) => {
      assert.equal((await sealed(service)).sequence, 4);
      assert.match((await service.ask('GET', '/metrics')).text ?? '', /sealing_refused 0$/m);
    });
  });
});

test('a new database beside an old mark begins a new log', () => {
  return onMachine(async (own) => {
    await life(own, { store: `sqlite:${join(own.folder, 'one.db')}` }, sealed);

    await life(own, { store: `sqlite:${join(own.folder, 'two.db')}` }, async (service) => {
      assert.equal((await sealed(service)).sequence, 2);
    });
    await life(own, { store: 'memory:' }, async (service) => {
      assert.equal((await sealed(service)).sequence, 2);
    });
  });
});

test('a database whose last checkpoints are gone is not signed', () => {
  return onMachine(async (own) => {
    const { url, drop } = await emptyStore();
    await life(own, { store: url }, async (service) => {
      for (let i = 0; i < 3; i++) await sealed(service);
    });
    const forgetful = (store: Store): Store => ({
      ...store,
      lastCheckpoint: async () => (await store.listCheckpoints(1, 3))[0],
    });

    await life(own, { store: url, wrap: forgetful }, async (service) => {
      const { body } = await seal(service);
      assert.match(body.failure.detail, /checkpoint 4 was signed, the database has 2/);
    });
    await drop();
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
  test(`a crash between mark and row is repaired with the very checkpoint on ${store.name}`, () => {
    return onMachine(async (own) => {
      const { url, drop } = await store.open();
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
      await drop();
    });
  });
}

test('a crash between mark and row is repaired in a file, also when the tree has grown since', () => {
  return onMachine(async (own) => {
    const store = `sqlite:${join(own.folder, 'writ.db')}`;
    let isDying = true;
    const wrap = (inner: Store) => dyingBeforeRow(inner, () => isDying);
    await life(own, { store, wrap }, async (service) => {
      assert.deepEqual(await listed(service), [], 'not even the first one was kept');
      await grow(service);
      isDying = false;

      assert.equal((await sealed(service)).sequence, 2);
      assert.deepEqual(await listed(service), [
        [2, 2],
        [1, 0],
      ]);
    });
  });
});

test('a mark that is not ours is not kept', () => {
  return onMachine(async (own) => {
    const store = `sqlite:${join(own.folder, 'writ.db')}`;
    await life(own, { store }, sealed);
    const mark = await own.mark();
    const opened = await openStore(store);
    const last = (await opened.lastCheckpoint()) as CheckpointRecord;
    await mark.advance(opened.logId, last, { ...last, sequence: last.sequence + 1 });
    await opened.close();
    await mark.close();

    await life(own, { store }, async (service) => {
      assert.match((await seal(service)).body.failure.detail, /the mark says checkpoint 3/);
      assert.equal((await listed(service)).length, 2);
    });
  });
});

test('a mark that cannot be written keeps the log from being sealed, and nothing else', () => {
  return onMachine(async (own) => {
    const broken: MarkStore = {
      read: async () => undefined,
      advance: async () => {
        throw new StoreUnavailable('Cannot write the mark: disk full');
      },
      close: async () => undefined,
    };

    await life(own, { mark: broken }, async (service) => {
      assert.equal((await seal(service)).status, 503);
      assert.deepEqual(await listed(service), []);
      await grow(service);
      assert.ok(service.log.some((line) => line.includes('disk full')));
    });
  });
});

test('a mark that is lost learns the last checkpoint of the database, and says so', () => {
  return onMachine(async (own) => {
    const store = `sqlite:${join(own.folder, 'writ.db')}`;
    await life(own, { store }, sealed);
    const other = machine();

    await life({ ...own, mark: other.mark }, { store }, async (service) => {
      assert.equal((await sealed(service)).sequence, 3);
      assert.ok(service.log.some((line) => line.includes('took the last checkpoint')));
    });
    other.drop();
  });
});

for (const store of STORES) {
  test(`the sealer follows its cadence while the log grows, and rests otherwise, on ${store.name}`, async () => {
    const { url, drop } = await store.open();
    const trust = { level: 'anchored', anchoring: { cadence: 'PT0.1S' } } as const;
    const service = await testService({ store: url, definition: { ...calmDesk, trust } });
    const until = async (done: () => Promise<boolean>) => {
      for (let waits = 0; waits < 400 && !(await done()); waits++) await pause(25);
    };

    await grow(service);
    await until(async () => (await listed(service)).length === 2);
    assert.deepEqual(await listed(service), [
      [2, 1],
      [1, 0],
    ]);
    await grow(service);
    await until(async () => (await listed(service)).length === 3);
    await pause(500);

    assert.deepEqual(await listed(service), [
      [3, 2],
      [2, 1],
      [1, 0],
    ]);
    await service.close();
    await drop();
  });
}

test('two services on one database make one history of checkpoints, without a gap', () => {
  return onMachine(async (own) => {
    const { url, drop } = await emptyStore();
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
    await drop();
  });
});

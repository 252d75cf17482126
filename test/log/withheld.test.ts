/**
 * A log that does not extend what was signed: nothing is signed or appended, and reads go on.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import type { CheckpointRecord } from '../../src/domain/log/checkpoint.ts';
import { openStore } from '../../src/storage/open.ts';
import { type MarkStore, markIn } from '../../src/storage/port/mark.ts';
import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { emptyStore } from '../support/empty-store.ts';
import { ALICE, eventually } from '../support/world.ts';
import { grow, life, listed, machine, seal, sealed, unready } from './support.ts';

test('a restored copy of the database is withheld: no signature, no append, reads continue', async () => {
  const own = machine();
  const [file, copy] = [join(own.folder, 'writ.db'), join(own.folder, 'copy.db')];
  const store = `sqlite:${file}`;
  const token = await life(own, { store }, async (service) => {
    await sealed(service);
    return (await service.issue(ALICE, { scope: ['travel.search'] })).token;
  });
  copyFileSync(file, copy);
  const lost = await life(own, { store }, async (service) => {
    await grow(service);
    return sealed(service);
  });
  copyFileSync(copy, file);

  await life(own, { store }, async (service) => {
    const { size } = await service.store.sequence();
    const refusals = await Promise.all([
      seal(service),
      service.ask('POST', '/svc/tokens', { bearer: ALICE, body: { scope: ['travel.search'] } }),
      service.invoke(token, 'search_flights', { origin: 'SEA', destination: 'SFO' }),
      service.ask('POST', '/svc/tokens/revoke', { bearer: token, body: {} }),
    ]);
    const { body: list, status: read } = await service.ask('GET', '/svc/checkpoints');
    const { text: metrics } = await service.ask('GET', '/metrics');
    const ready = await service.ask('GET', '/readyz');
    const trail = await service.ask('POST', '/svc/audit?entry_type=all', { bearer: token });

    for (const { status, body } of refusals) {
      assert.deepEqual([status, body.failure.type], [503, 'service_unavailable']);
      assert.match(
        body.failure.detail,
        /docs\/operating\.md, "When nothing is appended to the log"/,
      );
    }
    assert.deepEqual([read, list.checkpoints.length], [200, 2]);
    assert.ok(
      !list.checkpoints.some((each: CheckpointRecord) => each.checkpoint_id === lost.checkpoint_id),
    );
    assert.equal(ready.status, 503);
    assert.match(
      ready.body.reasons.join(),
      /log: Cannot seal: checkpoint 4 was signed over 4 entries, the log has 2; see docs\/operating\.md, "The log was rolled back"/,
    );
    assert.match(metrics ?? '', /^writ_log_sealing_refused 1$/m);
    assert.equal(service.log.filter((line) => line.includes('The log was rolled back')).length, 1);
    assert.equal(trail.status, 200);
    assert.ok(trail.body.entries.length > 0);
    assert.equal((await service.store.sequence()).size, size, 'nothing was appended');
  });
});

test('a restored copy is refused while it is shorter than what was signed', async () => {
  const own = machine();
  const [file, copy] = [join(own.folder, 'writ.db'), join(own.folder, 'copy.db')];
  await life(own, { store: `sqlite:${file}` }, sealed);
  copyFileSync(file, copy);
  await life(own, { store: `sqlite:${file}` }, async (service) => {
    for (let i = 0; i < 9; i++) await grow(service);
    await sealed(service);
  });

  await life(own, { store: `sqlite:${copy}` }, async (service) => {
    const reasons = await unready(service);

    assert.match(reasons, /checkpoint 3 was signed over 11 entries, the log has 1/);
    assert.deepEqual(await listed(service), [
      [2, 1],
      [1, 0],
    ]);
  });
});

test('the newest copy is signed again once it is back', async () => {
  const own = machine();
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

test('a database whose last checkpoints are missing is not signed', async () => {
  const own = machine();
  const { url } = await emptyStore();
  await life(own, { store: url }, async (service) => {
    for (let i = 0; i < 3; i++) await sealed(service);
  });
  const forgetful = (store: Store): Store => ({
    ...store,
    lastCheckpoint: async () => (await store.listCheckpoints(1, 3))[0],
  });

  await life(own, { store: url, wrap: forgetful }, async (service) => {
    assert.match(await unready(service), /checkpoint 4 was signed, the database has 2/);
  });
});

test('a foreign mark is not accepted', async () => {
  const own = machine();
  const store = `sqlite:${join(own.folder, 'writ.db')}`;
  await life(own, { store }, sealed);
  const mark = await own.mark();
  const opened = await openStore(store);
  const last = (await opened.lastCheckpoint()) as CheckpointRecord;
  await mark.advance(opened.logId, last, { ...last, sequence: last.sequence + 1 });
  await opened.close();
  await mark.close();

  await life(own, { store }, async (service) => {
    assert.match(await unready(service), /the mark says checkpoint 3/);
    assert.equal((await listed(service)).length, 2);
  });
});

/** A mark that fails when it is told to. */
function failing(mark: MarkStore, isFailing: () => boolean): MarkStore {
  const attempt = <Args extends unknown[], Result>(step: (...args: Args) => Promise<Result>) => {
    return async (...args: Args) => {
      if (isFailing()) throw new StoreUnavailable('Cannot use the mark: disk full');
      return step(...args);
    };
  };
  const { read, advance, status, setStatus } = mark;
  return {
    ...mark,
    read: attempt(read),
    advance: attempt(advance),
    status: attempt(status),
    setStatus: attempt(setStatus),
  };
}

test('a log does not start while its mark cannot be written', async () => {
  const own = machine();
  const mark = failing(await own.mark(), () => true);

  await life(own, { mark }, async (service) => {
    assert.match(await unready(service), /was not compared with what was signed: .*disk full/);
    await assert.rejects(grow(service), /service_unavailable/);
    assert.deepEqual(await listed(service), []);
  });
});

test('a mark that fails later stops only sealing', async () => {
  const own = machine();
  let isFailing = false;
  const mark = failing(await own.mark(), () => isFailing);

  await life(own, { mark }, async (service) => {
    isFailing = true;
    assert.equal((await seal(service)).status, 503);
    await grow(service);
    assert.equal(await unready(service), '');
    assert.ok(service.log.some((line) => line.includes('disk full')));
  });
});

test('a log with entries and no mark is withheld, also when the mark goes missing while it runs', async () => {
  const own = machine();
  const store = `sqlite:${join(own.folder, 'writ.db')}`;
  await life(own, { store }, async (service) => {
    await sealed(service);
    assert.equal(await unready(service), '');
    for (const part of ['', '-wal', '-shm']) {
      rmSync(join(own.folder, `mark.db${part}`), { force: true });
    }
    await eventually(async () => (await unready(service)) !== '');
    assert.match(await unready(service), /the log has 1 entry and no mark.*"The mark is missing"/);
    await assert.rejects(grow(service), /service_unavailable/);
  });

  await life(own, { store }, async (service) => {
    assert.match(await unready(service), /the log has 1 entry and no mark/);
    await assert.rejects(grow(service), /service_unavailable/);
    assert.equal((await listed(service)).length, 2);
  });
});

test('a damaged mark is not treated as absent', async () => {
  const own = machine();
  const store = `sqlite:${join(own.folder, 'writ.db')}`;
  await life(own, { store }, sealed);
  const damaged = markIn({
    read: async (key) => (key.endsWith('/word') ? undefined : '{}'),
    replace: async () => false,
    close: async () => undefined,
  });

  await life(own, { store, mark: damaged }, async (service) => {
    assert.match(await unready(service), /Cannot read the mark: it is damaged/);
    await assert.rejects(grow(service), /service_unavailable/);
  });
});

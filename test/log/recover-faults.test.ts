/**
 * Who may recover a log, and what a run leaves that was killed.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { ORIGIN_SPAN } from '../../src/domain/log/origin.ts';
import { system } from '../../src/platform.ts';
import { acceptLoss } from '../../src/service/log/recover-log.ts';
import { openMark, openStore } from '../../src/storage/open.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { closedAtEnd } from '../support/ends.ts';
import { entry } from '../support/fixtures.ts';
import {
  configure,
  FIRST_OPERATOR,
  folder,
  IDENTITIES,
  life,
  ownFolder,
  PLACES,
  type Place,
  rolledBack,
  SECOND,
  writ,
} from './restored-desk.ts';

ownFolder();

const open = PLACES.SQLite as () => Promise<Place>;

/** The steps of a run, in their order; it is killed before one of them. */
const STEPS = ['unrevokedRoots', 'deny', 'voidPromises', 'beginOrigin'] as const;

const partsOf = (store: Store) => ({
  store,
  unchecked: store,
  platform: system,
  operator: 'service:first',
});

for (const step of STEPS) {
  test(`the next run of writ recover completes one that was killed before ${step}()`, async () => {
    const place = await open();
    const { token } = await rolledBack(place);
    const store = await openStore(place.url);
    const mark = await openMark(`sqlite:${join(folder, 'mark.db')}`);
    const killed: Store = { ...store, [step]: () => Promise.reject(new Error('killed here')) };
    const run = acceptLoss({ ...partsOf(killed), mark });
    await assert.rejects(run, /killed here/);
    await mark.close();
    await store.close();

    await life(place, async (desk) => {
      assert.equal((await desk.ask('GET', '/readyz')).status, 503, 'it is not over yet');
      assert.equal((await desk.invoke(token, 'look')).status, 503);
    });
    const again = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);

    assert.equal(again.status, 0, again.err);
    await life(place, async (desk) => {
      assert.equal((await desk.ask('GET', '/readyz')).status, 200);
      assert.equal((await desk.invoke(token, 'look')).status, 401);
      assert.equal((await desk.invoke(await desk.issue(), 'look')).status, 200);
    });
  });
}

const ACCEPT = ['recover', '--accept-loss'];

test('a copy of an ended log starts no second successor once the first was signed', async () => {
  const place = await open();
  await rolledBack(place);
  assert.equal((await writ(ACCEPT, place, FIRST_OPERATOR)).status, 0);
  await life(place, (desk) => desk.seal());
  await place.restore();
  const kept = await headOf(place);

  const again = await writ(ACCEPT, place, FIRST_OPERATOR);

  assert.equal(again.status, 2, again.out);
  assert.match(
    again.err,
    /a copy of a log that an operator ended; the store of its successor must/,
  );
  assert.deepEqual(await headOf(place), kept, 'the copy is as it was');
});

test('a copy of a log whose successor signed nothing starts the same successor', async () => {
  const place = await open();
  await rolledBack(place);
  const first = await writ(ACCEPT, place, FIRST_OPERATOR);
  await place.restore();

  const again = await writ(ACCEPT, place, FIRST_OPERATOR);

  assert.equal(again.status, 0, again.err);
  assert.equal(again.out.split('\n')[0], first.out.split('\n')[0]);
});

test('only one of two concurrent runs starts the next log', async () => {
  const place = await open();
  await rolledBack(place);
  const store = closedAtEnd(await openStore(place.url));
  const mark = closedAtEnd(await openMark(`sqlite:${join(folder, 'mark.db')}`));
  const parts = { ...partsOf(store), mark };
  let isLate = false;
  const overtaken: Store = {
    ...store,
    async beginOrigin(...args) {
      if (!isLate) await acceptLoss(parts);
      isLate = true;
      return store.beginOrigin(...args);
    },
  };

  const run = acceptLoss({ ...partsOf(overtaken), mark });

  await assert.rejects(run, /another run has begun the next log/);
  assert.equal((await store.origins()).length, 2);
});

async function headOf({ url }: Place) {
  const store = await openStore(url);
  const head = await store.sequence();
  await store.close();
  return head;
}

test('a log does not start when entries arrived while the rest was voided', async () => {
  const place = await open();
  await rolledBack(place);
  const store = closedAtEnd(await openStore(place.url));
  const mark = closedAtEnd(await openMark(`sqlite:${join(folder, 'mark.db')}`));
  let late = 2;
  const busy: Store = {
    ...store,
    async voidPromises() {
      await store.voidPromises();
      late -= 1;
      if (late >= 0) await store.append([entry({ entry_type: 'dry_run' })]);
    },
  };

  const { surviving } = await acceptLoss({ ...partsOf(busy), mark });

  const kept = await store.scanEntries(0, 100);
  assert.equal(kept.filter(({ sequence }) => sequence < ORIGIN_SPAN).length, surviving);
  assert.equal(kept.at(-1)?.sequence, ORIGIN_SPAN);
});

test('writ recover asks for a second operator where the configuration has two', async () => {
  configure([...IDENTITIES, SECOND]);
  const place = await open();
  await rolledBack(place);
  const both = { ...FIRST_OPERATOR, WRIT_CLIENT_SECOND_CREDENTIAL: 'second-key' };
  const twice = { ...FIRST_OPERATOR, WRIT_CLIENT_SECOND_CREDENTIAL: 'first-key' };
  const args = ['recover', '--accept-loss'];

  const none = await writ(args, place);
  const stranger = await writ(args, place, { WRIT_CLIENT_CREDENTIAL: 'alice-key' });
  const alone = await writ(args, place, FIRST_OPERATOR);
  const same = await writ(args, place, twice);
  const agreed = await writ(args, place, both);

  assert.match(none.err, /there is no credential/);
  assert.match(stranger.err, /of no identity with the scope "operator:recover"/);
  assert.match(alone.err, /there are 2 operators, so two must agree/);
  assert.match(same.err, /both credentials are those of service:first/);
  assert.equal(agreed.status, 0, agreed.err);
  await life(place, async (desk) => {
    const { body } = await desk.ask('POST', '/svc/audit?entry_type=operator', 'first-key');
    const [entry] = body.entries.filter(
      (each: { sequence: number }) => each.sequence === ORIGIN_SPAN,
    );
    assert.equal(entry.detail.confirmed_by, 'service:second');
  });
});

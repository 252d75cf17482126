/**
 * The ledger equals the log: whatever kills the processes of a composed call, one after another, each
 * budget is what the entries and the open calls say, at every moment; and once a process has gone on
 * with the call, nothing stays reserved.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { HandlerFailure, NoEffect } from '../../src/service/author/handler.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { openStore } from '../../src/storage/open.ts';
import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { OPERATOR } from '../invoke/principals.ts';
import { temporaryFolder } from '../support/ends.ts';
import { group } from '../support/missing.ts';
import { eventually, STORES } from '../support/world.ts';
import { createWorld, whole } from './catalog.ts';
import { type Desk, openDesk } from './desk.ts';
import { type Death, mortal } from './mortal.ts';

const wholes = [
  whole('trip', ['hold_one', 'hold_two', 'hold_three']),
  // Long enough that the second step always begins.
  whole('slow', ['hold_one', 'hold_two'], { deadline: '1s' }),
];

/** Where the first process dies: a step ended, another began, and while the first is undone. */
const FIRST_DEATHS = [1, 4, 6];

/** More changes than anybody makes who goes on with a call. */
const CHANGES_MAX = 8;

const SHARED = {
  keys: temporaryFolder(),
  settings: { stop_grace_seconds: 0 },
};

/** Soon enough for a test, and no sooner: who is slow must not be taken for dead. */
const RECOVERY = { intervalMs: 20, silentMs: 1 };

for (const place of STORES) {
  group(place.name, async () => {
    const world = createWorld(wholes);
    const opened = await place.open();
    const url =
      opened.url === 'memory:' ? `sqlite:${join(temporaryFolder(), 'store.db')}` : opened.url;

    async function assertEqual(words: string): Promise<void> {
      const store = await openStore(url);
      const { findings } = await checkStore(store);
      await store.close();
      assert.deepEqual(findings, [], words);
    }

    /** Runs a process until it dies, or until `work` is done. True where it died. */
    async function untilDeath(
      death: Death,
      work: (desk: Desk) => Promise<unknown>,
    ): Promise<boolean> {
      let died = false;
      let tell: () => void = () => undefined;
      const dead = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const wrap = mortal(death, () => {
        died = true;
        tell();
      });
      const recovery = death.from === 'adoptComposition' ? { recovery: RECOVERY } : {};
      const desk = await openDesk(world, { store: url, wrap, ...recovery, ...SHARED });
      const working = work(desk).catch((error) => {
        if (!(error instanceof StoreUnavailable)) throw error;
        return dead;
      });
      await Promise.race([dead, working]);
      await desk.close();
      await working;
      return died;
    }

    /** A call whose process dies on the way, under a token of its own. */
    async function leaveOpen(after: number): Promise<IssueAnswer> {
      world.reset();
      world.script('hold_three', () => {
        throw new NoEffect('Cannot hold: sold out');
      });
      let token: IssueAnswer | undefined;
      await untilDeath({ after, happened: true }, async (desk) => {
        token = await desk.token();
        await desk.invoke(token.token, 'trip', { item: 'x' });
      });
      if (!token) throw new Error('Cannot test: no token was issued');
      return token;
    }

    const isOver = (token: IssueAnswer) => (desk: Desk) =>
      eventually(async () => (await desk.spent(token))[0] === 0n);

    for (const first of FIRST_DEATHS) {
      test(`the ledger equals the log when a second process crashes while resuming after ${first} changes`, {
        timeout: 240_000,
      }, async () => {
        for (let after = 0, died = true; died; after++) {
          assert.ok(after < CHANGES_MAX, 'going on makes more changes than were counted on');
          for (const happened of [false, true]) {
            const token = await leaveOpen(first);
            await assertEqual(`killed once, at ${first}`);
            const death = { after, happened, from: 'adoptComposition' } as const;
            died = await untilDeath(death, isOver(token));
            await assertEqual(`killed twice, at ${first} and at ${after}`);

            const third = await openDesk(world, { store: url, recovery: RECOVERY, ...SHARED });
            await isOver(token)(third);
            await third.close();

            await assertEqual(`over, killed at ${first} and at ${after}`);
          }
        }
      });
    }

    test('a call that could not be resumed is tried again by the same process', async () => {
      const token = await leaveOpen(1);
      let refused = 0;
      const wrap = (store: Store): Store => ({
        ...store,
        load: (request) => {
          // The only one that asks for a token and nothing else.
          if (refused > 0 || Object.keys(request).length > 1) return store.load(request);
          refused += 1;
          return Promise.reject(new StoreUnavailable('Cannot read: a test'));
        },
      });

      const desk = await openDesk(world, { store: url, wrap, recovery: RECOVERY, ...SHARED });
      await isOver(token)(desk);
      await desk.close();

      assert.equal(refused, 1);
      await assertEqual('over');
    });

    test('an unknown outcome is charged in full, and its entry says so', async () => {
      world.reset();
      world.script('hold_two', (_parameters, context) => {
        context.cost({ currency: 'USD', amount: 1 });
        throw new HandlerFailure('Cannot tell', 'outcome_unknown');
      });
      const desk = await openDesk(world, { store: url, ...SHARED });
      const [one, two] = [await desk.token(), await desk.token()];

      const atomic = await desk.invoke(one.token, 'hold_two', { item: 'x' });
      const composed = await desk.invoke(two.token, 'trip', { item: 'x' });

      const costs = await Promise.all(
        [atomic, composed].map(async ({ body }) => {
          const [entry] = await desk.entries(body.invocation_id);
          return [entry?.state, entry?.cost_actual?.amount];
        }),
      );
      const spent = [await desk.spent(one), await desk.spent(two)];
      await desk.close();
      assert.deepEqual(costs, [
        ['indeterminate', 10],
        ['indeterminate', 30],
      ]);
      assert.deepEqual(spent, [
        [0n, 10_00n],
        [0n, 30_00n],
      ]);
      await assertEqual('charged in full');
    });

    test('a call that ends unknown after its deadline is still to be reconciled', async () => {
      world.reset();
      const desk = await openDesk(world, { store: url, ...SHARED });
      const isClosed = async () =>
        (await desk.store.indeterminate(1_000)).some(({ capability }) => capability === 'slow');
      world.script('hold_two', async () => {
        await eventually(isClosed);
        throw new HandlerFailure('Cannot tell', 'outcome_unknown');
      });
      const token = await desk.token();

      const { body } = await desk.invoke(token.token, 'slow', { item: 'x' });
      await eventually(async () => (await desk.entries(body.invocation_id)).length === 2);
      const { status } = await desk.ask('POST', '/svc/operator/reconcile', {
        bearer: OPERATOR,
        body: { invocation_id: body.invocation_id, outcome: 'not_executed', reason: 'asked' },
      });

      const spent = await desk.spent(token);
      await desk.close();
      assert.equal(status, 200);
      assert.deepEqual(spent, [0n, 0n]);
      await assertEqual('reconciled');
    });
  });
}

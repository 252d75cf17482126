/**
 * A process that dies between any two steps of an approval: no effect happens twice, no decision that
 * was acknowledged is lost, and what ran is in the log.
 *
 * The process dies at the port: from some change of the store on, before or after it happened, the
 * store answers it nothing any more. Another process on the same store goes on where a client would.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { openStore } from '../../src/storage/open.ts';
import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { group } from '../support/missing.ts';
import { eventually, type Reply, STORES } from '../support/world.ts';
import { BOB, type Desk, startDesk } from './desk.ts';

/** The changes of one approval in their order: asked, its call refused, granted, admitted, settled. */
const CHANGES = ['requestApproval', 'append', 'approve', 'admit', 'settle'] as const;
type Change = (typeof CHANGES)[number];

/** Everything else a process does with its store. */
const READS = ['load', 'loadApproval', 'heartbeat', 'freezesUnder', 'expireApprovals'] as const;

interface Mortal {
  readonly store: Store;
  /** Dies at the next change of this kind. */
  dieAt(change: Change, when: 'before' | 'after'): void;
}

function mortal(store: Store): Mortal {
  let dead = false;
  let planned: { change: Change; when: 'before' | 'after' } | undefined;
  const gone = () => new StoreUnavailable('Cannot write: the process is dead');
  const changing = (change: Change) =>
    async function changed(this: unknown, ...args: unknown[]) {
      const dies = planned?.change === change;
      if (dead || (dies && planned?.when === 'before')) {
        dead = true;
        throw gone();
      }
      const real = store[change] as (...args: unknown[]) => Promise<unknown>;
      const result = await real(...args);
      if (!dies) return result;
      dead = true;
      throw gone();
    };
  const reading = (name: (typeof READS)[number]) =>
    async function read(...args: unknown[]) {
      if (dead) throw gone();
      return (store[name] as (...args: unknown[]) => Promise<unknown>)(...args);
    };
  return {
    dieAt: (change, when) => {
      planned = { change, when };
    },
    store: {
      ...store,
      ...Object.fromEntries(CHANGES.map((change) => [change, changing(change)])),
      ...Object.fromEntries(READS.map((name) => [name, reading(name)])),
      close: async () => undefined,
    },
  };
}

interface Progress {
  request?: string;
  grant?: string;
  reply?: Reply;
}

/** One approval as a client and an approver walk through it, from wherever they are. */
async function walk(desk: Desk, token: IssueAnswer, parameters: object, known: Progress) {
  const headers = { 'idempotency-key': JSON.stringify(parameters).replaceAll(' ', '') };
  const progress = { ...known };
  if (!progress.request) {
    const { body } = await desk.invoke(token.token, 'pay', parameters, { headers });
    progress.request = body.failure?.approval_request_id;
    if (!progress.request) return progress;
  }
  if (!progress.grant) {
    const { status, body } = await desk.approve(BOB, progress.request);
    // Decided before, though nobody heard of it: the request itself names its grant.
    if (status === 200) progress.grant = body.grant_id;
    else progress.grant = (await desk.read(BOB, progress.request)).body.grant_id ?? undefined;
    if (!progress.grant) return progress;
  }
  const fields = { approval_grant: progress.grant };
  progress.reply = await desk.invoke(token.token, 'pay', parameters, { headers, fields });
  return progress;
}

const KILLS = CHANGES.flatMap((change) =>
  (['before', 'after'] as const).map((when) => ({ change, when })),
);

for (const place of STORES) {
  group(place.name, async () => {
    const keys = temporaryFolder();
    const { url } = await place.open();
    const opened = closedAtEnd(await openStore(url));

    const start = (store: Store) =>
      startDesk({
        wrap: () => store,
        settings: { keys },
        recovery: { intervalMs: 20, silentMs: 200 },
      });

    for (const { change, when } of KILLS) {
      test(`an approval survives a crash ${when} ${change}()`, async () => {
        const parameters = { note: `killed-${when}-${change}` };
        const first = mortal(opened);
        const before = closedAtEnd(await start(first.store));
        const token = await before.token();
        first.dieAt(change, when);
        const known = await walk(before, token, parameters, {});
        const after = closedAtEnd(await start({ ...opened, close: async () => undefined }));
        // What the dead process left open is closed first; until then its key is in progress.
        let progress: Progress = known;
        await eventually(async () => {
          progress = await walk(after, token, parameters, progress);
          return progress.reply?.body.failure?.type !== 'idempotency_in_progress';
        });

        const effects = [before, after].flatMap(({ world }) => world.runs('pay'));
        // Admitted, then dead before the handler: the use is taken, and nobody may take it again.
        const lost = change === 'admit' && when === 'after';
        assert.equal(effects.length, lost ? 0 : 1);
        const unsaid = change === 'settle' && when === 'before';
        assert.equal(progress.reply?.status === 200, !lost && !unsaid);
        if (known.grant) assert.equal(progress.grant, known.grant);
        if (known.request) assert.equal(progress.request, known.request);
        await assertWhole(after, progress, effects.length);
      });
    }
  });
}

/** One decision, at most one use, and an entry for what ran: success is only said of what happened. */
async function assertWhole(desk: Desk, { request: id = '', reply }: Progress, effects: number) {
  const request = await desk.store.loadApproval(id);
  assert.equal(request?.status, 'approved');
  const decisions = (await desk.entries('approval_decision')).filter(
    (entry) => entry.approval_request_id === id && entry.success,
  );
  assert.equal(decisions.length, 1);
  const asked = (await desk.entries('approval_request')).filter(
    (entry) => entry.approval_request_id === id,
  );
  assert.equal(asked.length, 1);
  const told = (await desk.entries('invocation')).filter(
    (entry) =>
      entry.approval_grant_id === request.grant_id &&
      (entry.state === 'completed' || entry.state === 'indeterminate'),
  );
  if (reply?.status === 200) assert.equal(effects, 1);
  if (effects === 1) assert.equal(told.length, 1);
}

/**
 * The test world as a running service: its principals, tokens, and what became of each call.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe } from 'vitest';
import { entryView } from '../../src/domain/log/entry.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import {
  type Reply,
  STORES,
  type TestOptions,
  type TestService,
  testService,
} from '../service/harness.ts';
import { ALICE, OPERATOR, SETTINGS } from './principals.ts';
import { createWorld, type World } from './world.ts';

export interface Rig extends TestService {
  readonly world: World;
  /** A root token of alice, held by an agent, unless the request says otherwise. */
  token(request?: object, key?: string): Promise<IssueAnswer>;
  /** Delegates from a token; the child's request needs only what it narrows. */
  child(parent: IssueAnswer, request?: object): Promise<IssueAnswer>;
  /** Every entry of one invocation, of any type, oldest first. */
  entries(invocationId: string): Promise<AuditEntry[]>;
  /** How many entries there are in all. */
  entryCount(): Promise<number>;
  /** What the token has spent, has reserved and was given, in minor units. */
  budget(token: IssueAnswer): Promise<{ max: bigint; reserved: bigint; consumed: bigint }>;
  /** Calls of unknown outcome, as operators see them. */
  indeterminate(): Promise<{ invocation_id: string; charged: unknown }[]>;
}

export async function startRig(options: Omit<TestOptions, 'definition'> = {}): Promise<Rig> {
  const world = createWorld();
  const settings = { ...SETTINGS, ...options.settings };
  const service = await testService({ ...options, settings, definition: world.definition });
  return {
    ...service,
    world,
    token: (request = {}, key = ALICE) =>
      service.issue(key, { scope: ['w.use'], subject: 'agent:a', ...request }),
    child: (parent, request = {}) =>
      service.issue(parent.token, {
        scope: parent.scope,
        subject: 'agent:b',
        parent_token: parent.token_id,
        ...request,
      }),
    async entries(invocationId) {
      await service.store.sequence();
      const { entries: found } = await service.store.queryEntries({ invocationId, limit: 100 });
      return found.map(entryView).reverse();
    },
    entryCount: async () => (await service.store.sequence()).size,
    async budget(token) {
      const described = await service.store.describeToken(token.token_id, 0);
      const state = described?.lineage.at(-1)?.budget;
      if (!state) throw new Error(`Cannot look at the budget of ${token.token_id}: it has none`);
      return { max: state.max, reserved: state.reserved, consumed: state.consumed };
    },
    async indeterminate() {
      const { body } = await service.ask('GET', '/svc/operator/indeterminate', {
        bearer: OPERATOR,
      });
      return body.indeterminate;
    },
  };
}

/** Runs the tests of `body` on one rig per kind of store. */
export function onEachStore(body: (rig: () => Rig) => void): void {
  for (const place of STORES) {
    describe(place.name, () => {
      let rig: Rig | undefined;
      let drop: (() => Promise<void>) | undefined;
      beforeAll(async () => {
        const opened = await place.open();
        drop = opened.drop;
        rig = await startRig({ store: opened.url });
      });
      afterAll(async () => {
        await rig?.close();
        await drop?.();
      });
      body(() => {
        if (!rig) throw new Error('Cannot test: the service did not start');
        return rig;
      });
    });
  }
}

/** Checks what every refusal keeps: its type, one entry with the same word, and no effect. */
export async function assertRefused(rig: Rig, type: string, call: () => Promise<Reply>) {
  const before = { ran: rig.world.ranAny(), entries: await rig.entryCount() };
  const reply = await call();
  assert.equal(reply.body.failure?.type, type, JSON.stringify(reply.body));
  assert.equal(rig.world.ranAny(), before.ran);
  assert.equal(await rig.entryCount(), before.entries + 1);
  const [entry] = await rig.entries(reply.body.invocation_id);
  assert.equal(entry?.failure_type, type);
  assert.equal(entry?.state, 'refused');
  assert.deepEqual(reply.body.audit, { entry_id: entry?.entry_id, leaf_hash: entry?.leaf_hash });
  return reply;
}

/** Looks again until it is so. The bound only ends a test that would hang. */
export async function eventually(isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    if (await isSo()) return;
    await sleep(10);
  }
  throw new Error('Cannot go on: what was waited for did not happen');
}

/**
 * Cases on actors: a transition by a token happens only while that token is alive.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  admitCall,
  approval,
  at,
  chain,
  entry,
  freezeOf,
  grantFor,
  HOUR,
  insert,
  rootToken,
  SECOND,
  settlement,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { unchanged } from '../observe.ts';
import { decisionOn } from './approvals/decisions.ts';

/** A transition by an actor at a time, and its outcome when it happens. */
interface Step {
  readonly tokens?: readonly string[];
  readonly happens: unknown;
  take(actor: string, now: Date): Promise<unknown>;
}

const STEPS: Readonly<Record<string, (store: Store) => Promise<Step>>> = {
  async revokeToken(store) {
    const { token_id } = await insert(store, rootToken());
    return {
      tokens: [token_id],
      happens: 'object',
      take: async (actor, now) =>
        kindOf(await store.revokeToken(token_id, now, () => entry(), { actor })),
    };
  },

  async requestApproval(store) {
    return {
      happens: 'object',
      take: async (actor, created_at) => {
        const request = approval({ created_at, expires_at: at(48 * HOUR) });
        return kindOf(await store.requestApproval(request, entry(), [], { actor }));
      },
    };
  },

  async approve(store) {
    const request = approval();
    await store.requestApproval(request, entry(), []);
    const grant = grantFor(request);
    return {
      happens: 'approved',
      take: (actor, now) => store.approve(decisionOn(request, { actor, now, grant })),
    };
  },

  async deny(store) {
    const request = approval();
    await store.requestApproval(request, entry(), []);
    const { approval_request_id } = request;
    const words = { approval_request_id, decided_by: 'human:denier@example.com', reason: 'no' };
    return {
      happens: 'denied',
      take: (actor, now) => {
        return store.deny({ ...words, actor, now, entry: entry(), deliveries: [] });
      },
    };
  },

  async freeze(store) {
    return {
      happens: 'frozen',
      take: (actor, frozen_at) => store.freeze(freezeOf({ frozen_at }), entry(), actor),
    };
  },
};

/** Transitions that use the store's clock: they have no case of an expiring actor. */
const OWN_TIME_STEPS: typeof STEPS = {
  async unfreeze(store) {
    await store.freeze(freezeOf(), entry());
    const target = { what: 'service', target: '' } as const;
    return { happens: true, take: (actor) => store.unfreeze(target, entry(), actor) };
  },

  async reconcile(store) {
    const token = await insert(store, rootToken());
    const call = await admitCall(store, token);
    await store.settle(settlement(call, { outcome: 'indeterminate' }));
    const { invocation_id } = call.intent;
    return {
      tokens: [token.token_id],
      happens: 'object',
      take: async (actor) =>
        kindOf(await store.reconcile(invocation_id, true, () => entry(), { actor })),
    };
  },
};

export const ACTOR_CASES: Cases = {
  ...casesOf({ ...STEPS, ...OWN_TIME_STEPS }, (name) => [
    `${name}() does not happen once a token above its actor is revoked`,
    async (store, step) => {
      const [root, actor] = await chain(store, [{}, {}]);
      const id = actor?.token_id ?? '';
      await store.revokeToken(root?.token_id ?? '', at(0), () => entry());

      const result = await untouched(store, step, () => step.take(id, at(SECOND)));

      assert.equal(result, 'actor_revoked');
    },
  ]),

  ...casesOf({ ...STEPS, ...OWN_TIME_STEPS }, (name) => [
    `${name}() is refused for an unknown actor`,
    async (store, step) => {
      const { token_id } = rootToken();

      const result = await untouched(store, step, () => step.take(token_id, at(SECOND)));

      assert.equal(result, 'actor_revoked');
    },
  ]),

  ...casesOf(OWN_TIME_STEPS, (name) => [
    `${name}() happens while its actor is alive`,
    async (store, step) => {
      const far = new Date('2200-01-01T00:00:00.000Z');
      const { token_id } = await insert(store, rootToken({ expires_at: far }));

      assert.equal(await step.take(token_id, at(SECOND)), step.happens);
    },
  ]),

  ...casesOf(STEPS, (name) => [
    `${name}() happens until the instant its actor expires`,
    async (store, step) => {
      const { token_id } = await insert(store, rootToken({ expires_at: at(HOUR) }));

      const late = await untouched(store, step, () => step.take(token_id, at(HOUR)));
      const before = await step.take(token_id, at(HOUR - 1));

      assert.equal(late, 'actor_expired');
      assert.equal(before, step.happens);
    },
  ]),
};

function casesOf(
  steps: typeof STEPS,
  caseOf: (name: string) => [string, (store: Store, step: Step) => Promise<void>],
): Cases {
  return Object.fromEntries(
    Object.entries(steps).map(([name, prepare]) => {
      const [sentence, run] = caseOf(name);
      return [sentence, async (store: Store) => run(store, await prepare(store))];
    }),
  );
}

function untouched<Result>(store: Store, { tokens = [] }: Step, take: () => Promise<Result>) {
  return unchanged(store, { tokens }, take);
}

function kindOf(outcome: unknown): unknown {
  return typeof outcome === 'string' ? outcome : typeof outcome;
}

/**
 * The order of the checks: a call that breaks two rules hears of the earlier one.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { ALICE, OPERATOR } from './principals.ts';
import { assertRefused, onEachStore, type Rig } from './rig.ts';

type Call = (rig: Rig) => Promise<Awaited<ReturnType<Rig['invoke']>>>;

const HOUR_MS = 3_600_000;
const TASK = { purpose_parameters: { task_id: 'mine' } };
const SECRET = { scope: ['w.use', 'w.secret'] };
const OTHER_TASK = { fields: { task_id: 'other' } };

/** A token below so many others. */
async function deep(rig: Rig, depth: number, request: object = {}): Promise<IssueAnswer> {
  let token = await rig.token(request);
  for (let i = 0; i < depth; i++) token = await rig.child(token);
  return token;
}

/**
 * Each row breaks the rule that it names and every later one that can be broken with it, in the order
 * of the decisions: signature, stored, revoked, expired, shape, capability, class, scope, binding,
 * task, depth, replay, controls, bindings, budget, inputs, approval, admission.
 */
const ROWS: [rule: string, type: string, call: Call][] = [
  [
    'revocation before expiry',
    'invalid_token',
    async (rig) => {
      const token = await rig.token({ ttl_hours: 1 });
      const body = { token_id: token.token_id };
      await rig.ask('POST', '/svc/tokens/revoke', { bearer: ALICE, body });
      rig.advance(HOUR_MS);
      const reply = await rig.invoke(token.token, 'absent', {}, { fields: { stream: 'x' } });
      rig.advance(-HOUR_MS);
      return reply;
    },
  ],
  [
    'expiry before the shape of the request',
    'token_expired',
    async (rig) => {
      const token = await rig.token({ ttl_hours: 1 });
      rig.advance(HOUR_MS);
      const reply = await rig.invoke(token.token, 'absent', {}, { fields: { stream: 'x' } });
      rig.advance(-HOUR_MS);
      return reply;
    },
  ],
  [
    'the shape before the capability',
    'invalid_parameters',
    async (rig) => rig.invoke((await rig.token()).token, 'absent', {}, { fields: { stream: 'x' } }),
  ],
  [
    'the capability before the task',
    'unknown_capability',
    async (rig) => rig.invoke((await rig.token(TASK)).token, 'absent', {}, OTHER_TASK),
  ],
  [
    'the class before scope, binding, task and depth',
    'principal_class_not_admitted',
    async (rig) => {
      const token = await deep(rig, 1, { ...TASK, capability: 'touch' });
      return rig.invoke(token.token, 'everything_wrong', { nope: 1 }, OTHER_TASK);
    },
  ],
  [
    'scope before binding, task and depth',
    'scope_insufficient',
    async (rig) => {
      const root = await rig.token({ ...TASK, capability: 'touch', subject: 'human:h' });
      return rig.invoke(root.token, 'everything_wrong', { nope: 1 }, OTHER_TASK);
    },
  ],
  [
    'the binding of the token before task, depth and controls',
    'purpose_mismatch',
    async (rig) => {
      const token = await deep(rig, 2, { ...TASK, capability: 'touch' });
      const reply = await rig.invoke(token.token, 'shallow', { nope: 1 }, OTHER_TASK);
      assert.match(reply.body.failure.detail, /bound to "touch"/);
      return reply;
    },
  ],
  [
    'the task before the depth',
    'purpose_mismatch',
    async (rig) => {
      const token = await deep(rig, 2, TASK);
      const reply = await rig.invoke(token.token, 'shallow', { nope: 1 }, OTHER_TASK);
      assert.match(reply.body.failure.detail, /task "other"/);
      return reply;
    },
  ],
  [
    'the depth before the key',
    'delegation_depth_exceeded',
    async (rig) => {
      const token = await rig.token({ subject: 'agent:b' });
      const headers = { 'idempotency-key': 'order-depth' };
      await rig.invoke(token.token, 'shallow', {}, { headers });
      const below = await rig.child(await rig.child(token));
      return rig.invoke(below.token, 'shallow', { nope: 1 }, { headers });
    },
  ],
  [
    'the key before controls and bindings',
    'idempotency_mismatch',
    async (rig) => {
      const budget = { currency: 'USD', max_amount: 10 };
      const headers = { 'idempotency-key': 'order-key' };
      const rich = await rig.token({ budget });
      assert.equal((await rig.invoke(rich.token, 'bounded', {}, { headers })).status, 200);
      const poor = await rig.token();
      const before = rig.world.ranAny();
      const reply = await rig.invoke(poor.token, 'bounded', { nope: 1 }, { headers });
      assert.equal(rig.world.ranAny(), before);
      return reply;
    },
  ],
  [
    'controls before bindings, budget and inputs',
    'control_requirement_unsatisfied',
    async (rig) => {
      const token = await rig.token({ ...SECRET, subject: 'human:h' });
      return rig.invoke(token.token, 'everything_wrong', { size: 'x', nope: 1 });
    },
  ],
  [
    'bindings before budget and inputs',
    'binding_missing',
    async (rig) => {
      const budget = { currency: 'EUR', max_amount: 0 };
      const token = await rig.token({ ...SECRET, budget, subject: 'human:h' });
      return rig.invoke(token.token, 'everything_wrong', { size: 'x', nope: 1 });
    },
  ],
  [
    'the budget before the inputs',
    'budget_exceeded',
    async (rig) => {
      const token = await rig.token({ budget: { currency: 'USD', max_amount: 1 } });
      return rig.invoke(token.token, 'pay', { nope: 1 });
    },
  ],
  [
    'the currency before the amount',
    'budget_currency_mismatch',
    async (rig) => {
      const token = await rig.token({ budget: { currency: 'EUR', max_amount: 1 } });
      return rig.invoke(token.token, 'guess', { nope: 1 });
    },
  ],
  [
    'the inputs before the approval and the kill switch',
    'invalid_parameters',
    async (rig) => {
      await freeze(rig, 'signed_off');
      const reply = await rig.invoke((await rig.token()).token, 'signed_off', { nope: 1 });
      await unfreeze(rig, 'signed_off');
      return reply;
    },
  ],
  [
    'the kill switch before the handler',
    'frozen',
    async (rig) => {
      await freeze(rig, 'look');
      const reply = await rig.invoke((await rig.token()).token, 'look');
      await unfreeze(rig, 'look');
      return reply;
    },
  ],
];

async function freeze(rig: Rig, target: string): Promise<void> {
  const body = { what: 'capability', target, reason: 'a drill' };
  assert.equal(
    (await rig.ask('POST', '/svc/operator/freeze', { bearer: OPERATOR, body })).status,
    200,
  );
}

async function unfreeze(rig: Rig, target: string): Promise<void> {
  const body = { what: 'capability', target };
  await rig.ask('POST', '/svc/operator/unfreeze', { bearer: OPERATOR, body });
}

onEachStore((rig) => {
  for (const [rule, type, call] of ROWS) {
    test(`invoke() finds ${rule}`, async () => {
      const reply = await call(rig());

      assert.equal(reply.body.failure?.type, type, JSON.stringify(reply.body));
      const entries = await rig().entries(reply.body.invocation_id);
      assert.deepEqual(
        entries.map((entry) => [entry.failure_type, entry.state]),
        [[type, 'refused']],
      );
    });
  }

  const counted = rig().world.ran('everything_wrong');

  test('invoke() runs no handler for any call of the order', () => {
    assert.equal(rig().world.ran('everything_wrong'), counted);
    assert.equal(rig().world.ran('signed_off'), 0);
    assert.equal(rig().world.ran('look'), 0);
    assert.equal(rig().world.ran('pay'), 0);
    // The two calls that set a key up.
    assert.equal(rig().world.ran('shallow'), 1);
    assert.equal(rig().world.ran('bounded'), 1);
  });

  test('invoke() and permissions derive no class from a name that a holder chose', async () => {
    const service = await rig().token({ subject: 'service:x' });
    const agent = await rig().token();
    const named = await rig().child(agent, { subject: 'service:x' });
    const below = await rig().child(service, { subject: 'service:y' });
    const back = await rig().child(await rig().child(service, { subject: 'agent:b' }), {
      subject: 'service:x',
    });
    const deniedTo = async ({ token }: IssueAnswer) => {
      const { body } = await rig().ask('POST', '/svc/permissions', { bearer: token });
      return body.denied.some((each: { capability: string }) => each.capability === 'service_only');
    };

    for (const token of [service, below]) {
      assert.equal((await rig().invoke(token.token, 'service_only')).status, 200);
      assert.equal(await deniedTo(token), false);
    }
    for (const token of [agent, named, back]) {
      const ran = rig().world.ran('service_only');
      const { status, body } = await rig().invoke(token.token, 'service_only');
      assert.equal(status, 403, JSON.stringify(body));
      assert.match(body.failure.detail, /it admits service principals/);
      assert.equal(rig().world.ran('service_only'), ran);
      assert.equal(await deniedTo(token), true);
    }
  });

  test('invoke() applies the rules of token and catalog, on both sides of each', async () => {
    const root = await rig().token({ subject: 'human:alice', ...SECRET });
    const one = await rig().token({ ...SECRET });
    const two = await rig().child(await rig().child(one));
    const statusOf = async (token: IssueAnswer, name: string) =>
      (await rig().invoke(token.token, name)).status;

    assert.equal(await statusOf(root, 'human_only'), 200);
    assert.equal(await statusOf(root, 'root_only'), 200);
    assert.equal(await statusOf(root, 'secret'), 200);
    const { status, body } = await assertRefused(rig(), 'principal_class_not_admitted', () =>
      rig().invoke(one.token, 'human_only'),
    );
    assert.equal(status, 403);
    assert.match(body.failure.detail, /it admits human principals/);
    await assertRefused(rig(), 'non_delegable_action', () => rig().invoke(one.token, 'root_only'));
    assert.equal(await statusOf(await rig().child(one), 'shallow'), 200);
    await assertRefused(rig(), 'delegation_depth_exceeded', () =>
      rig().invoke(two.token, 'shallow'),
    );
    // Somebody else under the root principal's own name is still not the root principal.
    const named = await rig().child(root, { subject: 'human:alice' });
    await assertRefused(rig(), 'non_delegable_action', () =>
      rig().invoke(named.token, 'root_only'),
    );
  });

  test('invoke() names what each control requirement needs', async () => {
    const budget = { currency: 'USD', max_amount: 10 };
    const free = await rig().token();
    const bounded = await rig().token({ budget });
    const bound = await rig().token({ capability: 'bound' });

    const ceiling = await assertRefused(rig(), 'control_requirement_unsatisfied', () =>
      rig().invoke(free.token, 'bounded'),
    );
    const stronger = await assertRefused(rig(), 'control_requirement_unsatisfied', () =>
      rig().invoke(free.token, 'bound'),
    );

    assert.equal(ceiling.body.failure.resolution.action, 'request_budget_bound_delegation');
    assert.equal(stronger.body.failure.resolution.action, 'request_capability_binding');
    assert.equal((await rig().invoke(bounded.token, 'bounded')).status, 200);
    assert.equal((await rig().invoke(bound.token, 'bound')).status, 200);
  });

  test('invoke() lets a call omit the task of its token but not contradict it', async () => {
    const token = await rig().token(TASK);
    const named = (fields: object) => rig().invoke(token.token, 'touch', {}, { fields });

    assert.equal((await named({})).status, 200);
    assert.equal((await named({ task_id: null })).status, 200);
    assert.equal((await named({ task_id: 'mine' })).status, 200);
    const { body } = await assertRefused(rig(), 'purpose_mismatch', () =>
      named({ task_id: 'Mine' }),
    );
    assert.equal(body.task_id, 'Mine');
    const free = await rig().token();
    const fields = { task_id: 'any' };
    assert.equal((await rig().invoke(free.token, 'touch', {}, { fields })).body.task_id, 'any');
  });
});

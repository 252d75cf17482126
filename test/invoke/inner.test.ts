/**
 * Calls that a handler makes: each is an invocation of its own, under the token and the lease of the call.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { NoEffect } from '../../src/service/author/handler.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { atEnd } from '../support/ends.ts';
import type { Script } from '../support/scripts.ts';
import { eventually } from '../support/world.ts';
import { type InnerDesk, onEachStore } from './inner-desk.ts';
import { OPERATOR } from './principals.ts';

/** A handler that calls one capability and returns its answer. */
const calling =
  (name: string, parameters: JsonObject = {}): Script =>
  async (_, { invoke }) => ({ answer: await invoke(name, parameters) });

onEachStore((desk) => {
  test('invoke() in a handler runs another capability as an invocation of its own', async () => {
    const token = await desk().token({ purpose_parameters: { task_id: 'trip-7' } });

    const body = await desk().run('tell', calling('sms', { to: 'ann' }), { token });

    assert.equal(body.success, true, JSON.stringify(body));
    const { answer } = body.result;
    assert.deepEqual(answer.result, { sent: true, to: 'ann' });
    assert.deepEqual(answer.cost_actual, { currency: 'USD', amount: 1 });
    assert.equal(answer.parent_invocation_id, body.invocation_id);
    assert.equal(answer.task_id, 'trip-7');
    assert.notEqual(answer.invocation_id, body.invocation_id);
    const [inner, ...more] = await desk().inner(body.invocation_id);
    assert.deepEqual(more, []);
    assert.equal(inner?.invocation_id, answer.invocation_id);
    assert.equal(inner?.entry_type, 'invocation');
    assert.equal(inner?.capability, 'sms');
    assert.equal(inner?.token_id, token.token_id);
    assert.equal(inner?.task_id, 'trip-7');
    assert.deepEqual(inner?.cost_actual, { currency: 'USD', amount: 1 });
    assert.deepEqual(answer.audit.entry_id, inner?.entry_id);
  });

  test('the handler of an inner call gets its own id, the id of its parent, and the caller', async () => {
    const body = await desk().run('tell', calling('sms'));

    const { context } = desk().world.calls('sms').at(-1) ?? {};
    assert.equal(context?.invocation_id, body.result.answer.invocation_id);
    assert.equal(context?.parent_invocation_id, body.invocation_id);
    assert.equal(context?.principal, 'agent:a');
    assert.equal(context?.root_principal, 'human:alice');
  });

  test('an inner call is charged by itself, beside the reservation of its parent', async () => {
    const token = await desk().token();
    let during: [bigint, bigint] | undefined;

    const body = await desk().run(
      'tell',
      async (_, { invoke, cost }) => {
        const answer = await invoke('sms', {});
        during = await desk().spent(token);
        cost({ currency: 'USD', amount: 2 });
        return { answer };
      },
      { token },
    );

    assert.deepEqual(during, [5_00n, 1_00n]);
    assert.deepEqual(body.cost_actual, { currency: 'USD', amount: 2 });
    assert.deepEqual(await desk().spent(token), [0n, 3_00n]);
  });

  test('the answer to a call shows the budget after its inner calls', async () => {
    const token = await desk().token();
    desk().world.script('walk', calling('sms'));
    const calls: [capability: string, consumed: bigint][] = [
      ['tell', 6_00n],
      ['mid', 7_00n],
      ['round', 8_00n],
    ];
    for (const [capability, consumed] of calls) {
      const body = await desk().run(capability, calling('sms'), { token });

      const { budget_spent: spent, budget_remaining: remaining } = body.budget_context;
      assert.deepEqual(await desk().spent(token), [0n, consumed]);
      assert.deepEqual([spent, remaining], [Number(consumed) / 100, 100 - Number(consumed) / 100]);
    }
    desk().world.script('walk');
  });

  test('an inner call is refused for the money that its parent has reserved', async () => {
    const token = await desk().token({ budget: { currency: 'USD', max_amount: 5.5 } });

    const body = await desk().run('tell', calling('sms'), { token });

    const { answer } = body.result;
    assert.equal(answer.success, false);
    assert.equal(answer.failure.type, 'budget_exceeded');
    assert.equal(answer.budget_context.budget_remaining, 0.5);
    assert.equal(body.success, true);
    const [inner] = await desk().inner(body.invocation_id);
    assert.equal(inner?.state, 'refused');
    assert.equal(inner?.failure_type, 'budget_exceeded');
  });

  const REFUSALS: [name: string, token: object, capability: string, type: string][] = [
    ['a scope that the token lacks', {}, 'locked', 'scope_insufficient'],
    ['a token that is bound to the parent', { capability: 'tell' }, 'sms', 'purpose_mismatch'],
    [
      'a purpose that lists the parent alone',
      { purpose_parameters: { only_capabilities: ['tell'] } },
      'sms',
      'purpose_mismatch',
    ],
    ['an unknown parameter', {}, 'mid', 'invalid_parameters'],
  ];
  for (const [name, request, capability, type] of REFUSALS) {
    test(`a refusal for ${name} is a value that the handler answers, and an entry`, async () => {
      const token = await desk().token(request);
      const before = desk().world.ran(capability);

      const body = await desk().run('tell', calling(capability, { nothing: 1 }), { token });

      assert.equal(body.success, true, JSON.stringify(body));
      assert.equal(body.result.answer.failure.type, type);
      assert.equal(desk().world.ran(capability), before);
      const [inner] = await desk().inner(body.invocation_id);
      assert.equal(inner?.failure_type, type);
      assert.equal(inner?.state, 'refused');
    });
  }

  test('a frozen capability is refused to a handler too', async () => {
    const freeze = { what: 'capability', target: 'sms', reason: 'a drill' };
    await desk().ask('POST', '/svc/operator/freeze', { bearer: OPERATOR, body: freeze });

    const body = await desk().run('tell', calling('sms'));
    await desk().ask('POST', '/svc/operator/unfreeze', { bearer: OPERATOR, body: freeze });

    assert.equal(body.result.answer.failure.type, 'frozen');
  });

  test('an inner call is refused once the token of both is revoked', async () => {
    const token = await desk().token();

    const body = await desk().run(
      'tell',
      async (_, { invoke }) => {
        const { token: bearer, token_id } = token;
        await desk().ask('POST', '/svc/tokens/revoke', { bearer, body: { token_id } });
        return { answer: await invoke('sms', {}) };
      },
      { token },
    );

    assert.equal(body.result.answer.failure.type, 'invalid_token');
  });

  test('an inner call is refused once the token of both has expired', async () => {
    const token = await desk().token({ ttl_hours: 1 });

    const body = await desk().run(
      'tell',
      async (_, { invoke }) => {
        desk().advance(3_600_000);
        return { answer: await invoke('sms', {}) };
      },
      { token },
    );
    desk().advance(-3_600_000);

    assert.equal(body.result.answer.failure.type, 'token_expired');
  });

  test('a rate limit of a capability counts the calls of handlers', async () => {
    const types: unknown[] = [];

    await desk().run('tell', async (_, { invoke }) => {
      for (let each = 0; each < 3; each += 1) {
        const answer = await invoke('paced', {});
        types.push(answer.success || answer.failure.type);
      }
      return {};
    });

    assert.deepEqual(types, [true, true, 'rate_limited']);
  });

  test('an inner failure is the failure of its handler, with the advice of the contract', async () => {
    desk().world.script('sms', () => {
      throw new NoEffect('Cannot send: no such number');
    });
    const body = await desk().run('tell', calling('sms'));
    desk().world.script('sms');

    const { answer } = body.result;
    assert.equal(answer.failure.type, 'invalid_parameters');
    assert.equal(answer.failure.detail, 'Cannot send: no such number');
    assert.equal(answer.effect, 'none');
  });

  test('inner calls below each other each name the call that made them', async () => {
    const body = await desk().run('tell', calling('mid'));

    const middle = body.result.answer;
    const lowest = middle.result.answer;
    assert.equal(middle.parent_invocation_id, body.invocation_id);
    assert.equal(lowest.parent_invocation_id, middle.invocation_id);
    assert.deepEqual(lowest.result, { sent: true, to: 'm' });
  });

  test('a handler calls a composed capability, whose steps call further', async () => {
    const body = await desk().run('tell', calling('trip'));

    const { answer } = body.result;
    assert.equal(answer.success, true, JSON.stringify(answer));
    const [step] = await desk().inner(answer.invocation_id);
    assert.equal(step?.capability, 'mid');
    const [sms] = await desk().inner(step?.invocation_id ?? '');
    assert.equal(sms?.capability, 'sms');
    assert.equal(sms?.success, true);
  });

  test('the handler of a step calls under the id of its step', async () => {
    const token = await desk().token();
    desk().world.script('walk', calling('sms'));
    const { body } = await desk().invoke(token.token, 'round');
    desk().world.script('walk');

    const [step] = await desk().inner(body.invocation_id);
    const [sms] = await desk().inner(step?.invocation_id ?? '');
    assert.equal(body.success, true, JSON.stringify(body));
    assert.equal(sms?.capability, 'sms');
    assert.deepEqual(await desk().spent(token), [0n, 1_00n]);
  });

  const EXCLUSIVE = { concurrent_branches: 'exclusive' };
  test('an inner call runs under the lease of its parent, at every depth, and releases nothing', async () => {
    const token = await desk().token(EXCLUSIVE);
    let beside: string | undefined;

    const body = await desk().run(
      'tell',
      async (_, { invoke }) => {
        const answers = [await invoke('mid', {}), await invoke('look', {})];
        const { body: other } = await desk().invoke(token.token, 'other');
        beside = other.failure?.type;
        return { answer: answers.every(({ success }) => success) };
      },
      { token },
    );
    const { body: after } = await desk().invoke(token.token, 'other');

    assert.deepEqual(body.result, { answer: true });
    assert.equal(beside, 'concurrent_branch_busy');
    assert.equal(after.success, true);
  });

  test('an inner call is refused once another call has the lease of its parent', async () => {
    const token = await desk().token(EXCLUSIVE);
    let inner: string | undefined;

    const body = await desk().run(
      'tell',
      async (_, { invoke }) => {
        desk().advance(20_000);
        atEnd(() => desk().advance(-20_000));
        const { body: other } = await desk().invoke(token.token, 'other');
        assert.equal(other.success, true);
        const answer = await invoke('sms', {});
        inner = answer.success ? 'success' : answer.failure.type;
        return {};
      },
      { token },
    );

    assert.equal(inner, 'concurrent_branch_busy');
    assert.equal(body.failure.type, 'outcome_unknown');
    const [entry] = await desk().inner(body.invocation_id);
    assert.equal(entry?.state, 'refused');
  });

  test('a late inner handler keeps the lease until it ends', async () => {
    const token = await desk().token(EXCLUSIVE);
    let end: (value: JsonObject) => void = () => undefined;
    desk().world.script('slow', () => new Promise((resolve) => (end = resolve)));
    let inner: string | undefined;
    const calls = desk().run(
      'tell',
      async (_, { invoke }) => {
        const answer = await invoke('slow', {});
        inner = answer.success ? 'success' : answer.failure.type;
        return {};
      },
      { token },
    );
    await eventually(() => inner !== undefined);

    const { body: beside } = await desk().invoke(token.token, 'other');
    end({});
    const body = await calls;
    desk().world.script('slow');

    assert.equal(inner, 'outcome_unknown');
    assert.equal(beside.failure.type, 'concurrent_branch_busy');
    assert.equal(body.success, true);
    assert.equal((await desk().invoke(token.token, 'other')).body.success, true);
  });

  test('a replay of the parent runs no inner call again', async () => {
    const token = await desk().token();
    const headers = { 'idempotency-key': 'once' };
    const ran = desk().world.ran('sms');

    const first = await desk().run('tell', calling('sms'), { token, headers });
    const again = await desk().run('tell', calling('sms'), { token, headers });

    assert.deepEqual(again, first);
    assert.equal(desk().world.ran('sms'), ran + 1);
    assert.equal((await desk().inner(first.invocation_id)).length, 1);
  });

  test('a grant of the parent is used by the parent alone', async () => {
    const token = await desk().token();
    const { body: asked } = await desk().invoke(token.token, 'asking');
    const { approval_request_id } = asked.failure;
    const decision = { approval_request_id, grant_type: 'one_time' };
    const grant = await desk().ask('POST', '/svc/approval_grants', {
      bearer: 'approver-key',
      body: decision,
    });
    const fields = { approval_grant: grant.body.grant_id };

    const body = await desk().run('asking', calling('sms'), { token, fields });

    assert.equal(body.success, true, JSON.stringify(body));
    const [inner] = await desk().inner(body.invocation_id);
    assert.equal(inner?.success, true);
    assert.equal(inner?.approval_grant_id, null);
    const [own] = await desk().entries(body.invocation_id);
    assert.equal(own?.approval_grant_id, grant.body.grant_id);
  });

  test('a dry run of the parent makes no inner call', async () => {
    const token = await desk().token();
    const ran = desk().world.ran('sms');
    desk().world.script('tell', calling('sms'));

    const { body } = await desk().ask('POST', '/svc/test/tell', {
      bearer: token.token,
      body: { parameters: {} },
    });
    desk().world.script('tell');

    assert.equal(body.would_be_admitted, true);
    assert.equal(desk().world.ran('sms'), ran);
  });

  test('a streaming parent sends its own events only', async () => {
    const token = await desk().token();
    desk().world.script('mid', async (_, { invoke, progress }) => {
      await progress({ of: 'mid' });
      return { answer: await invoke('sms', {}) };
    });
    const script: Script = async (_, { invoke, progress }) => {
      await progress({ of: 'tell' });
      return { answer: (await invoke('mid', {})).success };
    };
    desk().world.script('tell', script);
    const { text = '' } = await desk().invoke(
      token.token,
      'tell',
      {},
      { fields: { stream: true } },
    );
    desk().world.script('tell');
    desk().world.script('mid');

    assert.deepEqual(
      [...text.matchAll(/^event: (\w+)/gm)].map(([, name]) => name),
      ['started', 'progress', 'completed'],
    );
    assert.doesNotMatch(text, /"of":"mid"/);
    assert.match(text, /"answer":true/);
  });

  test('the books of a store with inner calls are in order', async () => {
    await desk().run('tell', calling('trip'));

    assert.deepEqual((await checkStore(desk().store)).findings, []);
  });

  test('a read that reads by an inner call is not admitted, and leaves two entries', async () => {
    const body = await desk().run('peek', calling('look'));

    assert.equal(body.success, true);
    assert.equal((await desk().inner(body.invocation_id)).length, 1);
  });
});

const CONTRADICTIONS: [name: string, script: Script][] = [
  ['NoEffect', () => Promise.reject(new NoEffect('Nothing happened'))],
  ['requireApproval()', async (_, { requireApproval }) => ({ answer: requireApproval() })],
];

/** A handler that says that nothing happened, after a call of this capability. */
const after =
  (name: string, script: Script): Script =>
  async (parameters, context) => {
    await context.invoke(name, {});
    return script(parameters, context);
  };

async function endOf(desk: InnerDesk, script: Script) {
  const token = await desk.token();
  const body = await desk.run('wavering', script, { token });
  return { body, log: desk.log.splice(0).join('\n') };
}

onEachStore((desk) => {
  for (const [name, script] of CONTRADICTIONS) {
    test(`${name} after an inner call with an effect is a defect, and nothing is repeated`, async () => {
      const { body, log } = await endOf(desk(), after('sms', script));

      assert.equal(body.failure.type, 'internal_error');
      assert.equal('effect' in body, false);
      assert.match(log, /says that nothing happened, but a call that it made had an effect/);
    });

    test(`${name} after an inner read, or a refused call, is what it says`, async () => {
      for (const called of ['look', 'locked']) {
        const { body } = await endOf(desk(), after(called, script));

        assert.match(body.failure.type, /^(invalid_parameters|approval_required)$/);
      }
    });
  }
});

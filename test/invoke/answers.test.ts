/**
 * What an invocation answers and records: every field, on success and on failure.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { expect, test } from 'vitest';
import { InvokeAnswer } from '../../src/protocol/invocation.ts';
import { ALICE, BOB } from './principals.ts';
import { assertRefused, onEachStore } from './rig.ts';

const IDS = {
  client_reference_id: 'ref-1',
  task_id: 'task-1',
  parent_invocation_id: 'inv-0123456789ab',
  upstream_service: 'other-desk',
};
const HOUR_MS = 3_600_000;

onEachStore((rig) => {
  test('invoke() answers a success with exactly the fields that apply', async () => {
    const token = await rig().token({ budget: { currency: 'USD', max_amount: 25 } });

    const { status, body, headers } = await rig().invoke(token.token, 'pay', {}, { fields: IDS });

    assert.equal(status, 200);
    assert.equal(headers['cache-control'], 'no-store');
    expect(body).toEqual({
      success: true,
      invocation_id: expect.stringMatching(/^inv-[0-9a-f]{12}$/),
      ...IDS,
      result: { done: true },
      cost_actual: { currency: 'USD', amount: 10 },
      budget_context: {
        budget_max: 25,
        budget_currency: 'USD',
        cost_check_amount: 10,
        cost_certainty: 'fixed',
        budget_spent: 10,
        budget_reserved: 0,
        budget_remaining: 15,
      },
      audit: {
        entry_id: expect.stringMatching(/^ent_[0-9a-f]{32}$/),
        leaf_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
    assert.deepEqual(InvokeAnswer.parse(body), body);
  });

  test('invoke() answers a free call without cost or budget fields', async () => {
    const token = await rig().token();

    const { body } = await rig().invoke(token.token, 'touch');

    expect(Object.keys(body).sort()).toEqual(['audit', 'invocation_id', 'result', 'success']);
  });

  test('invoke() takes the task from the token when the call names none', async () => {
    const token = await rig().token({ purpose_parameters: { task_id: 'task-9' } });

    const success = await rig().invoke(token.token, 'touch');
    const refusal = await rig().invoke(token.token, 'secret');

    assert.equal(success.body.task_id, 'task-9');
    assert.equal(refusal.body.task_id, 'task-9');
    assert.equal((await rig().entries(success.body.invocation_id))[0]?.task_id, 'task-9');
  });

  test('invoke() records one entry whose leaf the receipt names, with all fields of the call', async () => {
    const token = await rig().token({ budget: { currency: 'USD', max_amount: 25 } });

    const { body } = await rig().invoke(token.token, 'pay', {}, { fields: IDS });
    const entries = await rig().entries(body.invocation_id);

    assert.equal(entries.length, 1);
    expect(entries[0]).toMatchObject({
      entry_type: 'invocation',
      invocation_id: body.invocation_id,
      capability: 'pay',
      actor_key: 'agent:a',
      root_principal: 'human:alice',
      event_class: 'high_risk_success',
      success: true,
      state: 'completed',
      failure_type: null,
      ...IDS,
      token_id: token.token_id,
      cost_actual: { currency: 'USD', amount: 10 },
      ...body.audit,
    });
  });

  test('invoke() records the risk class in the entry', async () => {
    const token = await rig().token();
    const eventOf = async (capability: string, parameters = {}) => {
      const { body } = await rig().invoke(token.token, capability, parameters);
      return (await rig().entries(body.invocation_id))[0]?.event_class;
    };

    assert.equal(await eventOf('look'), 'low_risk_success');
    assert.equal(await eventOf('look', { nope: 1 }), 'low_risk_failure');
    assert.equal(await eventOf('touch', { nope: 1 }), 'high_risk_failure');
    assert.equal(await eventOf('pay_to_read'), 'high_risk_success');
    assert.equal(await eventOf('absent'), 'low_risk_failure');
  });

  test('invoke() echoes the ids of a refused call, and its budget when that was evaluated', async () => {
    const token = await rig().token({ budget: { currency: 'USD', max_amount: 9.99 } });

    const reply = await assertRefused(rig(), 'budget_exceeded', () =>
      rig().invoke(token.token, 'pay', {}, { fields: IDS }),
    );

    const { failure, audit, ...rest } = reply.body;
    expect(rest).toEqual({
      success: false,
      invocation_id: expect.stringMatching(/^inv-[0-9a-f]{12}$/),
      ...IDS,
      budget_context: {
        budget_max: 9.99,
        budget_currency: 'USD',
        cost_check_amount: 10,
        cost_certainty: 'fixed',
        budget_spent: 0,
        budget_reserved: 0,
        budget_remaining: 9.99,
      },
    });
    assert.match(failure.detail, /10\.00 USD.*9\.99.*0\.00.*9\.99/);
    assert.ok(audit);
  });

  test('invoke() does not count a call that a later rule refused as reserved', async () => {
    const token = await rig().token({ budget: { currency: 'USD', max_amount: 25 } });

    const { body } = await assertRefused(rig(), 'invalid_parameters', () =>
      rig().invoke(token.token, 'pay', { nope: 1 }),
    );

    assert.equal(body.budget_context.budget_reserved, 0);
    assert.equal(body.budget_context.budget_remaining, 25);
  });

  test('invoke() checks only the form of a parent id', async () => {
    const token = await rig().token();
    const named = (id: unknown) =>
      rig().invoke(token.token, 'touch', {}, { fields: { parent_invocation_id: id } });

    assert.equal((await named('inv-ffffffffffff')).status, 200);
    for (const id of ['inv-FFFFFFFFFFFF', 'inv-fff', 'x', '', 7]) {
      const { body } = await assertRefused(rig(), 'invalid_parameters', () => named(id));
      assert.equal(body.parent_invocation_id, undefined);
    }
  });

  test('invoke() counts ids in characters, and echoes the readable ids of a bad request', async () => {
    const token = await rig().token();
    const longest = '\u{1f600}'.repeat(256);
    const named = (fields: object) => rig().invoke(token.token, 'touch', {}, { fields });

    const good = await named({ client_reference_id: longest, upstream_service: longest });
    assert.equal(good.body.client_reference_id, longest);

    for (const field of ['client_reference_id', 'task_id', 'upstream_service']) {
      const { body } = await assertRefused(rig(), 'invalid_parameters', () =>
        named({ ...IDS, [field]: `${longest}x` }),
      );
      const { [field as keyof typeof IDS]: _, ...others } = IDS;
      expect(body).toMatchObject(others);
      assert.equal(body[field], undefined);
    }
  });

  test('invoke() treats null ids as absent and ignores unknown fields', async () => {
    const token = await rig().token();
    const fields = { client_reference_id: null, task_id: null, unheard_of: true, stream: null };

    const { status, body } = await rig().invoke(token.token, 'touch', {}, { fields });

    assert.equal(status, 200);
    assert.equal('client_reference_id' in body, false);
    assert.equal('unheard_of' in body, false);
  });

  test('invoke() records every unreadable body of a known caller', async () => {
    const { token } = await rig().token();
    const bodies = [
      '{',
      '[]',
      '"x"',
      '{"parameters":{},"parameters":{}}',
      '{"parameters":{"a":"\\u0000"}}',
      '{"parameters":[]}',
      '{"parameters":null}',
      '{}',
      '{"parameters":{},"stream":"yes"}',
    ];

    for (const body of bodies) {
      await assertRefused(rig(), 'invalid_parameters', () =>
        rig().ask('POST', '/svc/invoke/touch', { bearer: token, body }),
      );
    }
    await assertRefused(rig(), 'unknown_capability', () => rig().invoke(token, 'absent'));
    await assertRefused(rig(), 'unknown_capability', () => rig().invoke(token, '__proto__'));
    await assertRefused(rig(), 'unknown_capability', () => rig().invoke(token, 'constructor'));
  });

  test('invoke() records a call of any capability name in the path', async () => {
    const { token } = await rig().token();

    for (const name of ['%00', 'a%00b', '%F0%9F%98%80', '%22', 'a%20b', 'x'.repeat(256)]) {
      const before = await rig().entryCount();
      const { status, body } = await rig().invoke(token, name);
      assert.ok(status === 404 || status === 400, `${name}: ${status} ${JSON.stringify(body)}`);
      assert.equal(await rig().entryCount(), before + 1, name);
    }
  });

  test('invoke() records a call with a stored token that has expired or was revoked', async () => {
    const expired = await rig().token({ ttl_hours: 1, purpose_parameters: { task_id: 't' } });
    const revoked = await rig().token({ ttl_hours: 100 });
    await rig().ask('POST', '/svc/tokens/revoke', {
      bearer: ALICE,
      body: { token_id: revoked.token_id },
    });
    rig().advance(HOUR_MS);

    const late = await assertRefused(rig(), 'token_expired', () =>
      rig().invoke(expired.token, 'touch'),
    );
    await assertRefused(rig(), 'invalid_token', () => rig().invoke(revoked.token, 'touch'));

    assert.equal(late.body.task_id, 't');
    rig().advance(-HOUR_MS);
  });

  test('invoke() records no call of an unknown caller', async () => {
    const before = await rig().entryCount();
    const { token } = await rig().token();
    const [header, payload] = token.split('.');
    const bearers: [bearer: string | undefined, type: string][] = [
      [undefined, 'authentication_required'],
      [ALICE, 'invalid_token'],
      [BOB, 'invalid_token'],
      ['nobody', 'invalid_token'],
      [`${header}.${payload}.${'A'.repeat(86)}`, 'invalid_token'],
    ];

    for (const [bearer, type] of bearers) {
      const { status, body } = await rig().ask('POST', '/svc/invoke/touch', {
        bearer,
        body: { parameters: {}, client_reference_id: 'mine' },
      });
      assert.equal(status, 401);
      assert.equal(body.failure.type, type);
      assert.equal(body.client_reference_id, 'mine');
      assert.match(body.invocation_id, /^inv-/);
      assert.equal('audit' in body, false);
    }
    // The issuance of the one token is all that was added.
    assert.equal(await rig().entryCount(), before + 1);
    assert.equal(rig().world.ran('absent'), 0);
  });
});

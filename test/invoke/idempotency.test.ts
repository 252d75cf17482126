/**
 * Idempotency keys: the same call again gets the same bytes, and nothing runs twice.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HandlerFailure, NoEffect } from '../../src/service/author/handler.ts';
import { BOB } from './principals.ts';
import { assertRefused, onEachStore, type Rig } from './rig.ts';

let keys = 0;
const newKey = () => ({ 'idempotency-key': `key-${keys++}` });

async function pay(rig: Rig, token: string, headers: Record<string, string>) {
  return rig.invoke(token, 'pay', {}, { headers });
}

onEachStore((rig) => {
  test('invoke() replays the stored bytes, marks the replay, and runs nothing', async () => {
    const token = await rig().token({ budget: { currency: 'USD', max_amount: 10 } });
    const headers = newKey();
    const fields = { client_reference_id: 'first' };

    const first = await rig().invoke(token.token, 'pay', {}, { headers, fields });
    const ran = rig().world.ran('pay');
    const again = await rig().invoke(token.token, 'pay', {}, { headers, fields: {} });

    assert.equal(first.status, 200);
    assert.equal(again.status, 200);
    assert.equal(again.text, first.text);
    assert.equal(first.headers['idempotent-replayed'], undefined);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.match(String(again.headers['content-type']), /^application\/json/);
    assert.equal(rig().world.ran('pay'), ran);
    assert.equal((await rig().budgetOf(token)).consumed, 1000n);
  });

  test('invoke() records every replay with an entry type of its own', async () => {
    const token = await rig().token();
    const headers = newKey();
    const first = await pay(rig(), token.token, headers);
    const before = await rig().entryCount();

    await pay(rig(), token.token, headers);
    await pay(rig(), token.token, headers);

    assert.equal(await rig().entryCount(), before + 2);
    const { body } = await rig().ask('POST', '/svc/audit?entry_type=replay&limit=2', {
      bearer: token.token,
    });
    for (const entry of body.entries) {
      assert.equal(entry.entry_type, 'replay');
      assert.equal(entry.capability, 'pay');
      assert.equal(entry.success, true);
    }
    assert.equal((await rig().entries(first.body.invocation_id)).length, 1);
  });

  test('invoke() replays when the budget is spent, or with another token of the same holder', async () => {
    const budget = { currency: 'USD', max_amount: 10 };
    const token = await rig().token({ budget });
    const headers = newKey();
    const first = await pay(rig(), token.token, headers);
    await assertRefused(rig(), 'budget_exceeded', () => pay(rig(), token.token, newKey()));

    assert.equal((await pay(rig(), token.token, headers)).text, first.text);
    assert.equal((await pay(rig(), (await rig().token()).token, headers)).text, first.text);
  });

  test('invoke() keeps keys of other principals, roots and capabilities apart', async () => {
    const headers = newKey();
    const token = await rig().token();
    await pay(rig(), token.token, headers);
    const ran = rig().world.ran('pay');

    await pay(rig(), (await rig().token({ subject: 'agent:other' })).token, headers);
    await pay(rig(), (await rig().token({}, BOB)).token, headers);
    const other = await rig().invoke(token.token, 'touch', {}, { headers });

    assert.equal(rig().world.ran('pay'), ran + 2);
    assert.equal(other.headers['idempotent-replayed'], undefined);
  });

  test('invoke() refuses a key that was used with other parameters, compared by value', async () => {
    const token = await rig().token();
    const headers = newKey();
    const send = (body: string) =>
      rig().ask('POST', '/svc/invoke/touch', { bearer: token.token, body, headers });
    const first = await send('{"parameters":{"note":"a"}}');

    const same = await send('{ "parameters" : { "note" : "\\u0061" } }');
    assert.equal(same.text, first.text);
    await assertRefused(rig(), 'idempotency_mismatch', () => send('{"parameters":{"note":"b"}}'));
    await assertRefused(rig(), 'idempotency_mismatch', () => send('{"parameters":{}}'));
    await assertRefused(rig(), 'idempotency_mismatch', () =>
      send('{"parameters":{"note":"a","more":1}}'),
    );
  });

  test('invoke() stores nothing for a call that was not admitted', async () => {
    const token = await rig().token();
    const headers = newKey();
    const call = (parameters: object) =>
      rig().invoke(token.token, 'touch', parameters, { headers });

    await assertRefused(rig(), 'invalid_parameters', () => call({ nope: 1 }));
    await assertRefused(rig(), 'invalid_parameters', () => call({ note: 1 }));
    const { status, headers: answered } = await call({ note: 'good' });

    assert.equal(status, 200);
    assert.equal(answered['idempotent-replayed'], undefined);
  });

  test('invoke() replays a failure of an admitted call with its status', async () => {
    const cases: [error: Error, status: number, type: string][] = [
      [new Error('inside'), 500, 'internal_error'],
      [
        new HandlerFailure('Cannot continue', 'clarification_required'),
        422,
        'clarification_required',
      ],
      [new NoEffect('Cannot find it', 'not_found'), 404, 'not_found'],
    ];
    for (const [error, status, type] of cases) {
      const token = await rig().token();
      const headers = newKey();
      rig().world.script('touch', () => {
        throw error;
      });
      const first = await rig().invoke(token.token, 'touch', {}, { headers });
      rig().world.script('touch');
      const again = await rig().invoke(token.token, 'touch', {}, { headers });

      assert.deepEqual([first.status, first.body.failure.type], [status, type]);
      assert.deepEqual([again.status, again.text], [status, first.text]);
      assert.equal(again.headers['idempotent-replayed'], 'true');
    }
  });

  test('invoke() keeps an answer for a day and then treats the key as new', async () => {
    const token = await rig().token({ ttl_hours: 100 });
    const headers = newKey();
    const first = await rig().invoke(token.token, 'touch', {}, { headers });

    rig().advance(24 * 3_600_000);
    assert.equal((await rig().invoke(token.token, 'touch', {}, { headers })).text, first.text);
    rig().advance(24 * 3_600_000);
    const later = await rig().invoke(token.token, 'touch', {}, { headers });
    rig().advance(-48 * 3_600_000);

    assert.notEqual(later.body.invocation_id, first.body.invocation_id);
    assert.equal(later.headers['idempotent-replayed'], undefined);
  });

  test('invoke() accepts only keys of 1 to 255 visible ASCII characters', async () => {
    const token = await rig().token();
    const call = (key: string) =>
      rig().invoke(token.token, 'touch', {}, { headers: { 'idempotency-key': key } });

    for (const key of ['!', '~', 'k'.repeat(255)]) assert.equal((await call(key)).status, 200);
    for (const key of ['', 'k'.repeat(256), 'a b', 'ä', 'a, b', 'a\tb']) {
      const { body } = await assertRefused(rig(), 'invalid_parameters', () => call(key));
      assert.match(body.failure.detail, /idempotency_key/);
    }
  });

  test('invoke() ignores a key in the body', async () => {
    const token = await rig().token();
    const fields = { idempotency_key: 'in-the-body' };

    const first = await rig().invoke(token.token, 'touch', {}, { fields });
    const second = await rig().invoke(token.token, 'touch', {}, { fields });

    assert.notEqual(first.body.invocation_id, second.body.invocation_id);
  });
});

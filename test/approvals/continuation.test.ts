/**
 * Continuing with a grant: what it covers, every way it does not, and what is checked again.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { folderRowKeys } from '../../src/keyring/row-keys.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import type { Loaded } from '../../src/storage/port/invocation-store.ts';
import type { GrantRecord } from '../../src/storage/port/records.ts';
import { rowText } from '../../src/storage/port/row-forms.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { group } from '../support/missing.ts';
import { STORES } from '../support/world.ts';
import { ALICE, assertRefused, BOB, type Desk, OPERATOR, onEachStore, startDesk } from './desk.ts';

let count = 0;
/** A request of its own, granted. */
async function approved(
  desk: Desk,
  capability = 'sign',
  { terms = {}, token: wanted = {} }: { terms?: object; token?: object } = {},
) {
  count += 1;
  const parameters = { note: `continue ${count}` };
  const token = await desk.token(wanted);
  const id = await desk.asked(token, capability, parameters);
  return { token, parameters, id, grant: await desk.granted(id, BOB, terms) };
}

/** The call is refused as it says, nothing runs, and the grant is as good as before. */
async function misfit(desk: Desk, call: () => ReturnType<Desk['resume']>, why: RegExp) {
  const runs = desk.world.runs('sign').length;
  const reply = await call();
  assertRefused(reply, 'approval_grant_invalid', why);
  assert.equal(reply.status, 403);
  assert.equal(reply.body.failure.resolution.action, 'request_approval');
  assert.equal(desk.world.runs('sign').length, runs);
  const entry = (await desk.entries('invocation')).at(-1);
  assert.equal(entry?.failure_type, 'approval_grant_invalid');
}

onEachStore((desk) => {
  test('invoke() runs the approved call once and records the grant in its entry', async () => {
    const { token, parameters, id, grant } = await approved(desk());

    const done = await desk().resume(token, 'sign', grant, parameters);

    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.deepEqual(desk().world.runs('sign').at(-1), parameters);
    const entry = (await desk().entries('invocation')).at(-1);
    assert.equal(entry?.approval_grant_id, grant);
    assert.equal(entry.approval_request_id, id);
    assert.equal(entry.state, 'completed');
    await misfit(desk(), () => desk().resume(token, 'sign', grant, parameters), /uses are taken/);
  });

  test('invoke() accepts a grant for its number of uses, in its session', async () => {
    const session = { session_id: 'room' };
    const { token, parameters, grant } = await approved(desk(), 'sign', {
      terms: { grant_type: 'session_bound', session_id: 'room', max_uses: 2 },
      token: session,
    });
    const other = await desk().token({ session_id: 'hall' });
    const none = await desk().token();

    await misfit(desk(), () => desk().resume(other, 'sign', grant, parameters), /session/);
    await misfit(desk(), () => desk().resume(none, 'sign', grant, parameters), /session/);
    assert.equal((await desk().resume(token, 'sign', grant, parameters)).status, 200);
    const again = await desk().token(session);
    assert.equal((await desk().resume(again, 'sign', grant, parameters)).status, 200);
    await misfit(desk(), () => desk().resume(token, 'sign', grant, parameters), /all 2 uses/);
  });

  test('invoke() ignores a session in the body', async () => {
    const { parameters, grant } = await approved(desk(), 'sign', {
      terms: { grant_type: 'session_bound', session_id: 'room' },
      token: { session_id: 'room' },
    });
    const none = await desk().token();
    const fields = { approval_grant: grant, session_id: 'room' };

    const call = () => desk().invoke(none.token, 'sign', parameters, { fields });

    await misfit(desk(), call, /session/);
  });

  test('invoke() refuses a grant for anything but the approved call', async () => {
    const { token, parameters, grant } = await approved(desk());
    const other = await desk().token({ subject: 'agent:b' });
    const bobs = await desk().token({}, BOB);
    const rows: [call: () => ReturnType<Desk['resume']>, why: RegExp][] = [
      [() => desk().resume(token, 'sign', 'gnt_unknown', parameters), /no such grant/],
      [() => desk().resume(token, 'sign', `gnt_${'0'.repeat(32)}`, parameters), /no such grant/],
      [() => desk().resume(bobs, 'sign', grant, parameters), /no such grant/],
      [() => desk().resume(other, 'sign', grant, parameters), /no such grant/],
      [() => desk().resume(token, 'judge', grant, parameters), /it is for "sign"/],
      [() => desk().resume(token, 'plain', grant, parameters), /it is for "sign"/],
      [() => desk().resume(token, 'sign', grant, { note: 'else' }), /other parameters/],
      [() => desk().resume(token, 'sign', grant, {}), /other parameters/],
    ];

    for (const [call, why] of rows) await misfit(desk(), call, why);
    assert.equal((await desk().resume(token, 'sign', grant, parameters)).status, 200);
  });

  test('invoke() refuses a grant from the instant it expires, by the clock of the store', async () => {
    desk().holdClock(true);
    atEnd(() => desk().holdClock(false));
    const terms = { expires_in_seconds: 10 };
    const early = await approved(desk(), 'sign', { terms });
    const late = await approved(desk(), 'sign', { terms });
    desk().advance(9_999);
    const done = await desk().resume(early.token, 'sign', early.grant, early.parameters);
    assert.equal(done.status, 200);
    desk().advance(1);
    const { token, grant, parameters } = late;
    await misfit(desk(), () => desk().resume(token, 'sign', grant, parameters), /expired at/);
    desk().advance(-10_000);
  });

  test('invoke() checks everything else again, and takes no use when it refuses', async () => {
    const wanted = { budget: { currency: 'USD', max_amount: 15 } };
    const { token, parameters, grant } = await approved(desk(), 'pay', { token: wanted });
    const resume = (holder: IssueAnswer, given = parameters) =>
      desk().resume(holder, 'pay', grant, given);
    const freeze = { what: 'capability', target: 'pay', reason: 'a drill' };
    await desk().ask('POST', '/svc/operator/freeze', { bearer: OPERATOR, body: freeze });
    assertRefused(await resume(token), 'frozen');
    await desk().ask('POST', '/svc/operator/unfreeze', { bearer: OPERATOR, body: freeze });
    const poor = await desk().token({ budget: { currency: 'USD', max_amount: 5 } });
    assertRefused(await resume(poor), 'budget_exceeded');
    assertRefused(await resume(await desk().token({ scope: ['a.other'] })), 'scope_insufficient');
    const bound = await desk().token({ capability: 'sign' });
    assertRefused(await resume(bound), 'purpose_mismatch');
    const gone = await desk().token();
    const body = { token_id: gone.token_id };
    await desk().ask('POST', '/svc/tokens/revoke', { bearer: ALICE, body });
    assertRefused(await resume(gone), 'invalid_token');

    const done = await resume(token);

    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.equal(done.body.budget_context.budget_remaining, 5);
  });

  test('invoke() does not give a use back when the handler fails or does nothing', async () => {
    const { token, parameters, grant } = await approved(desk(), 'no_effect');

    assertRefused(await desk().resume(token, 'no_effect', grant, parameters), 'invalid_parameters');

    assertRefused(
      await desk().resume(token, 'no_effect', grant, parameters),
      'approval_grant_invalid',
      /uses are taken/,
    );
  });

  test('invoke() checks and uses a presented grant even when no approval is needed', async () => {
    const token = await desk().token();
    const id = await desk().asked(token, 'over', { amount: 101 });
    const grant = await desk().granted(id);

    assertRefused(
      await desk().resume(token, 'over', grant, { amount: 1 }),
      'approval_grant_invalid',
      /other parameters/,
    );
    assert.equal((await desk().resume(token, 'over', grant, { amount: 101 })).status, 200);
  });

  test('invoke() replays a continuation under its key, also when the grant is used up', async () => {
    const { token, parameters, grant } = await approved(desk());
    const options = {
      fields: { approval_grant: grant },
      headers: { 'idempotency-key': `key-${grant}` },
    };

    const first = await desk().invoke(token.token, 'sign', parameters, options);
    const again = await desk().invoke(token.token, 'sign', parameters, options);

    assert.equal(first.status, 200);
    assert.equal(again.text, first.text);
    assert.equal(again.headers['idempotent-replayed'], 'true');
  });

  test('invoke() continues with equal parameters in other bytes, never with different values', async () => {
    const token = await desk().token();
    const send = (parameters: string, more = '') =>
      desk().ask('POST', '/svc/invoke/sign', {
        bearer: token.token,
        body: `{"parameters": ${parameters}${more}}`,
      });
    const asked = await send('{"note":"é","amount":1.5,"data":{"a":[1,10],"b":"x/y"}}');
    const grant = await desk().granted(asked.body.failure.approval_request_id, BOB, {
      grant_type: 'session_bound',
      session_id: 'none',
    });
    const resume = (parameters: string) => send(parameters, `,"approval_grant":"${grant}"`);
    const other = [
      '{"note":"e\\u0301","amount":1.5,"data":{"a":[1,10],"b":"x/y"}}',
      '{"note":"é","amount":1.50001,"data":{"a":[1,10],"b":"x/y"}}',
      '{"note":"é","amount":1.5,"data":{"a":[10,1],"b":"x/y"}}',
      '{"note":"é","amount":1.5,"data":{"a":[1,10],"b":"x/y","c":null}}',
      '{"note":"é","amount":1.5,"data":{"a":["1",10],"b":"x/y"}}',
      '{"note":"é ","amount":1.5,"data":{"a":[1,10],"b":"x/y"}}',
    ];
    for (const parameters of other) {
      assertRefused(await resume(parameters), 'approval_grant_invalid', /other parameters/);
    }
    const twice = '{"note":"é","note":"é","amount":1.5,"data":{"a":[1,10],"b":"x/y"}}';
    assertRefused(await resume(twice), 'invalid_parameters');

    // The meaning fits; only the session of this grant does not, which is checked after it.
    const same = '{ "data": {"b":"x\\/y","a":[1.0, 1e1]}, "amount": 15e-1, "note": "\\u00e9" }';
    assertRefused(await resume(same), 'approval_grant_invalid', /session/);
  });

  test('invoke() runs the approved parameters when equal ones arrive in other bytes', async () => {
    const token = await desk().token();
    const id = await desk().asked(token, 'sign', {
      note: 'bytes',
      amount: 100,
      data: { a: 1, b: 2 },
    });
    const grant = await desk().granted(id);

    const { status } = await desk().ask('POST', '/svc/invoke/sign', {
      bearer: token.token,
      body: `{"approval_grant":"${grant}","parameters":{"data":{"b":2.0,"a":1},"amount":1e2,"note":"\\u0062ytes"}}`,
    });

    assert.equal(status, 200);
    assert.deepEqual(desk().world.runs('sign').at(-1), {
      note: 'bytes',
      amount: 100,
      data: { a: 1, b: 2 },
    });
  });

  test('invoke() accepts a binding, at its price, until the grant expires', async () => {
    const token = await desk().token({ budget: { currency: 'USD', max_amount: 100 } });
    const { body } = await desk().invoke(token.token, 'quote');
    const parameters = { quote: body.result.quote };
    const id = await desk().asked(token, 'book', parameters);
    const grant = await desk().granted(id, BOB, { expires_in_seconds: 900 });
    desk().advance(6 * 60_000);
    atEnd(() => desk().advance(-6 * 60_000));
    assertRefused(await desk().invoke(token.token, 'book', parameters), 'binding_stale');
    const elsewhere = { quote: (await desk().invoke(token.token, 'quote')).body.result.quote };
    assertRefused(
      await desk().resume(token, 'book', grant, elsewhere),
      'approval_grant_invalid',
      /other parameters/,
    );

    const done = await desk().resume(token, 'book', grant, parameters);

    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.equal(done.body.cost_actual.amount, 30);
  });

  test('invoke() refuses a binding that is too old when the approved call runs, where the policy says so', async () => {
    const token = await desk().token();
    const { body } = await desk().invoke(token.token, 'quote', { note: 'book_at_run' });
    const parameters = { quote: body.result.quote };
    const fresh = await desk().granted(await desk().asked(token, 'book_at_run', parameters));
    assert.equal((await desk().resume(token, 'book_at_run', fresh, parameters)).status, 200);
    const grant = await desk().granted(await desk().asked(token, 'book_at_run', parameters));
    desk().advance(6 * 60_000);
    atEnd(() => desk().advance(-6 * 60_000));

    const refused = await desk().resume(token, 'book_at_run', grant, parameters);

    assertRefused(refused, 'binding_stale', /older than PT5M/);
  });

  test('the decision says how old the quote is, and what its age still means', async () => {
    const token = await desk().token();
    for (const capability of ['book', 'book_at_run']) {
      const { body } = await desk().invoke(token.token, 'quote', { note: capability });
      const id = await desk().asked(token, capability, { quote: body.result.quote });

      const { body: decision } = await desk().ask('GET', `/svc/approval_requests/${id}/decision`, {
        bearer: BOB,
      });

      assert.deepEqual(decision.quotes, [
        {
          field: 'quote',
          issued_at: decision.quotes[0].issued_at,
          price: { currency: 'USD', amount: 30 },
        },
      ]);
      assert.ok(
        Date.parse(decision.quotes[0].issued_at) <= Date.parse(decision.request.created_at),
      );
    }
  });

  test('invoke() refuses a stale binding when the grant has expired too', async () => {
    const token = await desk().token();
    const { body } = await desk().invoke(token.token, 'quote');
    const parameters = { quote: body.result.quote };
    const grant = await desk().granted(await desk().asked(token, 'book', parameters));
    desk().advance(901_000);
    atEnd(() => desk().advance(-901_000));
    assertRefused(await desk().resume(token, 'book', grant, parameters), 'binding_stale');
  });

  test('no other artefact passes for a grant, and no grant passes for a token', async () => {
    const { token, id, parameters } = await approved(desk());
    const { body } = await desk().approve(BOB, await desk().asked(token, 'sign', { note: 'sig' }));

    for (const text of [token.token, token.token_id, id, body.signature]) {
      assertRefused(
        await desk().resume(token, 'sign', text.slice(0, 256), parameters),
        'approval_grant_invalid',
      );
    }
    const reply = await desk().invoke(body.signature, 'sign', parameters);
    assertRefused(reply, 'invalid_token');
  });
});

/** What a stored grant would have to be altered to, and what then does not fit. */
const TAMPERED: [name: string, change: object][] = [
  ['parameters', { parameters: { note: 'more' } }],
  ['uses', { max_uses: 1_000 }],
  ['expiry', { expires_at: new Date('2100-01-01') }],
  ['approvers', { approved_by: ['human:bob', 'human:carol'] }],
  ['type', { grant_type: 'session_bound', session_id: undefined }],
  ['signature', { signature: `ey..${'A'.repeat(86)}` }],
];

for (const place of STORES) {
  group(`${place.name}, altered or newer`, async () => {
    let change: object | undefined;
    const keys = temporaryFolder();
    const rows = () => folderRowKeys(keys, () => new Date());
    // Changed by someone who has the row key: the signature still tells.
    const changed = (grant: GrantRecord): GrantRecord => {
      const altered = { ...grant, ...change };
      return { ...altered, mac: rows().macOf(rowText('grant', altered)) };
    };
    const wrap = (store: Store): Store => ({
      ...store,
      async load(request) {
        const loaded: Loaded = await store.load(request);
        return loaded.grant && change ? { ...loaded, grant: changed(loaded.grant) } : loaded;
      },
    });
    const { url } = await place.open();
    const desk = await startDesk({ store: url, wrap, keys });

    for (const [name, altered] of TAMPERED) {
      test(`invoke() finds a stored grant whose ${name} changed`, async () => {
        const { token, parameters, grant } = await approved(desk);
        change = altered;

        const reply = await desk.resume(token, 'sign', grant, parameters);

        change = undefined;
        assertRefused(reply, 'approval_grant_invalid', /signature/);
        assert.equal((await desk.resume(token, 'sign', grant, parameters)).status, 200);
      });
    }

    test('invoke() refuses a grant for another contract version', async () => {
      const { token, parameters, grant } = await approved(desk);
      change = { contract_version: '0.9.0' };

      const reply = await desk.resume(token, 'sign', grant, parameters);

      change = undefined;
      assertRefused(reply, 'approval_grant_invalid', /contract version 0\.9\.0/);
    });
  });
}

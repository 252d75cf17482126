/**
 * Conditions and what changes around them: the inputs of a capability, and the entitlement of the person.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { DEMO_IDENTITIES } from '../../examples/travel/service.ts';
import { configOf } from '../../src/config/config.ts';
import { refresh } from '../sign-in/attacker.ts';
import { delegation } from '../sign-in/browser.ts';
import { temporaryFolder } from '../support/ends.ts';
import { person } from '../support/person.ts';
import { ALICE as TRAVELLER, testService } from '../support/world.ts';
import { ALICE, type ConditionsDesk, conditionsDesk, type Options } from './conditions-desk.ts';

const AMOUNT = { name: 'amount', type: 'number' };
const NOTE = { name: 'note', type: 'string', required: false };
const BOUND = { pay: { amount: { at_least: 0, at_most: 50 } } };

/** A token with conditions on `pay`, then the same store under a service with other inputs. */
async function changed(
  pay: readonly object[],
  { before = [AMOUNT, NOTE], conditions = BOUND as object } = {},
): Promise<{ desk: ConditionsDesk; token: string }> {
  const folder = temporaryFolder();
  const place = { store: `sqlite:${join(folder, 'writ.db')}`, keys: join(folder, 'keys') };
  const first = await conditionsDesk({ ...place, pay: before });
  const token = await first.held(conditions);
  await first.close();
  return { desk: await conditionsDesk({ ...place, pay }), token };
}

const CHANGES: readonly {
  name: string;
  pay: Options['pay'];
  conditions?: object;
  good: readonly object[];
  bad: readonly object[];
}[] = [
  {
    name: 'an input is new',
    pay: [AMOUNT, NOTE, { name: 'payee', type: 'string', required: false, default: 'self' }],
    good: [{ amount: 5 }, { amount: 5, payee: null }],
    bad: [
      { amount: 5, payee: 'x' },
      { amount: 5, payee: 'self' },
    ],
  },
  {
    name: 'a policy of the actor fills a new input',
    pay: [AMOUNT, { name: 'tenant', type: 'string', resolution: { mode: 'actor_policy' } }],
    good: [],
    bad: [{ amount: 5 }],
  },
  {
    name: 'an input was renamed',
    pay: [
      { name: 'sum', type: 'number', required: false },
      { ...AMOUNT, required: false },
    ],
    conditions: { pay: { amount: { at_least: 0, at_most: 50, or_absent: true } } },
    good: [{}, { amount: 5 }],
    bad: [{ sum: 500 }],
  },
  {
    name: 'an input has another type',
    pay: [AMOUNT, { ...NOTE, type: 'object' }],
    good: [{ amount: 5 }],
    bad: [{ amount: 5, note: {} }],
  },
  {
    name: 'a description changed',
    pay: [{ ...AMOUNT, description: 'How much' }, NOTE],
    good: [{ amount: 5, note: 'x' }],
    bad: [],
  },
];
for (const { name, pay = [], good, bad, conditions } of CHANGES) {
  test(`a token allows the calls that its conditions know, after ${name}`, async () => {
    const { desk, token } = await changed(pay, { ...(conditions && { conditions }) });

    for (const parameters of good) {
      const { status, body } = await desk.invoke(token, 'pay', parameters);
      assert.equal(status, 200, `${JSON.stringify(parameters)} ${JSON.stringify(body)}`);
    }
    for (const parameters of bad) {
      const { body } = await desk.invoke(token, 'pay', parameters);
      const tried = await desk.dryRun(token, 'pay', parameters);
      assert.equal(body.failure?.type, 'scope_insufficient', JSON.stringify(parameters));
      assert.match(body.failure.detail, /inputs changed since the token was issued/);
      assert.deepEqual(tried.body.failure, body.failure);
    }
    await desk.close();
  });
}

test('a child has the inputs of its parent, however late it is made', async () => {
  const pay = [AMOUNT, NOTE, { name: 'payee', type: 'string', required: false }];
  const { desk, token } = await changed(pay);
  const { sub: subject, jti } = JSON.parse(atob(token.split('.')[1] as string));
  const stated = { pay: { amount: 5, payee: 'x' } };
  const request = { parent_token: jti, subject: `${subject}b`, scope: ['w.use'] };

  const child = await desk.issue(token, { ...request, conditions: stated });
  const refused = await desk.invoke(child.token, 'pay', { amount: 5, payee: 'x' });

  assert.match(refused.body.failure.detail, /with "payee": the inputs changed/);
  await desk.close();
});

test('permissions restricts what no call can be within any more', async () => {
  const { desk, token } = await changed([{ ...AMOUNT, type: 'integer' }, NOTE]);

  const { body } = await desk.ask('POST', '/svc/permissions', { bearer: token });
  const restricted = body.restricted.find(
    (each: { capability: string }) => each.capability === 'pay',
  );

  assert.equal(restricted?.reason_type, 'insufficient_scope');
  assert.equal(restricted.resolution_hint, 'request_broader_scope');
  await desk.close();
});

const MAKER = 'maker-key';
const CONDITIONED = [
  person(ALICE, 'human:alice', ['w.*'], { conditions: BOUND }),
  person(MAKER, 'human:maker', ['w.*', 'operator:identities'], { conditions: BOUND }),
];

test('every root token of an identity has its conditions, or narrower ones', async () => {
  const desk = await conditionsDesk({ settings: { identities: CONDITIONED } });

  const plain = await desk.issued({});
  const narrower = await desk.issued({ conditions: { pay: { amount: 5 } } });
  const wider = await desk.issued({
    conditions: { pay: { amount: { at_least: 0, at_most: 51 } } },
  });

  assert.deepEqual(plain.body.conditions, BOUND);
  assert.deepEqual(narrower.body.conditions, { pay: { amount: { is: 5 } } });
  assert.equal(wider.body.failure?.type, 'not_entitled');
  assert.match(wider.body.failure.detail, /amount is from 0 to 50 for human:alice/);
});

test('an identity with conditions adds no identity, which would have none', async () => {
  const desk = await conditionsDesk({ settings: { identities: CONDITIONED } });
  const made = {
    principal: 'agent:x',
    key_sha256: '0'.repeat(64),
    scopes: ['w.use'],
    subjects: [],
  };

  const { body } = await desk.ask('POST', '/svc/operator/identities', {
    bearer: MAKER,
    body: made,
  });

  assert.equal(body.failure?.type, 'not_entitled', JSON.stringify(body));
  assert.match(body.failure.detail, /would have no conditions/);
});

const UNUSABLE: readonly [conditions: unknown, said: RegExp][] = [
  [{ pay: { amount: { at_mots: 5 } } }, /"at_mots" is no operator; write "at_most"/],
  [{ pay: {} }, /they are empty/],
  [{ pay: { note: { any: true } } }, /belongs to approvals/],
  [7, /expected conditions by capability/],
];
for (const [conditions, said] of UNUSABLE) {
  test(`settings with the conditions ${JSON.stringify(conditions)} are refused`, () => {
    const identities = [person(ALICE, 'human:alice', ['w.*'], { conditions })];

    assert.throws(() => configOf({ identities }, '/'), said);
  });
}

const UNFIT: readonly [conditions: object, said: RegExp][] = [
  [{ pay: { amuont: 5 } }, /on "pay": "amuont": "amuont" is no input; write amount/],
  [{ paid: { amount: 5 } }, /on "paid": the service has no such capability/],
];
for (const [conditions, said] of UNFIT) {
  test(`a service with the conditions ${JSON.stringify(conditions)} does not start`, async () => {
    const identities = [person(ALICE, 'human:alice', ['w.*'], { conditions })];

    await assert.rejects(conditionsDesk({ settings: { identities } }), said);
  });
}

test('a refresh gives no more than the entitlement that the person has now', async () => {
  const folder = temporaryFolder();
  const place = { store: `sqlite:${join(folder, 'writ.db')}`, keys: join(folder, 'keys') };
  const under = (conditions?: object) =>
    testService({
      ...place,
      settings: {
        rate_limits: 'off',
        identities: DEMO_IDENTITIES.map((each) =>
          each.key === TRAVELLER ? { ...each, ...(conditions && { conditions }) } : each,
        ),
      },
    });
  const limit = (at_most: number) => ({
    search_flights: { max_results: { at_least: 0, at_most } },
  });
  const refreshed = async (token: string, conditions?: object) => {
    const service = await under(conditions);
    const { status, body, text } = await refresh(service, token);
    assert.equal(status, 200, text);
    const { jti } = JSON.parse(atob(body.access_token.split('.')[1]));
    const { token: record } = (await service.store.describeToken(jti, 0)) ?? {};
    await service.close();
    return { refresh: body.refresh_token, where: record?.conditions?.search_flights?.where };
  };

  const before = await under();
  const { refresh: first } = await delegation(before, { chosen: ['search_flights'] });
  await before.close();
  const second = await refreshed(first, limit(5));
  const third = await refreshed(second.refresh);

  assert.deepEqual(second.where, limit(5).search_flights);
  assert.equal(third.where, undefined);
});

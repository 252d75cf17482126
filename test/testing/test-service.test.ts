/**
 * `testService()`, as the author of a service uses it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { afterEach, test } from 'vitest';
import { createService, defineCapability } from '../../src/index.ts';
import { expectAnswer, expectFailure, testService } from '../../src/testing/index.ts';

const GRANTS = {
  allowed_grant_types: ['one_time' as const],
  default_grant_type: 'one_time' as const,
  expires_in_seconds: 900,
  max_uses: 1,
};

const look = defineCapability({
  name: 'look',
  description: 'Looks',
  side_effect: 'read',
  minimum_scope: ['desk.look'],
  inputs: [{ name: 'what', type: 'string' }],
  handler: ({ what }, context) => ({
    what,
    who: context.principal,
    handle: context.issueBinding({
      type: 'sight',
      capability: 'pay',
      price: { currency: 'EUR', amount: 5 },
      data: { what },
    }),
  }),
});
const pay = defineCapability({
  name: 'pay',
  description: 'Pays',
  side_effect: 'irreversible',
  minimum_scope: ['desk.pay'],
  cost: { certainty: 'fixed', financial: { currency: 'EUR', amount: 7.5 } },
  handler: () => ({ paid: true }),
});
const sign = defineCapability({
  name: 'sign',
  description: 'Signs',
  side_effect: 'irreversible',
  minimum_scope: ['desk.sign'],
  approval: { when: 'always', grant_policy: GRANTS, separation: 'root' },
  handler: () => ({ signed: true }),
});
const broken = defineCapability({
  name: 'broken',
  description: 'Breaks',
  side_effect: 'write',
  minimum_scope: ['desk.look'],
  handler: () => {
    throw new Error('the disk is on fire');
  },
});
const service = createService({ id: 'desk', capabilities: [look, pay, sign, broken] });

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});
async function desk(options: Parameters<typeof testService>[1] = {}) {
  const started = await testService(service, options);
  open.push(started);
  return started;
}

test('testService() runs a capability for a caller by name, with a real token', async () => {
  const { caller } = await desk();
  const agent = await caller('ann');

  const answer = expectAnswer(await agent.invoke('look', { what: 'sea' }));

  assert.deepEqual([answer.result.what, answer.result.who], ['sea', 'agent:ann']);
  assert.match(agent.token.token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
});

test('testService() types names and parameters, and the client takes what they do not admit', async () => {
  const { caller } = await desk();
  const agent = await caller('ann');

  // @ts-expect-error: there is no such capability.
  expectFailure(await agent.invoke('lok', {}), 'unknown_capability');
  // @ts-expect-error: the parameter is a text.
  expectFailure(await agent.invoke('look', { what: 1 }), 'invalid_parameters');
  const parameters = { what: 1 };
  expectFailure(
    await agent.client.invoke({ capability: 'look', parameters }),
    'invalid_parameters',
  );
});

test('testService() counts what a caller and its delegates spend', async () => {
  const { caller, spent, expectSpent } = await desk();
  const ann = await caller('ann', { budget: { currency: 'EUR', max_amount: 20 } });
  const ben = await ann.delegate('ben', { budget: { currency: 'EUR', max_amount: 10 } });

  expectAnswer(await ann.invoke('pay'));
  expectAnswer(await ben.invoke('pay'));

  expectFailure(await ben.invoke('pay'), 'budget_exceeded');
  assert.deepEqual(await spent(ann), { currency: 'EUR', amount: 15 });
  await expectSpent(ben, 7.5);
  await assert.rejects(expectSpent(ben, 8), /agent:ben to have spent 8 EUR: it spent 7\.5/);
  await assert.rejects(spent(await caller('cy')), /agent:cy spent: its token has no budget/);
});

test('testService() gives a caller the scopes, the class and the purpose that a test names', async () => {
  const { caller, expectEntry } = await desk({ settings: { disclosure: { silent: 'redacted' } } });
  const narrow = await caller('ann', {
    scopes: ['desk.look'],
    caller_class: 'silent',
    purpose: { task_id: 'trip' },
    root: 'alice',
  });

  const failure = expectFailure(await narrow.invoke('pay'), 'scope_insufficient');

  assert.doesNotMatch(failure.detail, /desk\.pay/);
  const entry = await expectEntry({ capability: 'pay', outcome: 'scope_insufficient' });
  assert.deepEqual([entry.root_principal, entry.task_id], ['human:alice', 'trip']);
});

test('testService() lets people approve and deny by name', async () => {
  const { caller, human, entries } = await desk();
  const ann = await caller('ann', { root: 'alice' });
  const asked = await ann.invoke('sign');

  expectFailure(await human('alice').approve(asked), 'approver_not_authorized');
  expectAnswer(await human('bob').approve(asked));
  const signed = await ann.invoke('sign', {}, { continue_approved: true });
  const again = await ann.invoke('sign');
  expectAnswer(await human('bob').deny(again, 'not twice'));

  assert.deepEqual(expectAnswer(signed).result, { signed: true });
  assert.throws(() => human('bob').approve(signed), /the reply names none/);
  const decisions = await entries({ entry_type: 'approval_decision', outcome: 'success' });
  assert.deepEqual(
    decisions.map(({ actor_key }) => actor_key),
    ['human:bob', 'human:bob'],
  );
});

test('testService() lets people sign approvals with the passkey of a device of their own', async () => {
  const payout = defineCapability({
    name: 'payout',
    description: 'Pay out',
    side_effect: 'irreversible',
    minimum_scope: ['bank.pay'],
    inputs: [{ name: 'amount', type: 'number' }],
    approval: { when: 'always', require: 'passkey', approvals_required: 2 },
    handler: ({ amount }) => ({ paid: amount }),
  });
  await using desk = await testService(createService({ id: 'bank', capabilities: [payout] }), {
    mount: { prefix: '/money' },
    settings: { public_url: 'http://localhost:3000/money' },
  });
  const agent = await desk.caller('clerk');
  const [ann, bob] = [desk.human('ann'), desk.human('bob')];

  const asked = await agent.invoke('payout', { amount: 5 });
  expectFailure(await ann.approve(asked), 'approver_not_authorized');
  expectAnswer(await ann.approve(asked, { passkey: true }));
  expectFailure(await agent.invoke('payout', { amount: 5 }, { continue_approved: true }));
  expectAnswer(await bob.approve(asked, { passkey: true }));
  const paid = await agent.invoke('payout', { amount: 5 }, { continue_approved: true });
  const again = await agent.invoke('payout', { amount: 6 });
  expectAnswer(await desk.human('ann').approve(again, { passkey: true }));

  assert.deepEqual(expectAnswer(paid).result, { paid: 5 });
  const signed = await desk.entries({ entry_type: 'approval_decision', outcome: 'success' });
  const keys = signed.map(({ detail }) => {
    const { passkey } = detail as { passkey: { credential_id: string } };
    return passkey.credential_id;
  });
  assert.equal(keys.length, 3);
  assert.equal(keys[0], keys[2]);
  assert.notEqual(keys[0], keys[1]);
});

test('testService() mounts a service in an app, whose people enter its pages', async () => {
  const ANN = { principal: 'human:ann', scopes: ['approver:*'] };
  await using desk = await testService(createService({ id: 'bank', capabilities: [] }), {
    mount: {
      prefix: '/money',
      identify: ({ headers }) => (headers.cookie === 'app=ann' ? ANN : null),
    },
  });
  const open = (path: string, cookie: string) =>
    desk.fetch(
      new Request(`http://localhost${path}`, { headers: { cookie, accept: 'text/html' } }),
    );

  const [hers, others, outside] = await Promise.all([
    open('/money/console/', 'app=ann'),
    open('/money/console/', 'app=eve'),
    open('/elsewhere', 'app=ann'),
  ]);

  assert.equal(hers.status, 200);
  assert.match(await hers.text(), /writ-csrf/);
  assert.deepEqual([others.status, outside.status], [401, 404]);
  assert.equal((await desk.human('ann').client.manifest()).ok, true);
  await assert.rejects(
    testService(createService({ id: 'bank', capabilities: [] }), { mount: { prefix: 'money' } }),
    /Cannot mount at "money"/,
  );
});

test('testService() moves the clock for tokens and approvals', async () => {
  const start = new Date('2030-01-01T00:00:00.000Z');
  const { caller, human, advance, now } = await desk({ now: start });
  const ann = await caller('ann', { ttl_hours: 2 });
  const asked = await ann.invoke('sign');
  expectAnswer(await human('bob').approve(asked));

  advance('PT16M');
  expectFailure(await ann.invoke('sign', {}, { continue_approved: true }), 'approval_required');
  advance(2 * 3_600_000);
  expectFailure(await ann.invoke('look', { what: 'sea' }), 'token_expired');

  assert.equal(now().toISOString(), '2030-01-01T02:16:00.000Z');
  for (const by of ['soon', -1, Number.NaN]) assert.throws(() => advance(by), /Cannot advance/);
});

test('testService() shows what a binding pins, and what the service logged', async () => {
  const { caller, binding, log, now } = await desk();
  const ann = await caller('ann');

  const { result } = expectAnswer(await ann.invoke('look', { what: 'sea' }));
  expectFailure(await ann.invoke('broken'));

  assert.deepEqual(await binding(String(result.handle)), {
    type: 'sight',
    capability: 'pay',
    data: { what: 'sea' },
    price: { currency: 'EUR', amount: 5 },
    issued_at: now(),
  });
  assert.equal(await binding('bnd_unknown'), undefined);
  assert.match(JSON.stringify(log), /the disk is on fire/);
});

test('expectEntry() shows the log when no entry, or more than one, matches', async () => {
  const { caller, expectEntry } = await desk();
  const ann = await caller('ann');
  await ann.invoke('pay');
  await ann.invoke('pay');

  await assert.rejects(
    expectEntry({ capability: 'sign' }),
    /found 0.*\n.*invocation pay: success/s,
  );
  await assert.rejects(expectEntry({ capability: 'pay' }), /"capability":"pay"\}: found 2/);
});

test('expectAnswer() and expectFailure() show what came instead', async () => {
  const ann = await (await desk()).caller('ann', { scopes: ['desk.pay'] });
  const [paid, refused] = [await ann.invoke('pay'), await ann.invoke('look', { what: 'x' })];

  assert.throws(
    () => expectAnswer(refused),
    /refused with "scope_insufficient": Cannot invoke "look"/,
  );
  assert.throws(() => expectFailure(paid), /Expected a failure: the call succeeded/);
  assert.throws(() => expectFailure(refused, 'token_expired'), /it is "scope_insufficient"/);
});

test('testService() keeps services apart, and leaves files, signals and ports alone', async () => {
  const servers = () => process.getActiveResourcesInfo().filter((each) => each.includes('Server'));
  const [listening, hadFolder] = [servers(), existsSync('.writ')];
  const signals = ['SIGTERM', 'SIGINT', 'uncaughtException', 'unhandledRejection'];
  const listeners = signals.map((signal) => process.listenerCount(signal));
  const [one, other] = [await desk(), await desk()];
  const [ann, ben] = [await one.caller('ann'), await other.caller('ben')];
  await ann.invoke('pay');

  assert.equal((await one.entries({ capability: 'pay' })).length, 1);
  assert.deepEqual(await other.entries({ capability: 'pay' }), []);
  expectFailure(
    await ben.client.withCredential(ann.token.token).invoke({ capability: 'pay', parameters: {} }),
  );
  assert.deepEqual(
    signals.map((signal) => process.listenerCount(signal)),
    listeners,
  );
  assert.deepEqual(servers(), listening);
  assert.equal(existsSync('.writ'), hadFolder);
});

test('testService() asks the hook of the author about other credentials', async () => {
  const asked: string[] = [];
  const authenticate = (bearer: string) => {
    asked.push(bearer);
    return 'human:eve';
  };
  const own = await testService({ ...service, authenticate });
  open.push(own);

  const eve = own.human('bob').client.withCredential('a-key-of-eve');
  const issued = expectAnswer(await eve.ask('tokens.issue', { scope: ['desk.look'] }));

  assert.ok(issued.issued);
  assert.ok(asked.every((bearer) => bearer === 'a-key-of-eve'));
});

test('testService() ends twice without harm, also by await using', async () => {
  const own = await testService(service);

  await own[Symbol.asyncDispose]();
  await own.close();

  const ann = await own.caller('ann').catch((error: Error) => error);
  assert.ok(ann instanceof Error);
});

test('an approver sees what the bindings pinned, where the preview shows it', async () => {
  const quote = defineCapability({
    name: 'quote',
    description: 'Quote a ride',
    side_effect: 'read',
    minimum_scope: ['rides.quote'],
    handler: (_, { issueBinding }) => ({
      quote: issueBinding({ type: 'ride', capability: 'ride', data: { km: 8 } }),
    }),
  });
  const ride = defineCapability({
    name: 'ride',
    description: 'Send a car',
    inputs: [{ name: 'quote', type: 'string' }],
    side_effect: 'irreversible',
    minimum_scope: ['rides.send'],
    requires_binding: [{ type: 'ride', field: 'quote', source_capability: 'quote' }],
    approval: {
      when: 'always',
      preview: (_, { bindings, principal }) => ({ km: bindings.quote?.data.km, for: principal }),
    },
    handler: () => ({ sent: true }),
  });
  await using desk = await testService(createService({ id: 'rides', capabilities: [quote, ride] }));
  const clerk = await desk.caller('clerk');
  const ann = desk.human('ann');

  const quoted = expectAnswer(await clerk.invoke('quote')).result;
  const asked = expectFailure(await clerk.invoke('ride', { quote: String(quoted.quote) }));
  const approval_request_id = String(asked.approval_request_id);
  const shown = expectAnswer(
    await ann.client.ask('approval_requests.get', { approval_request_id }),
  );
  expectAnswer(await ann.approve(approval_request_id));
  const sent = await clerk.invoke(
    'ride',
    { quote: String(quoted.quote) },
    { continue_approved: true },
  );

  assert.deepEqual(shown.preview, { km: 8, for: 'agent:clerk' });
  assert.deepEqual(expectAnswer(sent).result, { sent: true });
});

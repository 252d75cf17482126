/**
 * `writ attack` at the showcase: nothing is broken, everything applies, and no secret is printed.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { travelDesk } from '../../examples/travel/service.ts';
import { CASES } from '../../src/attack/run.ts';
import { jsonLines, type RunOptions } from '../cli/run.ts';
import { type Desk, openDesk } from '../client/desk.ts';
import { AGENT, ALICE, BOB, onEachStore } from '../support/world.ts';
import { attack, brokenIn, type Line, WHOLE_RUN_MS } from './run.ts';
import { answerWith, jsonOf, openWeakProxy, type Weakness, withJson } from './weak-proxy.ts';

onEachStore(
  ({ url }) => openDesk({ store: url }),
  (desk: () => Desk) => {
    test('writ attack finds nothing broken at the showcase, with effects, and ends every token', {
      timeout: WHOLE_RUN_MS,
    }, async () => {
      const ran = await attack(desk().url, ['--with-effects', '--yes', '--json']);
      const lines = jsonLines(ran);
      const [sum] = lines.slice(-1);

      assert.deepEqual(brokenIn(lines), []);
      assert.equal(ran.status, 0, ran.err);
      assert.equal(lines.length, CASES.length + 1);
      assert.equal(sum.tokens_left, 0);
      // Only what this desk does not have: it has rotated no key, and nothing that runs is left out.
      const idle = lines.filter(({ verdict }) => verdict === 'not applicable');
      assert.deepEqual(
        idle.map((line: Line) => `${line.case}: ${line.evidence}`),
        [],
      );
      for (const secret of [ALICE, AGENT, BOB]) assert.ok(!`${ran.out}${ran.err}`.includes(secret));
      assert.doesNotMatch(`${ran.out}${ran.err}`, /eyJ[\w-]{10}/, 'a token is printed');
    });
  },
);

const desk = await openDesk();
const QUICK = ['--only', 'tokens.unsigned,tokens.revoked,log.checkpoint-order', '--json'];

/** What only this project has: neither endpoint nor declaration of it is in the specification. */
const WITHOUT_EXTENSIONS: Weakness = {
  name: 'a service has nothing but the specification',
  breaks: [],
  request: (passed) =>
    /revoke|operator|approval_requests|checkpoints/.test(passed.path)
      ? answerWith(404, { success: false })
      : passed,
  answer: (answered, { path }) => {
    if (path !== '/.well-known/svc') return answered;
    const { svc_discovery } = jsonOf(answered.body);
    const names = ['manifest', 'tokens', 'permissions', 'invoke', 'approval_grants', 'audit'];
    const kept = Object.entries(svc_discovery.endpoints).filter(([name]) => names.includes(name));
    const endpoints = Object.fromEntries(kept);
    return withJson(answered, { svc_discovery: { ...svc_discovery, endpoints } });
  },
};

test('writ attack breaks nothing at a service without our extensions, and says what is left', {
  timeout: WHOLE_RUN_MS,
}, async () => {
  const url = await openWeakProxy(desk.url, WITHOUT_EXTENSIONS);
  const ran = await attack(url, ['--only', 'tokens,approvals,log', '--json']);
  const lines = jsonLines(ran);

  const idle = lines.filter((line: Line) =>
    line.evidence?.startsWith('the service does not offer'),
  );
  assert.deepEqual(
    idle.map((line: Line) => line.case),
    [
      'tokens.revoked',
      'tokens.revoked-parent',
      'tokens.foreign-revocation',
      'approvals.foreign-requests',
      'log.foreign-token',
      'log.checkpoint-order',
      'log.checkpoint-signature',
      'log.one-history',
      'log.growth',
      'log.checkpoint-ids',
      'log.proof-sizes',
      'log.foreign-proof',
    ],
  );
  assert.deepEqual(brokenIn(lines), []);
  assert.equal(lines.at(-1).tokens_ended, 0);
  assert.ok(lines.at(-1).tokens_left > 10);
});

test('writ attack ends with 2 for two credentials of one principal, and ends the tokens it got', async () => {
  const revoked: string[] = [];
  const watching: Weakness = {
    name: 'nothing is weaker',
    breaks: [],
    answer: (answered, { path, body }) => {
      if (path === '/svc/tokens/revoke' && answered.status === 200)
        revoked.push(jsonOf(body).token_id);
      return answered;
    },
  };
  const url = await openWeakProxy(desk.url, watching);
  const ran = await attack(url, QUICK, { env: { WRIT_CLIENT_OTHER_CREDENTIAL: ALICE } });

  assert.deepEqual([ran.status, ran.out], [2, '']);
  assert.match(ran.err, /^Cannot attack: both credentials are of "human:alice@example\.com"/);
  assert.ok(revoked.length > 1);
});

const refusals: [what: string, args: string[], options: RunOptions, status: number, why: RegExp][] =
  [
    ['no second credential', QUICK, { env: {} }, 4, /no credential of another principal/],
    [
      'a credential that is not known',
      QUICK,
      { credential: 'nobody' },
      4,
      /does not accept the first/,
    ],
    [
      'an unknown case',
      ['--only', 'tokens.nothing'],
      {},
      2,
      /no class and no case "tokens\.nothing"/,
    ],
    [
      'a capability with an effect',
      ['--capability', 'hold_seat'],
      {},
      2,
      /"hold_seat" is not called/,
    ],
    ['a paid capability', ['--capability', 'buy_lounge_pass'], {}, 2, /is not called/],
    ['parameters of nothing', ['--parameters', '{}'], {}, 2, /--parameters needs --capability/],
    ['effects without a terminal', ['--with-effects', '--only', 'budgets'], {}, 2, /give --yes/],
  ];
for (const [what, args, options, status, why] of refusals) {
  test(`writ attack ends with ${status} on ${what}`, async () => {
    const ran = await attack(desk.url, args, options);

    assert.equal(ran.status, status, ran.err);
    assert.match(ran.err, why);
  });
}

test('writ attack ends with 5 if nothing answers, and with 2 if no service of the protocol does', async () => {
  const page: Weakness = {
    name: 'a page',
    breaks: [],
    request: () => answerWith(200, { hello: 1 }),
  };

  assert.equal((await attack('http://127.0.0.1:1', QUICK)).status, 5);
  const ran = await attack(await openWeakProxy(desk.url, page), QUICK);
  assert.equal(ran.status, 2);
  assert.match(ran.err, /without a discovery document/);
});

test('writ attack calls nothing with an effect if the person says no', async () => {
  const invoked = new Set<string>();
  const watching: Weakness = {
    name: 'nothing is weaker',
    breaks: [],
    request: (passed) => {
      if (passed.path.startsWith('/svc/invoke/'))
        invoked.add(passed.path.slice('/svc/invoke/'.length));
      return passed;
    },
  };
  const url = await openWeakProxy(desk.url, watching);
  const only = ['--only', 'budgets,approvals,tokens.agreement,tokens.scope-at-invoke'];
  const ran = await attack(url, [...only, '--with-effects', '--json'], { ask: async () => 'n' });

  const kinds = [...invoked].map(
    (name) => travelDesk.catalog.capabilities.get(name)?.side_effect.type,
  );
  assert.ok(kinds.length > 1);
  assert.deepEqual([...new Set(kinds)], ['read']);
  assert.equal(ran.status, 0);
  assert.match(ran.err, /buy_lounge_pass \(write, up to 25\.00 USD a call\): at most twice/);
});

test('writ attack prints text of the service so that it cannot act on a terminal', async () => {
  const hostile: Weakness = {
    name: 'an id with escapes',
    breaks: [],
    answer: (answered, { path }) => {
      if (path !== '/.well-known/svc') return answered;
      const { svc_discovery } = jsonOf(answered.body);
      return withJson(answered, { svc_discovery: { ...svc_discovery, service_id: 'x\u001b[2J' } });
    },
  };
  const url = await openWeakProxy(desk.url, hostile);
  const ran = await attack(url, ['--only', 'log.stranger']);

  assert.match(ran.out, /^service {2}x\\u\{1b\}\[2J at /);
  assert.equal(ran.status, 0);
});

test('writ attack --list names every case once and sends nothing', async () => {
  const ran = await attack('http://127.0.0.1:1', ['--list', '--json']);

  assert.deepEqual(
    jsonLines(ran).map((line) => line.case),
    CASES.map(({ id }) => id),
  );
  assert.equal(new Set(CASES.map(({ id }) => id)).size, CASES.length);
  assert.ok(CASES.length >= 40);
});

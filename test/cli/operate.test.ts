/**
 * The commands of operators at a running service: freezes, unknown outcomes, notifications and agents.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'vitest';
import { createService, defineCapability } from '../../src/index.ts';
import { openDesk } from '../client/desk.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE, eventually, OPERATOR } from '../support/world.ts';
import { atService, jsonLines, type Ran } from './run.ts';

const ALICE_IS = 'human:alice@example.com';

/** Lets the handler of `linger` return. */
const late = new EventEmitter();

const linger = defineCapability({
  name: 'linger',
  description: 'Answers too late',
  side_effect: 'write',
  minimum_scope: ['travel.book'],
  cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 3 } },
  deadline: '40ms',
  handler: async () => ({ heard: await once(late, 'end') }),
});

const greet = defineCapability({
  name: 'greet',
  description: 'Greet',
  side_effect: 'read',
  minimum_scope: ['travel.search'],
  handler: () => ({ said: 'hello' }),
});

const fire = defineCapability({
  name: 'fire',
  description: 'Fire a supplier',
  side_effect: 'irreversible',
  minimum_scope: ['travel.book'],
  approval: { when: 'always', preview: () => ({ fires: 'one' }) },
  handler: () => ({ fired: true }),
});

const target = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
await once(target, 'listening');
atEnd(() => target.close());
const { port } = target.address() as AddressInfo;
const secret = `whsec_${Buffer.alloc(32).toString('base64')}`;
const webhooks = [{ name: 'pager', url: `http://127.0.0.1:${port}`, secret, allow_inside: true }];

const definition = createService({ id: 'operate-desk', capabilities: [linger, greet, fire] });
const desk = await openDesk({ definition, settings: { rate_limits: 'off', webhooks } });
atEnd(() => void late.emit('end'));
const writ = atService(desk.url);
const operator = { credential: OPERATOR };
const alice = { credential: ALICE };

const token = (more: object = {}) =>
  desk.service.issue(ALICE, {
    scope: ['travel.search', 'travel.book'],
    subject: 'agent:planner',
    ...more,
  });

function done(ran: Ran): Ran {
  assert.equal(ran.status, 0, ran.err);
  return ran;
}

const typeOf = async (bearer: string) =>
  (await desk.service.invoke(bearer, 'greet')).body.failure?.type;

const REASON = ['--reason', 'a drill \u001b[2J'];

const TARGETS: [what: string, target: string[], shown: RegExp][] = [
  ['service', ['service'], /^frozen +the service\n/],
  ['principal', ['principal', ALICE_IS], /^frozen +human:alice@example\.com\n/],
  ['capability', ['capability', 'greet'], /^frozen +greet\n/],
  [
    'capability for one principal',
    ['capability', 'greet', '--for', ALICE_IS],
    /^frozen +greet for human:alice@example\.com\n/,
  ],
];
for (const [what, words, shown] of TARGETS) {
  test(`writ freeze and unfreeze: ${what}`, async () => {
    const { token: agent } = await token();

    const frozen = done(await writ(['freeze', ...words, ...REASON], operator));
    const during = await typeOf(agent);
    const listed = done(await writ(['freeze', 'list'], operator));
    const lines = done(await writ(['freeze', 'list', '--json'], operator));
    const lifted = done(await writ(['unfreeze', ...words, '--reason', 'over'], operator));
    const after = await typeOf(agent);
    const again = await writ(['unfreeze', ...words, '--reason', 'over', '--json'], operator);
    const none = done(await writ(['freeze', 'list'], operator));

    assert.match(frozen.out, shown);
    assert.match(frozen.out, /\nuntil +it is lifted\n$/);
    assert.ok(!frozen.out.includes('\u001b') && !listed.out.includes('\u001b'));
    assert.equal(during, 'frozen');
    assert.match(listed.out, /^frozen +reason +by +since +until\n/);
    assert.equal(jsonLines(lines)[0].frozen_by, 'service:operator');
    assert.equal(lifted.out, 'Lifted.\n');
    assert.equal(after, undefined);
    assert.equal(again.status, 1);
    assert.deepEqual(jsonLines(again), [{ lifted: false }]);
    assert.equal(none.out, 'Nothing is frozen.\n');
  });
}

test('writ freeze --until takes a time or a duration', async () => {
  const until = async (text: string) => {
    const args = ['freeze', 'capability', 'greet', '--until', text, ...REASON, '--json'];
    return jsonLines(done(await writ(args, operator)))[0].until;
  };

  assert.equal(await until('2031-05-06'), '2031-05-06T00:00:00.000Z');
  assert.equal(await until('2031-05-06T07:08:09+01:00'), '2031-05-06T06:08:09.000Z');
  assert.ok(Date.parse(await until('2h')) > Date.now() + 3_600_000);
  done(await writ(['unfreeze', 'capability', 'greet', ...REASON], operator));
});

const MISUSED: [what: string, args: string[], status: number, why: RegExp][] = [
  ['no reason', ['freeze', 'service'], 2, /"--reason <text>" not specified/],
  ['an unknown target', ['freeze', 'everything', ...REASON], 2, /unknown command "everything"/],
  ['no time', ['freeze', 'service', '--until', 'soon', ...REASON], 2, /expected a time such as/],
  ['a past', ['freeze', 'service', '--until', '2020-01-01', ...REASON], 1, /that is past/],
  ['no capability', ['freeze', 'capability', 'grete', ...REASON], 1, /\[unknown_capability/],
  ['no principal', ['freeze', 'principal', 'alice', ...REASON], 1, /expected a principal/],
  [
    'no outcome',
    ['calls', 'reconcile', 'inv-000000000000', ...REASON],
    2,
    /give --outcome executed/,
  ],
  [
    'another outcome',
    ['calls', 'reconcile', 'inv-000000000000', '--outcome', 'maybe', ...REASON],
    ...([2, /Expected one of executed, not_executed/] as const),
  ],
  [
    'an unknown call',
    ['calls', 'reconcile', 'inv-000000000000', '--outcome', 'executed', ...REASON],
    ...([1, /\[not_found/] as const),
  ],
  ['an agent that is none', ['agents', 'end', 'x', '--yes'], 1, /expected a token id/],
  ['no terminal', ['agents', 'end', `tok_${'0'.repeat(32)}`], 2, /give --yes/],
  ['a cursor that is none', ['agents', 'list', '--cursor', 'x'], 1, /\[invalid_parameters/],
];
for (const [what, args, status, why] of MISUSED) {
  test(`writ ${args.slice(0, 2).join(' ')} ends with ${status} on ${what}`, async () => {
    const ran = await writ(args, operator);

    assert.deepEqual([ran.status, ran.out], [status, ''], ran.err);
    assert.match(ran.err, why);
    assert.equal(ran.err.split('\n').length, 2, 'one line');
  });
}

test('commands of operators end with 1 for other callers, with the scope that they need', async () => {
  const acts: [string[], string][] = [
    [['freeze', 'service', ...REASON], 'operator:freeze'],
    [['unfreeze', 'service', ...REASON], 'operator:unfreeze'],
    [['freeze', 'list'], 'operator:frozen'],
    [['calls', 'unknown'], 'operator:indeterminate'],
    [['deliveries'], 'operator:deliveries'],
    [['agents', 'list', '--root-principal', 'human:bob@example.com'], 'operator:read'],
  ];
  for (const [args, scope] of acts) {
    const ran = await writ(args, alice);
    assert.equal(ran.status, 1, args.join(' '));
    assert.match(ran.err, new RegExp(`\\[scope_insufficient; next: .*${scope}\\]`));
  }
});

test('writ calls lists a call of unknown outcome, and reconciles it', async () => {
  const budget = { currency: 'USD', max_amount: 10 };
  const { token: agent } = await token({ budget });
  const none = done(await writ(['calls', 'unknown'], operator));
  const { body } = await desk.service.invoke(agent, 'linger');
  const id = body.invocation_id;

  const listed = done(await writ(['calls', 'unknown'], operator));
  const lines = done(await writ(['calls', 'unknown', '--json'], operator));
  const args = ['calls', 'reconcile', id, '--outcome', 'not_executed', ...REASON];
  const reconciled = done(await writ(args, operator));
  const again = await writ([...args, '--json'], operator);

  assert.equal(none.out, 'The outcome of every call is known.\n');
  assert.match(listed.out, new RegExp(`\n${id}  linger +agent:planner .* 3\\.00 USD  20`));
  assert.equal(jsonLines(lines)[0].invocation_id, id);
  assert.match(
    reconciled.out,
    /^invocation +inv-.*\noutcome +not executed\nrefunded +3\.00 USD\n$/,
  );
  assert.equal(again.status, 1);
  assert.equal(jsonLines(again)[0].failure.type, 'not_found');
});

test('writ deliveries shows whether notifications arrived', async () => {
  const none = done(await writ(['deliveries'], operator));
  const { token: agent } = await token();
  const asked = await desk.service.invoke(agent, 'fire');
  assert.equal(asked.body.failure.type, 'approval_required');
  await eventually(async () =>
    (await writ(['deliveries'], operator)).out.includes('  delivered  '),
  );

  const people = done(await writ(['deliveries'], operator));
  const program = done(await writ(['deliveries', '--json'], operator));

  assert.equal(none.out, 'There is no notification.\n');
  assert.match(people.out, /^event +request +target +state +attempts/);
  assert.match(people.out, /\nrequested {2}apr_[0-9a-f]{32} {2}.* {2}delivered {2,}1 {2}20/);
  assert.equal(jsonLines(program)[0].state, 'delivered');
});

test('writ agents list shows trees, and as JSON one tree a line', async () => {
  const budget = { currency: 'USD', max_amount: 50 };
  const parent = await token({ subject: 'agent:tree', budget });
  const child = await desk.service.delegate(parent, { subject: 'agent:leaf' });
  await desk.service.invoke(child.token, 'greet');

  const people = done(await writ(['agents', 'list', '--limit', '100'], alice));
  const program = done(await writ(['agents', 'list', '--json', '--limit', '100'], alice));
  const own = done(await writ(['agents', 'list', '--json'], { credential: child.token }));
  const theirs = done(
    await writ(['agents', 'list', '--json', '--root-principal', ALICE_IS], operator),
  );
  const ended = done(await writ(['agents', 'list', '--ended'], operator));
  const paged = done(await writ(['agents', 'list', '--limit', '1', '--json'], alice));

  assert.match(people.out, /^agent +state +budget left +expires +last call +token\n/);
  assert.match(people.out, new RegExp(`\nagent:tree  .*50\\.00 USD .* ${parent.token_id}\n`));
  assert.match(
    people.out,
    new RegExp(`\n  agent:leaf .* greet succeeded 20\\S+ +${child.token_id}\n`),
  );
  const tree = jsonLines(program).find(({ token_id }) => token_id === parent.token_id);
  assert.equal(tree.children[0].token_id, child.token_id);
  assert.deepEqual(
    jsonLines(own).map(({ token_id }) => token_id),
    [child.token_id],
  );
  assert.ok(jsonLines(theirs).some(({ token_id }) => token_id === parent.token_id));
  assert.equal(ended.out, 'There is no agent.\n');
  assert.match(paged.err, /^There are more: --cursor tok_[0-9a-f]{32}\n$/);
  assert.equal(jsonLines(paged).length, 1);
});

test('writ agents end shows the agent, asks, and ends it only on yes', async () => {
  const parent = await token({ purpose_parameters: { task_id: 'offsite' } });
  await desk.service.delegate(parent, { subject: 'agent:leaf' });
  const asked: string[] = [];
  const saying = (said: string | undefined) => ({
    ...alice,
    ask: async (question: string) => {
      asked.push(question);
      return said;
    },
  });
  const args = ['agents', 'end', parent.token_id];

  const no = await writ(args, saying('n'));
  const silent = await writ(args, saying(undefined));
  assert.equal(await typeOf(parent.token), undefined);
  const yes = done(await writ([...args, '--json'], saying('yes')));

  assert.deepEqual([no.status, no.out, silent.status], [1, '', 1]);
  assert.match(no.err, /^agent +agent:planner\nof +human:alice.*\ndirectly below +1\n$/s);
  assert.match(no.err, /\npurpose +\{"task_id":"offsite"\}\n/);
  assert.equal(asked.length, 3);
  assert.equal(jsonLines(yes)[0].ended, 2);
  assert.equal(await typeOf(parent.token), 'invalid_token');
});

test('writ agents end --yes does not ask, and hides the tokens of others', async () => {
  const agent = await token();
  const args = ['agents', 'end', agent.token_id, '--yes'];

  const other = await writ(args, { credential: 'demo-approver-key' });
  const own = done(await writ(args, alice));

  assert.equal(other.status, 1);
  assert.match(other.err, /\[not_found/);
  assert.match(own.out, /^id +tok_.*\ntokens ended +1\n/);
});

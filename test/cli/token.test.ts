/**
 * `writ token issue`, `delegate` and `revoke`, and `writ permissions`, at a running service.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { openDesk } from '../client/desk.ts';
import { temporaryFolder } from '../support/ends.ts';
import { ALICE } from '../support/world.ts';
import { atService, jsonLines, lossyNetwork, type Ran } from './run.ts';

const desk = await openDesk();
const writ = atService(desk.url);
const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
const alice = { credential: ALICE };

const SEARCH = ['--scope', 'travel.search'];
const PLANNER = ['--subject', 'agent:planner'];

function done(ran: Ran): Ran {
  assert.equal(ran.status, 0, ran.err);
  return ran;
}

const view = async (tokenId: string) =>
  (await desk.service.ask('GET', `/svc/tokens/${tokenId}`, { bearer: ALICE })).body;

test('writ token issue prints the token alone, and the facts beside it', async () => {
  const { out, err } = done(await writ(['token', 'issue', ...SEARCH, ...PLANNER], alice));

  assert.match(out, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  assert.match(err, /^id +tok_[0-9a-f]{32}\nscope +travel\.search\nexpires +20/);
  assert.ok(!err.includes(out.trim()));
  const used = await desk.service.ask('POST', '/svc/permissions', { bearer: out.trim(), body: {} });
  assert.equal(used.status, 200);
});

test('writ token issue sends every field of the request', async () => {
  const fields = [
    '--capability',
    'search_flights',
    '--purpose',
    'task_id=offsite',
    '--purpose',
    'why=a=b',
    '--budget',
    '500.10 USD',
    '--ttl',
    '30m',
    '--max-depth',
    '0',
    '--exclusive',
    '--caller-class',
    'automated_agent',
    '--session-id',
    's-1',
    '--json',
  ];
  const ran = done(await writ(['token', 'issue', ...SEARCH, ...PLANNER, ...fields], alice));
  const [answer] = jsonLines(ran);
  const found = await view(answer.token_id);

  assert.match(answer.token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
  assert.deepEqual(found.purpose, { task_id: 'offsite', why: 'a=b' });
  assert.deepEqual(found.budget, { currency: 'USD', max_amount: 500.1 });
  // It expires at a whole second.
  const livesMs = Date.parse(found.expires_at) - Date.parse(found.issued_at);
  assert.equal(Math.ceil(livesMs / 1_000), 1_800);
  assert.deepEqual(
    [found.capability, found.max_delegation_depth, found.concurrent_branches],
    ['search_flights', 0, 'exclusive'],
  );
  assert.deepEqual([found.caller_class, found.session_id], ['automated_agent', 's-1']);
  assert.equal(ran.err, '');
});

test('writ token issue --where conditions the calls of a capability', async () => {
  const where = { max_results: { at_least: 0, at_most: 2 }, origin: { is: 'SEA' } };
  const bound = [
    '--capability',
    'search_flights',
    '--where',
    'max_results: { at_least: 0, at_most: 2 }',
  ];
  const issue = ['token', 'issue', ...SEARCH, ...PLANNER];

  const one = done(await writ([...issue, ...bound, '--where', 'origin: SEA', '--json'], alice));
  const two = done(await writ([...issue, '--where', 'search_flights: { origin: SEA }'], alice));
  const wrong = await writ([...issue, '--where', 'search_flights: { orign: SEA }'], alice);

  assert.deepEqual(jsonLines(one)[0].conditions, { search_flights: where });
  assert.match(two.err, /^conditions +search_flights where origin is "SEA"$/m);
  assert.match(wrong.err, /"orign" is no input; write origin/);
});

test('writ token issue --out makes a file that only its owner can read, and replaces none', async () => {
  const file = at('issued.token');
  const { out, err } = done(
    await writ(['token', 'issue', ...SEARCH, ...PLANNER, '--out', file], alice),
  );
  const text = readFileSync(file, 'utf8');
  const before = (await desk.service.entriesBy({ entryType: 'issuance' })).length;
  const again = await writ(['token', 'issue', ...SEARCH, ...PLANNER, '--out', file], alice);
  const entries = (await desk.service.entriesBy({ entryType: 'issuance' })).length;

  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(text, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  assert.ok(!out.includes(text.trim()) && !err.includes(text.trim()));
  assert.match(out, /^id +tok_.*\ntoken +in ".*issued\.token"\n$/s);
  assert.equal(again.status, 2);
  assert.match(
    again.err,
    /^Cannot issue a token: ".*issued\.token" cannot be made \(it exists already\)\n$/,
  );
  assert.equal(readFileSync(file, 'utf8'), text);
  assert.equal(entries, before, 'no token is issued for a file that cannot be made');
});

test('writ token issue --out leaves no file when the service refuses', async () => {
  const file = at('refused.token');
  const ran = await writ(['token', 'issue', '--scope', 'bank.transfer', '--out', file], alice);

  assert.equal(ran.status, 1);
  assert.match(ran.err, /^Cannot issue scope "bank\.transfer".*\[not_entitled; next: .*\]\n$/);
  assert.equal(existsSync(file), false);
});

test('writ token issue --out --json prints the answer without the token', async () => {
  const file = at('json.token');
  const ran = done(await writ(['token', 'issue', ...SEARCH, '--out', file, '--json'], alice));
  const [answer] = jsonLines(ran);

  assert.equal(answer.issued, true);
  assert.equal('token' in answer, false);
});

test('writ token delegate issues a narrower token below another, and pays from it', async () => {
  const [parent, child] = [at('parent.token'), at('child.token')];
  const wide = [...SEARCH, '--scope', 'travel.book', '--budget', '50 USD'];
  const made = done(await writ(['token', 'issue', ...wide, ...PLANNER, '--out', parent], alice));
  const args = ['token', 'delegate', '--parent-file', parent, ...SEARCH];
  const finder = ['--subject', 'agent:finder'];

  const ran = done(
    await writ([...args, ...finder, '--budget', '20 USD', '--out', child, '--json']),
  );
  const wider = await writ([...args, ...finder, '--budget', '50.01 USD']);
  const unnamed = await writ(args);

  const [answer] = jsonLines(ran);
  const found = await view(answer.token_id);
  assert.match(made.out, new RegExp(`id +${found.parent_token_id}`));
  assert.deepEqual([found.subject, found.scope], ['agent:finder', ['travel.search']]);
  assert.deepEqual(found.budget, { currency: 'USD', max_amount: 20 });
  assert.deepEqual([wider.status, wider.out], [1, '']);
  assert.match(
    wider.err,
    /\[budget_exceeded; next: request budget increase \(ask human:alice@example\.com\)\]/,
  );
  assert.equal(unnamed.status, 2);
  assert.match(unnamed.err, /--subject/);
});

test('writ token delegate refuses a file without a token, and quotes nothing of it', async () => {
  const file = at('no.token');
  writeFileSync(file, 'hunter2 is my password', { mode: 0o600 });
  const args = [...SEARCH, '--subject', 'agent:x'];

  const none = await writ(['token', 'delegate', '--parent-file', file, ...args]);
  const missing = await writ(['token', 'delegate', '--parent-file', at('absent'), ...args]);

  assert.deepEqual([none.status, none.out], [4, '']);
  assert.match(none.err, /^Cannot delegate: ".*no\.token" has no delegation token\n$/);
  assert.equal(missing.status, 2);
  assert.match(missing.err, /cannot be read \(ENOENT\)/);
});

const misused: [what: string, args: string[], why: RegExp][] = [
  ['no scope', [], /no scope is named/],
  ['no amount', [...SEARCH, '--budget', '500'], /expected an amount such as "500 USD"/],
  ['no currency', [...SEARCH, '--budget', '5 ABC'], /is not an ISO 4217 currency/],
  ['too many decimals', [...SEARCH, '--budget', '5.001 USD'], /USD has 2 decimals/],
  [
    'an amount of no number',
    [...SEARCH, '--budget', '70368744177663.991 USD'],
    /no number is exactly/,
  ],
  ['an amount beyond numbers', [...SEARCH, '--budget', '99999999999999999999 JPY'], /the largest/],
  ['no duration', [...SEARCH, '--ttl', 'soon'], /expected a duration/],
  ['a duration of nothing', [...SEARCH, '--ttl', '0s'], /expected a duration/],
  ['no depth', [...SEARCH, '--max-depth', '-1'], /expected a whole number after --max-depth/],
  ['no pair', [...SEARCH, '--purpose', 'offsite'], /expected name=value after --purpose/],
  ['a name twice', [...SEARCH, '--purpose', 'a=1', '--purpose', 'a=2'], /"a" is given twice/],
  ['no conditions', [...SEARCH, '--where', '[5'], /expected conditions such as/],
  ['a value', [...SEARCH, '--capability', 'search_flights', '--where', '5'], /not "5"/],
  [
    'conditions of no capability',
    [...SEARCH, '--where', 'amount: { at_most: 5 }'],
    /"amount" has no capability; give --capability, or write --where '<capability>: { amount: … }'/,
  ],
  [
    'a path twice',
    [...SEARCH, '--where', 'a: { b: 1 }', '--where', 'a: { b: 2 }'],
    /"a" is given twice with --where/,
  ],
  ['an unknown option', [...SEARCH, '--scpoe', 'x'], /unknown option "--scpoe"/],
];
for (const [what, args, why] of misused) {
  test(`writ token issue ends with 2 on ${what}`, async () => {
    const ran = await writ(['token', 'issue', ...args], alice);

    assert.deepEqual([ran.status, ran.out], [2, ''], ran.err);
    assert.match(ran.err, why);
    assert.equal(ran.err.split('\n').length, 2, 'one line');
  });
}

test('writ token issue says what is missing, not accepted, or not there', async () => {
  const none = await writ(['token', 'issue', ...SEARCH]);
  const wrong = await writ(['token', 'issue', ...SEARCH], { credential: 'nonsense' });
  const absent = await atService('http://127.0.0.1:1')(['token', 'issue', ...SEARCH], alice);

  assert.deepEqual([none.status, wrong.status, absent.status], [4, 4, 5]);
  assert.match(none.err, /there is no credential; set WRIT_CLIENT_CREDENTIAL/);
  assert.match(wrong.err, /^Cannot identify the caller: .*\[authentication_required/);
  assert.match(absent.err, /"writ agents list"/);
});

test('writ token issue says where to look when the answer is lost', async () => {
  const lossy = atService(await lossyNetwork(desk.url, (path) => path === '/svc/tokens'));
  const ran = await lossy(['token', 'issue', ...SEARCH, '--json'], alice);

  assert.equal(ran.status, 5);
  assert.match(ran.err, /a token may exist that you do not have: see "writ agents list"/);
  assert.equal(jsonLines(ran)[0].failure.type, 'outcome_unknown');
});

test('writ token revoke ends a token and those below it', async () => {
  const parent = await desk.service.issue(ALICE, { scope: ['travel.search'], subject: 'agent:a' });
  await desk.service.delegate(parent, { subject: 'agent:b' });
  const other = await desk.service.issue(ALICE, { scope: ['travel.search'] });

  const people = done(await writ(['token', 'revoke', parent.token_id], alice));
  const program = done(await writ(['token', 'revoke', other.token_id, '--json'], alice));
  const unknown = await writ(['token', 'revoke', `tok_${'0'.repeat(32)}`], alice);
  const malformed = await writ(['token', 'revoke', '../keys'], alice);

  assert.match(people.out, /^id +tok_.*\ntokens ended +2\nrevoked +20/);
  assert.equal(jsonLines(program)[0].revoked, true);
  assert.equal((await view(parent.token_id)).state, 'revoked');
  assert.equal(unknown.status, 1);
  assert.match(unknown.err, /^Cannot find token .*\[not_found/);
  assert.equal(malformed.status, 1);
  assert.match(malformed.err, /expected a token id/);
});

test('writ permissions shows what a token may do, lacks, and has left', async () => {
  const { token } = await desk.service.issue(ALICE, {
    scope: ['travel.search', 'travel.charter'],
    subject: 'agent:planner',
    budget: { currency: 'USD', max_amount: 12.5 },
  });

  const people = done(await writ(['permissions'], { credential: token }));
  const program = done(await writ(['permissions', '--json'], { credential: token }));
  const bootstrap = await writ(['permissions'], alice);

  const lines = people.out.split('\n');
  assert.match(lines[0] ?? '', /^capability +may +budget left +lacks$/);
  assert.ok(
    lines.some((line) => /^search_flights +yes +12\.50 USD$/.test(line)),
    people.out,
  );
  assert.ok(
    lines.some((line) => /^book_flight +not yet .*travel\.book/.test(line)),
    people.out,
  );
  const [answer] = jsonLines(program);
  assert.deepEqual(Object.keys(answer), ['available', 'restricted', 'denied']);
  assert.equal(bootstrap.status, 4);
});

test('a credential in a file that others can read is refused, also a parent and a private key', async () => {
  const file = at('open.token');
  done(await writ(['token', 'issue', ...SEARCH, ...PLANNER, '--out', file], alice));
  done(await writ(['permissions', '--token-file', file]));
  const uses = [
    ['permissions', '--token-file', file],
    ['token', 'delegate', '--parent-file', file, ...SEARCH, '--subject', 'agent:x'],
    ['keys', 'successor', 'token', '--from', file, '--to', file],
  ];

  for (const mode of [0o644, 0o640, 0o604]) {
    chmodSync(file, mode);
    for (const args of uses) {
      const ran = await writ(args, alice);
      assert.deepEqual([ran.status, ran.out], [2, ''], args.join(' '));
      assert.match(ran.err, /^Cannot .*: others can read "(.*)"; run: chmod 600 "\1"\n$/);
    }
  }
});

test('an empty file of a credential is not replaced by another credential of this user', async () => {
  const file = at('empty.token');
  writeFileSync(file, '\n', { mode: 0o600 });

  const ran = await writ(['permissions', '--token-file', file], alice);

  assert.deepEqual([ran.status, ran.out], [4, '']);
  assert.match(ran.err, /^Cannot show permissions: ".*empty\.token" is empty\n$/);
});

test('a file without an end and a folder are refused with their names', async () => {
  const endless = await writ(['permissions', '--token-file', '/dev/zero'], alice);
  const folder = await writ(['permissions', '--token-file', '/dev'], alice);

  assert.deepEqual([endless.status, folder.status], [2, 2]);
  assert.match(endless.err, /"\/dev\/zero" has more than \d+ bytes\n$/);
  assert.match(folder.err, /"\/dev" cannot be read \(EISDIR\)\n$/);
});

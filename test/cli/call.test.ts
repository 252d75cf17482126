/**
 * `writ invoke` at a running service: results, dry runs, streams, approvals and lost answers.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import * as z from 'zod';
import { createService, defineCapability } from '../../src/index.ts';
import { openDesk } from '../client/desk.ts';
import { temporaryFolder } from '../support/ends.ts';
import { ALICE, BOB, eventually } from '../support/world.ts';
import { atService, jsonLines, lossyNetwork, type Ran } from './run.ts';

let shipped = 0;

const Parcel = z.object({
  to: z.string(),
  boxes: z.int(),
  tags: z.array(z.string()).optional(),
});

const ship = defineCapability({
  name: 'ship',
  description: 'Ship a parcel',
  inputs: Parcel,
  side_effect: 'write',
  minimum_scope: ['travel.book'],
  cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 9.5 } },
  handler: (parcel) => {
    shipped += 1;
    return { parcel_id: `P-${shipped}`, ...parcel };
  },
});

const count = defineCapability({
  name: 'count',
  description: 'Count, in steps',
  inputs: z.object({ to: z.int(), fails: z.boolean().optional() }),
  side_effect: 'read',
  minimum_scope: ['travel.book'],
  response_modes: ['unary', 'streaming'],
  async handler({ to, fails }, { progress }) {
    for (let n = 1; n <= to; n++) await progress({ counted: n, text: '\u001b[2J' });
    if (fails) throw new Error('could not count');
    return { counted: to };
  },
});

const fire = defineCapability({
  name: 'fire',
  description: 'Fire a supplier',
  inputs: z.object({ who: z.string() }),
  side_effect: 'irreversible',
  minimum_scope: ['travel.book'],
  approval: { when: 'always', preview: ({ who }) => ({ fires: who }) },
  handler: ({ who }) => {
    shipped += 1;
    return { fired: who };
  },
});

const definition = createService({ id: 'call-desk', capabilities: [ship, count, fire] });
const desk = await openDesk({ definition, settings: { rate_limits: 'off' } });
const writ = atService(desk.url);
const folder = temporaryFolder();

async function agent(scope = ['travel.book']) {
  const budget = { currency: 'USD', max_amount: 100 };
  const { token } = await desk.service.issue(ALICE, { scope, subject: 'agent:planner', budget });
  return { credential: token };
}

function done(ran: Ran): Ran {
  assert.equal(ran.status, 0, ran.err);
  return ran;
}

const PARCEL = ['--param', 'to=1000', '--param', 'boxes=2', '--param', 'tags=["a"]'];

test('writ invoke reads parameters by their declared types, and shows result, cost and budget', async () => {
  const { out, err } = done(await writ(['invoke', 'ship', ...PARCEL], await agent()));

  assert.match(
    out,
    /^invocation +inv-[0-9a-f]{12}\ncost +9\.50 USD\nbudget left +90\.50 USD\nentry +ent_/,
  );
  const result = JSON.parse(out.slice(out.indexOf('{')));
  assert.deepEqual(result, { parcel_id: result.parcel_id, to: '1000', boxes: 2, tags: ['a'] });
  assert.equal(err, '');
});

test('writ invoke takes parameters as JSON, from a file and from standard input', async () => {
  const caller = await agent();
  const parcel = JSON.stringify({ to: 'Ann', boxes: 1 });
  const file = join(folder, 'parcel.json');
  writeFileSync(file, parcel);

  const given = [parcel, `@${file}`, '-'].map((text) => ['--parameters', text]);
  for (const parameters of given) {
    const args = ['invoke', 'ship', ...parameters, '--json'];
    const [answer] = jsonLines(done(await writ(args, { ...caller, input: parcel })));
    assert.equal(answer.success, true);
    assert.equal(answer.result.to, 'Ann');
    assert.equal(answer.cost_actual.amount, 9.5);
  }
});

const misused: [what: string, args: string[], why: RegExp][] = [
  ['no object', ['--parameters', '[1]'], /expected a JSON object/],
  ['no JSON', ['--parameters', '{"to":'], /the text after --parameters is not JSON/],
  ['a key twice', ['--parameters', '{"to":1,"to":2}'], /is not JSON/],
  ['a file that is not there', ['--parameters', '@/nowhere/x.json'], /cannot be read \(ENOENT\)/],
  ['no standard input', ['--parameters', '-'], /there is no standard input/],
  ['no pair', ['--param', 'to'], /expected name=value after --param/],
  ['a number that is none', ['--param', 'boxes=two'], /the value of "boxes" is not JSON/],
  ['a parameter twice', ['--parameters', '{"to":"a"}', '--param', 'to=b'], /"to" is given twice/],
  ['two grants', ['--approval-grant', 'gnt_1', '--grant-file', 'x'], /not both/],
  ['a stream of a dry run', ['--dry-run', '--stream'], /--dry-run runs nothing/],
  ['a key of a dry run', ['--dry-run', '--idempotency-key', 'k'], /no effect to repeat/],
];
for (const [what, args, why] of misused) {
  test(`writ invoke ends with 2 on ${what}`, async () => {
    const before = shipped;
    const ran = await writ(['invoke', 'ship', ...args], await agent());

    assert.deepEqual([ran.status, ran.out], [2, ''], ran.err);
    assert.match(ran.err, why);
    assert.equal(ran.err.split('\n').length, 2, 'one line');
    assert.equal(shipped, before);
  });
}

test('writ invoke ends with 1 on a refusal, and with --json prints it', async () => {
  const caller = await agent(['travel.search']);

  const people = await writ(['invoke', 'ship', ...PARCEL], caller);
  const program = await writ(['invoke', 'ship', ...PARCEL, '--json'], caller);
  const unknown = await writ(['invoke', 'shipp', '--parameters', '{}'], caller);
  const proto = await writ(['invoke', 'ship', '--param', '__proto__=1'], await agent());

  assert.deepEqual([people.status, people.out], [1, '']);
  assert.match(
    people.err,
    /^Cannot invoke "ship": .*\[scope_insufficient; next: request broader scope travel\.book \(ask human:alice@example\.com\)\]\n$/,
  );
  assert.equal(program.status, 1);
  assert.equal(jsonLines(program)[0].failure.type, 'scope_insufficient');
  assert.equal(unknown.status, 1);
  assert.match(unknown.err, /\[unknown_capability/);
  assert.equal(proto.status, 1);
  assert.match(proto.err, /__proto__|\[invalid_parameters/);
});

test('writ invoke ends with 4 on a credential that is no token, or an expired one', async () => {
  const bootstrap = await writ(['invoke', 'ship', ...PARCEL], { credential: ALICE });
  const none = await writ(['invoke', 'ship', ...PARCEL]);

  assert.deepEqual([bootstrap.status, none.status], [4, 4]);
  assert.match(bootstrap.err, /\[invalid_token/);
});

test('writ invoke --dry-run makes the checks and no effect', async () => {
  const caller = await agent();
  const before = shipped;

  const people = done(await writ(['invoke', 'ship', ...PARCEL, '--dry-run'], caller));
  const program = done(await writ(['invoke', 'ship', ...PARCEL, '--dry-run', '--json'], caller));
  const refused = await writ(
    ['invoke', 'ship', ...PARCEL, '--dry-run'],
    await agent(['travel.search']),
  );

  assert.match(people.out, /^would be admitted +yes\ncost +9\.50 USD \(fixed\)\n/);
  assert.equal(jsonLines(program)[0].would_be_admitted, true);
  assert.equal(refused.status, 1);
  assert.match(`${refused.out}${refused.err}`, /scope_insufficient/);
  assert.equal(shipped, before);
});

test('writ invoke --stream prints progress that cannot act on the terminal, and then the result', async () => {
  const caller = await agent();
  const args = ['invoke', 'count', '--param', 'to=2', '--stream'];

  const people = done(await writ(args, caller));
  const program = done(await writ([...args, '--json'], caller));

  assert.match(people.err, /^started inv-.*\n\{"counted":1,.*\n\{"counted":2,.*\n$/);
  assert.ok(!people.err.includes('\u001b'));
  assert.match(people.out, /"counted": 2/);
  const events = jsonLines(program);
  assert.deepEqual(
    events.map(({ event }) => event),
    ['started', 'progress', 'progress', 'completed'],
  );
  assert.deepEqual(events.at(-1).data.result, { counted: 2 });
});

test('writ invoke --stream ends with the failure of the stream, once', async () => {
  const caller = await agent();
  const args = ['invoke', 'count', '--parameters', '{"to":1,"fails":true}', '--stream'];

  const people = await writ(args, caller);
  const program = await writ([...args, '--json'], caller);
  const refused = await writ([...args, '--json'], await agent(['travel.search']));

  assert.notEqual(people.status, 0);
  assert.match(people.err, /internal_error/);
  const events = jsonLines(program);
  assert.equal(events.at(-1).event, 'failed');
  assert.equal(events.length, 3);
  assert.equal(jsonLines(refused)[0].failure.type, 'scope_insufficient');
});

const FIRE = ['invoke', 'fire', '--param', 'who=ACME'];

async function approve(approval_request_id: string): Promise<{ grant_id: string }> {
  const { status, body } = await desk.service.ask('POST', '/svc/approval_grants', {
    bearer: BOB,
    body: { approval_request_id, grant_type: 'one_time' },
  });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const requestIn = (text: string) => /apr_[0-9a-f]{32}/.exec(text)?.[0] ?? '';

test('writ invoke ends with 3 when a person has to approve, and continues after that', async () => {
  const caller = await agent();
  const before = shipped;

  const first = await writ(FIRE, caller);
  const id = requestIn(first.err);
  const again = await writ([...FIRE, '--json'], caller);
  await approve(id);
  const granted = done(await writ([...FIRE, '--json'], caller));

  assert.deepEqual([first.status, first.out], [3, '']);
  assert.match(first.err, /decide it at http\S+ \(needs approver:fire\)\]/);
  assert.match(first.err, new RegExp(`writ approvals show ${id} --service ${desk.url};`));
  assert.equal(again.status, 3);
  assert.equal(jsonLines(again)[0].failure.approval_request_id, id, 'the same request');
  assert.deepEqual(jsonLines(granted)[0].result, { fired: 'ACME' });
  assert.equal(shipped, before + 1);
});

test('writ invoke uses the grant of an option or of a file', async () => {
  const caller = await agent();
  const fire = (who: string, ...more: string[]) =>
    writ(['invoke', 'fire', '--param', `who=${who}`, ...more], caller);
  const byId = await approve(requestIn((await fire('A')).err));
  const byFile = await approve(requestIn((await fire('B')).err));
  const file = join(folder, 'grant.json');
  writeFileSync(file, JSON.stringify(byFile));
  writeFileSync(join(folder, 'no-grant'), '{}');

  done(await fire('A', '--approval-grant', byId.grant_id));
  const other = await fire('C', '--grant-file', file);
  done(await fire('B', '--grant-file', file));
  const none = await fire('B', '--grant-file', join(folder, 'no-grant'));

  assert.equal(other.status, 1);
  assert.match(other.err, /\[approval_grant_invalid/);
  assert.equal(none.status, 2);
  assert.match(none.err, /has no approval grant/);
});

/** The pending request about a supplier, once there is one. */
async function requestAbout(who: string): Promise<string> {
  let id = '';
  await eventually(async () => {
    const { body } = await desk.service.ask('GET', '/svc/approval_requests', { bearer: BOB });
    const found = body.approval_requests.find(
      ({ parameters }: { parameters: { who: string } }) => parameters.who === who,
    );
    id = found?.approval_request_id ?? '';
    return id !== '';
  });
  return id;
}

test('writ invoke --wait waits for the decision and continues', async () => {
  const before = shipped;
  const running = writ(['invoke', 'fire', '--param', 'who=Slow', '--wait'], await agent());
  const id = await requestAbout('Slow');
  await approve(id);

  const { out, err } = done(await running);

  assert.match(err, new RegExp(`^Waiting for the decision on ${id}: http`));
  assert.match(out, /"fired": "Slow"/);
  assert.equal(shipped, before + 1);
});

test('writ invoke --wait ends with 1 when the request is denied, and says by whom and why', async () => {
  const before = shipped;
  const caller = await agent();
  const args = ['invoke', 'fire', '--param', 'who=Denied', '--wait'];
  const [running, program] = [writ(args, caller), writ([...args, '--json'], caller)];
  const id = await requestAbout('Denied');
  await desk.service.ask('POST', `/svc/approval_requests/${id}/deny`, {
    bearer: BOB,
    body: { reason: 'too early \u001b[2J' },
  });

  const { status, out, err } = await running;

  assert.deepEqual([status, out], [1, '']);
  assert.match(err, /was denied by human:bob@example\.com: too early/);
  assert.ok(!err.includes('\u001b'));
  assert.equal(jsonLines(await program)[0].status, 'denied');
  assert.equal(shipped, before);
});

test('writ invoke says with which key a call whose answer was lost is repeated', async () => {
  const caller = await agent();
  const before = shipped;
  const lossy = atService(await lossyNetwork(desk.url, (path) => path.startsWith('/svc/invoke/')));

  const lost = await lossy(['invoke', 'ship', ...PARCEL], caller);
  const key = /--idempotency-key (\S+): /.exec(lost.err)?.[1] ?? '';
  const again = done(await writ(['invoke', 'ship', ...PARCEL, '--idempotency-key', key], caller));
  const read = await lossy(['invoke', 'count', '--param', 'to=1'], caller);

  assert.deepEqual([lost.status, lost.out], [5, '']);
  assert.match(lost.err, /\[outcome_unknown; .* run the same command again with --idempotency-key/);
  assert.match(again.out, /\nrepeated +yes/);
  assert.equal(shipped, before + 1, 'one effect');
  assert.equal(read.status, 5);
  assert.doesNotMatch(read.err, /idempotency-key/);
});

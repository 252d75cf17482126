/**
 * Many freezes: a call reads the few that can concern it, and the list of all is made in slices.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { rowText } from '../../src/storage/port/row-forms.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { entry, freezeOf } from '../support/fixtures.ts';
import { countedSlicer, countTurns, type TurnCounter } from '../support/turns.ts';
import { AGENT, ALICE, OPERATOR, STORES, type TestService, testService } from '../support/world.ts';

/** Counts the freezes that the store reads: each of them is authenticated. */
function counting(read: TurnCounter) {
  return (store: Store): Store => ({
    ...store,
    async freezesUnder(keys) {
      const freezes = await store.freezesUnder(keys);
      read.add(freezes.length);
      return freezes;
    },
    async listFreezes(...query) {
      const page = await store.listFreezes(...query);
      read.add(page.freezes.length);
      return page;
    },
  });
}

/** Freezes principals that no test asks as, newest first. Returns those that are in force. */
async function freezeMany(
  { store, rows }: TestService,
  count: number,
  isEnded = (i: number) => i % 2 === 1,
): Promise<string[]> {
  const now = store.now().getTime();
  const freezes = Array.from({ length: count }, (_, i) =>
    freezeOf({
      what: 'root_principal',
      target: `human:é-${i}@example.com`,
      frozen_at: new Date(now - i),
      until: isEnded(i) ? new Date(now - 1) : undefined,
    } as const),
  );
  for (let from = 0; from < count; from += 50) {
    const batch = freezes.slice(from, from + 50).map((freeze) => {
      return store.freeze({ ...freeze, mac: rows.macOf(rowText('freeze', freeze)) }, entry());
    });
    await Promise.all(batch);
  }
  return freezes.filter(({ until }) => until === undefined).map(({ target }) => target);
}

test('issuing, approving and a composed call read only the freezes that apply to them', async () => {
  const read = countTurns();
  const desk = await testService({ wrap: counting(read) });
  await freezeMany(desk, 100);
  const before = read.all();

  const { token } = await desk.issue(ALICE, {
    scope: ['travel.search', 'travel.hold'],
    budget: { currency: 'USD', max_amount: 50 },
  });
  const trip = { origin: 'SEA', destination: 'SFO', date: '2026-03-10' };
  const composed = await desk.invoke(token, 'plan_trip', trip);
  const grants = await desk.ask('POST', '/svc/approval_grants', {
    bearer: AGENT,
    body: { approval_request_id: `apr_${'0'.repeat(32)}` },
  });

  assert.equal(composed.status, 200, composed.text);
  assert.ok(grants.status >= 400);
  assert.equal(read.all() - before, 0);
});

test('issuing a token reads the freeze of its root principal, and that of the service', async () => {
  const read = countTurns();
  const desk = await testService({ wrap: counting(read) });
  await freezeMany(desk, 20);
  const body = { what: 'root_principal', target: 'human:alice@example.com', reason: 'a drill' };
  await desk.ask('POST', '/svc/operator/freeze', { bearer: OPERATOR, body });
  const before = read.all();

  const refused = await desk.ask('POST', '/svc/tokens', {
    bearer: ALICE,
    body: { subject: 'agent:x', scope: ['travel.search'] },
  });

  assert.equal(refused.body.failure.type, 'frozen');
  assert.equal(read.all() - before, 1);
});

for (const { name, open } of STORES) {
  test(`operator.frozen lists active freezes, in slices and in pages (${name})`, async () => {
    const place = await open();
    const [read, visited] = [countTurns(), countTurns()];
    const options = { wrap: counting(read), slicer: countedSlicer(visited) };
    const desk = await testService({ store: place.url, ...options });
    const targets = await freezeMany(desk, 200);

    const found: string[] = [];
    let cursor = '';
    let pages = 0;
    do {
      const path = `/svc/operator/frozen?limit=40${cursor}`;
      const { status, body } = await desk.ask('GET', path, { bearer: OPERATOR });
      assert.equal(status, 200);
      found.push(...body.frozen.map(({ target }: { target: string }) => target));
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
      pages += 1;
    } while (cursor !== '');
    const whole = await desk.ask('GET', '/svc/operator/frozen', { bearer: OPERATOR });

    assert.deepEqual(found, targets);
    assert.equal(pages, 3);
    assert.equal(whole.body.frozen.length, targets.length);
    assert.equal(whole.body.next_cursor, null);
    // One read is asked for in a turn; the store may answer it together with the one before.
    assert.ok(read.most() <= 64, `${read.most()} freezes were read in one turn`);
    assert.ok(visited.most() <= 5, `${visited.most()} freezes were written in one turn`);
  });
}

test('operator.frozen continues with the next page when every row of one has ended', async () => {
  const desk = await testService();
  const last = 2_099;
  const [oldest] = await freezeMany(desk, last + 1, (i) => i !== last);

  const first = await desk.ask('GET', '/svc/operator/frozen', { bearer: OPERATOR });
  const cursor = first.body.next_cursor;
  const second = await desk.ask('GET', `/svc/operator/frozen?cursor=${cursor}`, {
    bearer: OPERATOR,
  });

  assert.deepEqual(first.body.frozen, []);
  assert.ok(cursor);
  assert.deepEqual(
    second.body.frozen.map(({ target }: { target: string }) => target),
    [oldest],
  );
  assert.equal(second.body.next_cursor, null);
});

const FOREIGN = [
  'x',
  '1-service',
  '1-token-YQ',
  '1-capability-YQA',
  `1-capability-${Buffer.from('a\0b').toString('base64url')}`,
  `1-capability-${Buffer.from([0xff]).toString('base64url')}`,
  '0001-capability-YQ',
  '9'.repeat(16),
];

test('operator.frozen refuses a cursor that it did not issue', async () => {
  const desk = await testService();

  for (const cursor of FOREIGN) {
    const path = `/svc/operator/frozen?cursor=${cursor}`;
    const { status, body } = await desk.ask('GET', path, { bearer: OPERATOR });
    assert.equal(status, 400, cursor);
    assert.equal(body.failure.type, 'invalid_parameters');
  }
});

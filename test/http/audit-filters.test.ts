/**
 * Filters of the trail: each is applied or refused, and never passed over.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { AuditQuery } from '../../src/protocol/audit.ts';
import { ALICE, testService } from '../support/world.ts';
import { assertRefused } from './refused.ts';

const service = await testService();
const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
await service.invoke(token, 'search_flights', { origin: 'SEA', destination: 'SFO' });

function audit(query: string, body?: unknown) {
  const options = { bearer: token, ...(body !== undefined && { body }) };
  return service.ask('POST', `/svc/audit${query}`, options);
}

for (const query of [
  '?capabilty=search_flights',
  '?until=2026-01-01',
  '?root_principal=human:bob',
]) {
  test(`audit refuses the filter ${query}`, async () => {
    assertRefused(await audit(query), 400, 'invalid_parameters');
  });
}

for (const body of [{ capability: 'look' }, { limit: 1 }, { anything: 1 }, [], 'text', '{']) {
  test(`audit refuses a filter in the body: ${JSON.stringify(body)}`, async () => {
    assertRefused(await audit('', body), 400, 'invalid_parameters');
  });
}

test('audit accepts no body, an empty one and an empty object', async () => {
  for (const body of [undefined, '', {}]) {
    const { status, body: answer } = await audit('', body);

    assert.equal(status, 200);
    assert.equal(answer.count, 1);
  }
});

/** Each names a moment of the past or of the future, as UTC where it has no zone. */
const MOMENTS: readonly [text: string, instant: string][] = [
  ['2020-01-02', '2020-01-02T00:00:00.000Z'],
  ['2020-02-29', '2020-02-29T00:00:00.000Z'],
  ['2020-01-02T03:04', '2020-01-02T03:04:00.000Z'],
  ['2020-01-02T03:04Z', '2020-01-02T03:04:00.000Z'],
  ['2020-01-02T03:04+02:00', '2020-01-02T01:04:00.000Z'],
  ['2020-01-02T03:04:05', '2020-01-02T03:04:05.000Z'],
  ['2020-01-02T03:04:05.678', '2020-01-02T03:04:05.678Z'],
  ['2020-01-02T03:04:05.678901234Z', '2020-01-02T03:04:05.678Z'],
  ['2020-01-02T03:04:05-23:59', '2020-01-03T03:03:05.000Z'],
];
for (const [text, instant] of MOMENTS) {
  test(`audit accepts since ${text}`, async () => {
    const since = encodeURIComponent(text);
    const { status, body } = await audit(`?since=${since}`);
    const later = encodeURIComponent(text.replace('2020', '2096'));
    const { body: none } = await audit(`?since=${later}`);

    assert.equal(status, 200);
    assert.deepEqual([body.count, none.count], [1, 0]);
    assert.equal(AuditQuery.parse({ since: text }).since, instant);
  });
}

test('audit accepts a since whose zone leads outside the four-digit years', async () => {
  const { body: every } = await audit(`?since=${encodeURIComponent('0000-01-01T00:00+23:59')}`);
  const { body: none } = await audit(`?since=${encodeURIComponent('9999-12-31T23:59-23:59')}`);

  assert.deepEqual([every.count, none.count], [1, 0]);
});

for (const text of [
  '',
  'yesterday',
  '2020',
  '2020-01',
  '2021-02-29',
  '2020-13-01',
  '20200102',
  '1577934245',
  '2020-01-02T',
  '2020-01-02T03',
  '2020-01-02T24:00',
  '2020-01-02T03:60',
  '2020-01-02 03:04',
  '2020-01-02Z',
  '2020-01-02T03:04+2',
  `2020-01-02T03:04:05.${'1'.repeat(10)}Z`,
]) {
  test(`audit refuses since "${text}"`, async () => {
    const reply = await audit(`?since=${encodeURIComponent(text)}`);

    assertRefused(reply, 400, 'invalid_parameters');
  });
}

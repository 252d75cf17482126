/**
 * Capabilities that are switched off: what callers read, and where they do not appear.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { travelDesk } from '../../examples/travel/service.ts';
import { ALICE, OPERATOR, testService } from '../support/world.ts';

const WHY = 'its description changed after the review of 1 December';
const definition = { ...travelDesk, off: new Map([['delete_trip', WHY]]) };
const service = await testService({ definition });
const { token } = await service.issue(ALICE, {
  scope: ['travel.search'],
  subject: 'agent:planner',
  caller_class: 'automated_agent',
});

test('invoke() says why a capability is off, and leaves the entry of an unknown one', async () => {
  const { status, body } = await service.invoke(token, 'delete_trip', { trip_id: 'T-1' });

  assert.equal(status, 404);
  assert.equal(body.failure.type, 'unknown_capability');
  assert.equal(body.failure.detail, `Cannot invoke "delete_trip": it is off: ${WHY}`);
  const [entry] = await service.entriesBy({ invocationId: body.invocation_id });
  assert.equal(entry?.failure_type, 'unknown_capability');
});

test('a dry run, a bound token and a freeze say why a capability is off', async () => {
  const dry = await service.ask('POST', '/svc/test/delete_trip', {
    bearer: token,
    body: { parameters: {} },
  });
  const bound = await service.ask('POST', '/svc/tokens', {
    bearer: ALICE,
    body: { scope: ['travel.search'], subject: 'agent:planner', capability: 'delete_trip' },
  });
  const frozen = await service.ask('POST', '/svc/operator/freeze', {
    bearer: OPERATOR,
    body: { what: 'capability', target: 'delete_trip', reason: 'a test' },
  });

  for (const { body } of [dry, bound, frozen]) {
    assert.equal(body.failure.type, 'unknown_capability');
    assert.ok(body.failure.detail.endsWith(`: it is off: ${WHY}`), body.failure.detail);
  }
});

test('invoke() keeps the sentence from a caller whose failures are redacted', async () => {
  const closed = await testService({
    definition,
    settings: { disclosure: { automated_agent: 'redacted' } },
  });
  const asked = { scope: ['travel.search'], subject: 'agent:a', caller_class: 'automated_agent' };
  const { token: own } = await closed.issue(ALICE, asked);

  const off = await closed.invoke(own, 'delete_trip');
  const unknown = await closed.invoke(own, 'fly_to_moon');

  assert.deepEqual(off.body.failure, unknown.body.failure);
});

test('a capability that is off is in no document and in no permission', async () => {
  const paths = ['/.well-known/svc', '/svc/manifest', '/svc/graph/delete_trip'];
  const documents = await Promise.all(paths.map((path) => service.ask('GET', path)));
  const permissions = await service.ask('POST', '/svc/permissions', { bearer: token, body: {} });

  for (const { text } of [...documents.slice(0, 2), permissions]) {
    assert.doesNotMatch(text ?? '', /delete_trip/);
  }
  assert.match(documents[2]?.body.failure.detail, /has no such capability$/);
});

/**
 * Failures that handlers throw: types of a capability's own, and the advice that comes with any failure.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { AuditAnswer } from '../../src/protocol/audit.ts';
import { FailureAnswer } from '../../src/protocol/failure.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { type Advice, HandlerFailure, NoEffect } from '../../src/service/author/handler.ts';
import { testService } from '../support/world.ts';
import { ALICE, SETTINGS } from './principals.ts';

const SEAT_TAKEN = {
  type: 'seat_taken',
  description: 'another booking has the seat',
  retry: false,
  action: 'revalidate_state',
} as const;
const NIGHT = {
  type: 'closed_for_the_night',
  description: 'the desk opens at six',
  retry: true,
  action: 'wait_and_retry',
} as const;
const OWN = [SEAT_TAKEN, NIGHT] as const;

let thrown: unknown;
const plain = {
  description: 'Tests failures',
  side_effect: 'write' as const,
  minimum_scope: ['w.use'],
  cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 10 } } as const,
  handler: () => {
    throw thrown;
  },
};

const definition = createService({
  id: 'own-failures',
  capabilities: [
    defineCapability({ ...plain, name: 'seat', failure_types: OWN }),
    defineCapability({ ...plain, name: 'other' }),
    defineCapability({
      name: 'whole',
      description: 'Takes a seat as its only step',
      kind: 'composed',
      minimum_scope: ['w.use'],
      side_effect: 'write',
      cost: plain.cost,
      composition: {
        authority_boundary: 'same_service',
        steps: [{ id: 'first', capability: 'seat' }],
        input_mapping: {},
        output_mapping: {},
        failure_policy: 'propagate',
        audit_policy: { record_child_invocations: true, parent_task_lineage: true },
      },
    }),
  ],
});

const classes = { caller_class: 'internal', caller_classes: ['partner'] };
const identities = SETTINGS.identities.map((identity) => ({ ...identity, ...classes }));
const settings = { identities, disclosure: { partner: 'redacted' } };
const service = await testService({ definition, settings });
const budget = { currency: 'USD', max_amount: 1_000 };
const { token, token_id: tokenId } = await service.issue(ALICE, { scope: ['w.use'], budget });
beforeEach(() => {
  service.log.length = 0;
});

async function fail(error: unknown, capability = 'seat', headers: Record<string, string> = {}) {
  thrown = error;
  const reply = await service.invoke(token, capability, {}, { headers });
  FailureAnswer.parse(reply.body);
  return { ...reply, failure: reply.body.failure };
}

async function spent(): Promise<number> {
  return (await service.ask('GET', `/svc/tokens/${tokenId}`, { bearer: token })).body.budget_spent;
}

const ADVICE: Advice = {
  requires: ['a seat map of today', 'scope w.upgrade'],
  grantable_by: 'human:desk-lead',
  estimated_availability: 'PT5M',
};

test('invoke() returns a failure that the capability declares, with its declared guidance', async () => {
  const { status, failure } = await fail(
    new HandlerFailure<typeof OWN>('Cannot take 12A', 'seat_taken', ADVICE),
  );

  assert.equal(status, 422);
  assert.deepEqual(failure, {
    type: 'seat_taken',
    detail: 'Cannot take 12A',
    retry: false,
    resolution: {
      action: 'revalidate_state',
      recovery_class: 'revalidate_then_retry',
      ...ADVICE,
    },
  });
});

test('invoke() returns the advice of a protocol failure, with the guidance of the protocol', async () => {
  const { status, failure } = await fail(new NoEffect('Cannot find it', 'not_found', ADVICE));

  assert.equal(status, 404);
  assert.deepEqual(failure.resolution, {
    action: 'check_manifest',
    recovery_class: 'revalidate_then_retry',
    ...ADVICE,
  });
});

for (const [Kind, charge, state] of [
  [NoEffect, 0, 'failed'],
  [HandlerFailure, 10, 'failed'],
] as const) {
  test(`invoke() charges ${charge} for a ${Kind.name} of a declared type, and the entry names it`, async () => {
    const before = await spent();

    const { body } = await fail(
      new Kind<typeof OWN>('Cannot open: it is night', 'closed_for_the_night'),
    );

    assert.equal(await spent(), before + charge);
    assert.equal(body.effect, charge === 0 ? 'none' : undefined);
    const query = `/svc/audit?invocation_id=${body.invocation_id}`;
    const { body: trail } = await service.ask('POST', query, { bearer: token });
    assert.deepEqual(
      AuditAnswer.parse(trail).entries.map((entry) => [entry.state, entry.failure_type]),
      [[state, 'closed_for_the_night']],
    );
    assert.deepEqual(
      [body.failure.retry, body.failure.resolution.recovery_class],
      [true, 'wait_then_retry'],
    );
  });
}

const UNDECLARED: [name: string, capability: string, type: string][] = [
  ['that no capability declares', 'seat', 'seat_lost'],
  ['that another capability declares', 'other', 'seat_taken'],
  ['that differs in one letter', 'seat', 'Seat_taken'],
  ['that is a name of every object', 'seat', 'constructor'],
  ['that is empty', 'seat', ''],
];
for (const [name, capability, type] of UNDECLARED) {
  test(`invoke() treats a failure type ${name} as a defect, and the log names it`, async () => {
    for (const Kind of [NoEffect, HandlerFailure]) {
      const before = await spent();

      const { status, failure } = await fail(
        new Kind('secret-canary', type as 'not_found'),
        capability,
      );

      assert.deepEqual([status, failure.type], [500, 'internal_error']);
      assert.equal(JSON.stringify(failure).includes('secret-canary'), false);
      assert.equal(await spent(), before + 10);
      assert.ok(service.log.some((line) => JSON.parse(line).undeclared === type));
    }
  });
}

test('invoke() bounds what a handler advises, and replaces what looks like a credential', async () => {
  const advice = {
    requires: [...Array.from({ length: 20 }, () => 'x'.repeat(500)), 'more'],
    estimated_availability: `Bearer abcdefghijklmnop ${'y'.repeat(500)}`,
  };

  const { failure } = await fail(new HandlerFailure<typeof OWN>('Cannot', 'seat_taken', advice));
  const secret = { requires: ['password: hunter2hunter2'] };
  const { failure: redacted } = await fail(
    new NoEffect<typeof OWN>('Cannot', 'seat_taken', secret),
  );

  assert.equal(failure.resolution.requires.length, 16);
  assert.ok(failure.resolution.requires.every((text: string) => text.length <= 257));
  assert.ok(failure.resolution.estimated_availability.length <= 65);
  assert.doesNotMatch(failure.resolution.estimated_availability, /abcdefgh/);
  assert.deepEqual(redacted.resolution.requires, ['password: [secret]']);
});

const UNREADABLE: [field: string, value: unknown][] = [
  ['requires', 'a text'],
  ['requires', ['fine', 5]],
  ['grantable_by', 'Alice'],
  ['grantable_by', { name: 'human:alice' }],
  ['estimated_availability', 300],
];
for (const [field, value] of UNREADABLE) {
  test(`invoke() drops ${field}: ${JSON.stringify(value)}, logs that, and keeps the failure`, async () => {
    const advice = { [field]: value } as Advice;

    const { failure } = await fail(new NoEffect<typeof OWN>('Cannot', 'seat_taken', advice));

    assert.equal(failure.type, 'seat_taken');
    assert.deepEqual(Object.keys(failure.resolution), ['action', 'recovery_class']);
    assert.ok(service.log.some((line) => line.includes(`${field}: expected`)));
  });
}

test('invoke() replays a failure of a declared type with its status', async () => {
  const headers = { 'idempotency-key': 'seat-1' };
  const first = await fail(
    new HandlerFailure<typeof OWN>('Cannot take 12A', 'seat_taken'),
    'seat',
    headers,
  );
  const again = await fail(
    new HandlerFailure<typeof OWN>('not reached', 'seat_taken'),
    'seat',
    headers,
  );

  assert.deepEqual([again.status, again.text], [422, first.text]);
  assert.equal(again.headers['idempotent-replayed'], 'true');
});

test('invoke() passes on the failure of a step with policy propagate', async () => {
  const unmoved = await fail(new NoEffect<typeof OWN>('Cannot take 12A', 'seat_taken'), 'whole');
  const acted = await fail(
    new HandlerFailure<typeof OWN>('Cannot take 12A', 'seat_taken'),
    'whole',
  );

  for (const { status, failure } of [unmoved, acted]) {
    assert.deepEqual([status, failure.type, failure.retry], [422, 'seat_taken', false]);
  }
  assert.deepEqual([unmoved.body.effect, acted.body.effect], ['none', undefined]);
});

test('invoke() returns only the type and the guidance to a redacted class', async () => {
  const partner = { scope: ['w.use'], subject: 'agent:p', caller_class: 'partner' };
  const issued = await service.issue(ALICE, partner);
  thrown = new NoEffect<typeof OWN>('secret-canary', 'closed_for_the_night', ADVICE);

  const { body } = await service.invoke(issued.token, 'seat');

  assert.deepEqual(body.failure, {
    type: 'closed_for_the_night',
    detail: 'Refused: the manifest describes this failure',
    retry: true,
    resolution: { action: 'wait_and_retry', recovery_class: 'wait_then_retry' },
  });
});

test('the manifest publishes the failures that a capability declares', async () => {
  const { body } = await service.ask('GET', '/svc/manifest');

  assert.deepEqual(body.capabilities.seat.failure_types, [SEAT_TAKEN, NIGHT]);
  assert.equal(body.capabilities.other.failure_types, undefined);
});

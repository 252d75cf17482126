/**
 * Disclosure: how much of a refusal each class is told, on every endpoint that refuses, while the
 * log keeps all of it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { ALICE, PARTNER, type Reply, type TestService } from '../support/world.ts';
import {
  ask,
  DESK,
  onBothStores,
  PLAIN,
  permissionsOf,
  QUIET,
  revoke,
  watched,
} from './support.ts';

const UNKNOWN = `tok_${'0'.repeat(32)}`;

/** More than two hundred characters of detail. */
const LONG = Array.from({ length: 6 }, (_, index) => `travel.${'x'.repeat(60)}${index}`);

type Perform = (service: TestService, token: IssueAnswer) => Promise<Reply>;

/** A refusal of each endpoint that can refuse a token that lives. */
const REFUSALS: Readonly<Record<string, Perform>> = {
  'tokens.issue, in many words': (service, { token, token_id }) =>
    ask(service, token, '/svc/tokens', {
      parent_token: token_id,
      subject: 'agent:x',
      scope: LONG,
    }),
  'tokens.issue, malformed': (service, { token }) =>
    ask(service, token, '/svc/tokens', { scope: 'x' }),
  'tokens.revoke': (service, { token }) => revoke(service, token, UNKNOWN),
  'tokens.get': (service, { token }) => ask(service, token, `/svc/tokens/${UNKNOWN}`),
  permissions: (service, { token }) => ask(service, token, '/svc/permissions', '[1]'),
  'invoke, without scope': (service, { token }) => service.invoke(token, 'erase_traveler'),
  'invoke, unknown': (service, { token }) => service.invoke(token, 'fly_to_the_moon'),
  'invoke, malformed': (service, { token }) =>
    ask(service, token, '/svc/invoke/search_flights', { parameters: 7 }),
  'audit.query': (service, { token }) =>
    service.ask('POST', '/svc/audit?limit=0', { bearer: token }),
  'operator.freeze': (service, { token }) =>
    ask(service, token, '/svc/operator/freeze', { what: 'service', reason: 'x' }),
  'operator.unfreeze': (service, { token }) =>
    ask(service, token, '/svc/operator/unfreeze', { what: 'service', reason: 'x' }),
  'operator.frozen': (service, { token }) => ask(service, token, '/svc/operator/frozen'),
  'operator.indeterminate': (service, { token }) =>
    ask(service, token, '/svc/operator/indeterminate'),
  'operator.reconcile': (service, { token }) =>
    ask(service, token, '/svc/operator/reconcile', {
      invocation_id: 'inv-000000000000',
      outcome: 'executed',
      reason: 'x',
    }),
};

/** And of one that has expired. */
const EXPIRED: Readonly<Record<string, Perform>> = {
  ...REFUSALS,
  permissions: (service, { token }) => permissionsOf(service, token),
};

/** Decisions, section 3: what each class is told unless configured otherwise; `quiet` is ours. */
const LEVELS = {
  internal: 'full',
  automated_agent: 'full',
  partner: 'reduced',
  default: 'reduced',
  quiet: 'redacted',
} as const;

onBothStores((rig) => {
  for (const [name, perform] of Object.entries(REFUSALS)) {
    test(`${name} discloses detail by class, and the guidance to every class`, async () => {
      const refusals = await refusalsOf(rig(), perform, {});
      assertLevels(refusals);
    });
  }

  test('every endpoint discloses the end of a token by class in the same way', async () => {
    const tokens = await tokensOf(rig(), { ttl_hours: 1e-9 });
    rig().advance(2_000);

    for (const perform of Object.values(EXPIRED)) {
      const refusals = new Map<string, Reply['body']['failure']>();
      for (const [callerClass, token] of tokens) {
        const { failure } = (await perform(rig(), token)).body;
        // Each token ends at the second in which it was issued, and a second may pass between two.
        refusals.set(callerClass, {
          ...failure,
          detail: failure.detail.replace(token.expires, ''),
        });
      }
      assert.equal(refusals.get('internal').type, 'token_expired');
      assertLevels(refusals);
    }
  });

  test('an identity gets the disclosure level of its own class', async () => {
    const request = { scope: LONG, caller_class: 'nobody_may' };
    const told = new Map<string, string>();
    for (const bearer of [ALICE, PLAIN, PARTNER, QUIET]) {
      const { body } = await ask(rig(), bearer, '/svc/tokens', request);
      told.set(bearer, body.failure.detail);
    }

    assert.match(String(told.get(ALICE)), /nobody_may/);
    assert.match(String(told.get(PARTNER)), /^Cannot issue scope/);
    assert.ok(String(told.get(PARTNER)).length <= 200);
    assert.equal(
      told.get(QUIET),
      'Refused: the principal is not entitled to what it asks for in a token',
    );
  });

  test('the log records the reason of a refusal, independent of what the caller saw', async () => {
    const tokens = await tokensOf(rig(), {});
    const perform = REFUSALS['tokens.issue, in many words'] as Perform;
    const full = (await perform(rig(), tokens.get('internal') as IssueAnswer)).body.failure;

    for (const [, token] of tokens) {
      const { entries } = await watched(rig().store, () => perform(rig(), token));
      assert.equal(entries[0]?.failure_type, full.type);
      assert.equal(entries[0]?.detail, null);
    }
  });

  test('permissions gives a redacted class no reason and no name, and the same guidance', async () => {
    const tokens = await tokensOf(rig(), {});
    const full = (await permissionsOf(rig(), tokens.get('internal')?.token as string)).body;
    const quiet = (await permissionsOf(rig(), tokens.get('quiet')?.token as string)).body;

    assert.deepEqual(quiet.available.map(capabilityOf), full.available.map(capabilityOf));
    assert.deepEqual(quiet.denied.map(capabilityOf), full.denied.map(capabilityOf));
    for (const [index, told] of quiet.restricted.entries()) {
      const { reason, grantable_by, ...rest } = full.restricted[index];
      assert.equal(grantable_by, 'service:desk');
      assert.match(told.reason, /^Refused: /);
      assert.deepEqual(told, { ...rest, reason: told.reason });
    }
  });
});

type Failures = ReadonlyMap<string, Reply['body']['failure']>;

async function tokensOf(service: TestService, more: object): Promise<Map<string, IssueAnswer>> {
  const tokens = new Map<string, IssueAnswer>();
  for (const caller_class of Object.keys(LEVELS)) {
    const request = { scope: ['travel.search'], subject: 'agent:planner', caller_class, ...more };
    tokens.set(caller_class, await service.issue(DESK, request));
  }
  return tokens;
}

async function refusalsOf(service: TestService, perform: Perform, more: object): Promise<Failures> {
  const refusals = new Map<string, Reply['body']['failure']>();
  for (const [callerClass, token] of await tokensOf(service, more)) {
    const { status, body } = await perform(service, token);
    assert.ok(status >= 400 && status < 500, JSON.stringify(body));
    refusals.set(callerClass, body.failure);
  }
  return refusals;
}

function assertLevels(refusals: Failures): void {
  const full = refusals.get('internal');
  const { action, recovery_class } = full.resolution;
  for (const [callerClass, told] of refusals) {
    assert.deepEqual([told.type, told.retry], [full.type, full.retry]);
    assert.deepEqual(
      [told.resolution.action, told.resolution.recovery_class],
      [action, recovery_class],
    );
    const level = LEVELS[callerClass as keyof typeof LEVELS];
    // The root principal is the caller's own, so a reduced answer names it too.
    if (level === 'full') assert.deepEqual(told, full);
    if (level === 'reduced') {
      assert.deepEqual(told, { ...full, detail: full.detail.slice(0, 200) });
    }
    if (level === 'redacted') {
      assert.deepEqual(told.resolution, { action, recovery_class });
      assert.match(told.detail, /^Refused: /);
      assert.ok(!/travel\.|service:desk|agent:planner|tok_|operator:/.test(JSON.stringify(told)));
    }
  }
}

function capabilityOf({ capability }: { capability: string }): string {
  return capability;
}

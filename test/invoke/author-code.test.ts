/**
 * Author code beside handlers: predicates, previews, resolvers, binding resolvers and authenticate hooks that
 * throw, promise, hang or answer nonsense. Nothing runs, nothing is held, and the process lives.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { beforeEach, test } from 'vitest';
import type { ActorPolicy } from '../../src/domain/invocation/inputs.ts';
import { digestOf } from '../../src/domain/wire/canonical.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { defineCapability, type ExternalBinding } from '../../src/service/author/define.ts';
import { createService, type Resolution } from '../../src/service/author/definition.ts';
import { atEnd } from '../support/ends.ts';
import { HOSTILE_VALUES } from '../support/hostile-values.ts';
import { ONE_TIME } from '../support/scripts.ts';
import { testService } from '../support/world.ts';
import { ALICE, SETTINGS } from './principals.ts';

const GRANT_POLICY = { ...ONE_TIME, expires_in_seconds: 60 };

/** What each piece of author code does when it is asked. */
const code: Record<string, () => unknown> = {};
let ran = 0;
const rejections: unknown[] = [];
const noteRejection = (error: unknown) => void rejections.push(error);

const plain = {
  description: 'Tests author code',
  side_effect: 'write' as const,
  minimum_scope: ['w.use'],
  deadline: '50ms',
  handler: () => {
    ran += 1;
    return {};
  },
};

const definition = createService({
  id: 'author-code',
  resolvers: { places: () => code.resolver?.() as Resolution },
  actorPolicy: () => code.policy?.() as ActorPolicy,
  authenticate: () => code.authenticate?.() as string,
  capabilities: [
    defineCapability({
      ...plain,
      name: 'conditional',
      approval: {
        when: { condition: 'as the predicate says', needed: () => code.condition?.() as boolean },
        grant_policy: GRANT_POLICY,
      },
    }),
    defineCapability({
      ...plain,
      name: 'previewed',
      approval: {
        when: 'always',
        grant_policy: GRANT_POLICY,
        preview: () => code.preview?.() as JsonObject,
      },
    }),
    defineCapability({
      ...plain,
      name: 'resolved',
      inputs: [
        {
          name: 'place',
          type: 'string',
          resolution: { mode: 'backend_resolved', resolver_ref: 'places' },
        },
      ],
    }),
    defineCapability({
      ...plain,
      name: 'ruled',
      inputs: [{ name: 'account', type: 'string', resolution: { mode: 'actor_policy' } }],
    }),
    defineCapability({
      ...plain,
      name: 'bound',
      inputs: [{ name: 'quote', type: 'string' }],
      requires_binding: [{ type: 'quote', field: 'quote', max_age: 'PT1M' }],
      resolveBinding: () => code.binding?.() as ExternalBinding,
    }),
  ],
});

process.on('unhandledRejection', noteRejection);
const service = await testService({ definition, settings: SETTINGS });
await service.app.listen({ port: 0, host: '127.0.0.1' });
const url = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`;
const token = (await service.issue(ALICE, { scope: ['w.use'], subject: 'agent:a' })).token;
atEnd(() => process.off('unhandledRejection', noteRejection));
beforeEach(() => {
  ran = 0;
});

async function invoke(capability: string, parameters: object = {}, bearer = token) {
  const response = await fetch(`${url}/svc/invoke/${capability}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify({ parameters }),
  });
  const body = JSON.parse(await response.text());
  const { entries } = await service.store.queryEntries({
    invocationId: body.invocation_id,
    limit: 10,
  });
  return { body, states: entries.map(({ state }) => state) };
}

/** Everything that is neither an answer nor silence: nonsense, throws, rejections. */
const NONSENSE: readonly { name: string; answer: () => unknown }[] = [
  ...HOSTILE_VALUES.map(({ name, make }) => ({ name, answer: make })),
  ...HOSTILE_VALUES.map(({ name, make }) => ({
    name: `an exception: ${name}`,
    answer: () => {
      throw make();
    },
  })),
  { name: 'a promise', answer: async () => true },
  { name: 'a promise that rejects', answer: () => Promise.reject(new Error('secret-canary')) },
  { name: 'a promise that never ends', answer: () => new Promise(() => undefined) },
];

const ASKED = [
  { what: 'condition', capability: 'conditional', parameters: {} },
  { what: 'preview', capability: 'previewed', parameters: {} },
  { what: 'resolver', capability: 'resolved', parameters: { place: 'lisbon' } },
  { what: 'policy', capability: 'ruled', parameters: {} },
  { what: 'binding', capability: 'bound', parameters: { quote: 'q-1' } },
] as const;

for (const { what, capability, parameters } of ASKED) {
  test(`nothing runs when a ${what} answers nonsense, throws or never answers`, async () => {
    for (const { name, answer } of NONSENSE) {
      code[what] = answer;
      const { body, states } = await invoke(capability, parameters);
      assert.equal(body.success, false, name);
      assert.match(
        body.failure.type,
        /^(?:internal_error|service_unavailable|input_denied|invalid_parameters|binding_invalid|approval_required)$/,
        name,
      );
      assert.deepEqual(states, ['refused'], name);
      assert.equal(JSON.stringify(body).includes('secret-canary'), false, name);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));

    assert.equal(ran, 0);
    assert.deepEqual(rejections, []);
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
  });
}

test('a condition that answers 0 or nothing does not bypass the approval', async () => {
  for (const answer of [0, '', null, undefined]) {
    code.condition = () => answer;
    assert.equal((await invoke('conditional')).body.failure?.type, 'internal_error');
  }
  code.condition = () => false;
  assert.equal((await invoke('conditional')).body.success, true);
});

test('a preview may wait, and the request keeps and digests what it returned', async () => {
  code.preview = async () => ({ customer: 'Ann Moreau' });

  // Of its own, because an equal call of the same chain gets the request that waits.
  const other = await service.issue(ALICE, { scope: ['w.use'], subject: 'agent:other' });

  const { body } = await invoke('previewed', {}, other.token);

  assert.equal(body.failure.type, 'approval_required');
  const id = body.failure.approval_request_id;
  const shown = await service.ask('GET', `/svc/approval_requests/${id}`, { bearer: ALICE });
  assert.deepEqual(shown.body.preview, { customer: 'Ann Moreau' });
  assert.equal(body.failure.preview_digest, digestOf({ customer: 'Ann Moreau' }));
});

test('a preview that does not answer within the deadline refuses the call and says so', async () => {
  code.preview = () => new Promise(() => undefined);

  const { body } = await invoke('previewed');

  assert.equal(body.failure.type, 'service_unavailable');
  assert.equal(
    body.failure.detail,
    'Cannot show "previewed" to an approver: no answer within 50 ms; nothing happened',
  );
});

test('an external binding without a real date does not stay fresh for ever', async () => {
  for (const issued_at of [new Date(Number.NaN), '2030-01-01T00:00:00Z', undefined]) {
    code.binding = () => ({ issued_at });
    assert.equal((await invoke('bound', { quote: 'q-1' })).body.failure?.type, 'internal_error');
  }
  code.binding = async () => ({ issued_at: new Date(), data: { seat: '1A' } });
  assert.equal((await invoke('bound', { quote: 'q-1' })).body.success, true);
});

test('an authenticate hook that answers nonsense or throws admits no caller', async () => {
  const nonsense = NONSENSE.filter(({ name }) => name !== 'a promise that never ends');
  for (const { name, answer } of nonsense) {
    code.authenticate = answer;
    const reply = await fetch(`${url}/svc/tokens`, {
      method: 'POST',
      headers: { authorization: 'Bearer unknown', 'content-type': 'application/json' },
      body: '{"scope":["w.use"]}',
    });
    assert.match(String(reply.status), /^(?:401|500|503)$/, name);
  }
  assert.deepEqual(rejections, []);
});

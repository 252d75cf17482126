/**
 * Resolvers and actor policies that depend on who asks, and what becomes of what they answer.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import type { ActorPolicy } from '../../src/domain/invocation/inputs.ts';
import { digestOf } from '../../src/domain/wire/canonical.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import {
  type AskedInput,
  createService,
  type Resolution,
} from '../../src/service/author/definition.ts';
import { ONE_TIME } from '../support/scripts.ts';
import { testService } from '../support/world.ts';
import { ALICE, SETTINGS } from './principals.ts';

type Answer<Value> = (asked: AskedInput) => Value | Promise<Value>;

const asked: AskedInput[] = [];
const given: JsonObject[] = [];
let resolve: Answer<Resolution>;
let derive: Answer<ActorPolicy | undefined>;

const plain = {
  description: 'Tests who asks',
  side_effect: 'write' as const,
  minimum_scope: ['w.use'],
  deadline: '5s',
  handler: (parameters: JsonObject) => {
    given.push(parameters);
    return {};
  },
};
const chosen = (name: string) =>
  ({
    name,
    type: 'string',
    required: false,
    resolution: { mode: 'app_selected', resolver_ref: 'places' },
  }) as const;

const definition = createService({
  id: 'who-asks',
  resolvers: {
    places: (_value, by) => {
      asked.push(by);
      return resolve(by);
    },
  },
  actorPolicy: (by) => {
    asked.push(by);
    return derive(by);
  },
  capabilities: [
    defineCapability({ ...plain, name: 'go', inputs: [chosen('from'), chosen('to')] }),
    defineCapability({
      ...plain,
      name: 'approved',
      inputs: [chosen('to')],
      approval: {
        when: 'always',
        grant_policy: { ...ONE_TIME, expires_in_seconds: 60 },
        preview: ({ to }) => ({ to: to ?? null }),
      },
    }),
    defineCapability({
      ...plain,
      name: 'ruled',
      inputs: [
        { name: 'account', type: 'string', resolution: { mode: 'actor_policy' } },
        {
          name: 'region',
          type: 'string',
          required: false,
          resolution: {
            mode: 'actor_policy_or_explicit',
            resolver_ref: 'places',
            on_unresolved: 'clarify',
          },
        },
        { name: 'note', type: 'string', required: false, resolution: { mode: 'clarify' } },
      ],
    }),
  ],
});

const service = await testService({ definition, settings: SETTINGS });
const root = await service.issue(ALICE, {
  scope: ['w.use'],
  subject: 'agent:planner',
  session_id: 'session-7',
  purpose_parameters: { task_id: 'trip', team: 'blue' },
});
const child = { parent_token: root.token_id, scope: ['w.use'], subject: 'agent:helper' };
const token = (await service.issue(root.token, child)).token;
beforeEach(() => {
  asked.length = 0;
  given.length = 0;
  resolve = () => ({ value: 'lisbon' });
  derive = () => undefined;
});

const WHO = {
  principal: 'agent:helper',
  root_principal: 'human:alice',
  principals: ['human:alice', 'agent:planner', 'agent:helper'],
  caller_class: 'internal',
  session_id: 'session-7',
  purpose: { task_id: 'trip', team: 'blue' },
};

test('a resolver gets the input it is asked about, and the caller', async () => {
  const { body } = await service.invoke(token, 'go', { to: 'the sea' });

  assert.equal(body.success, true, JSON.stringify(body));
  assert.deepEqual(asked, [{ capability: 'go', input: 'to', ...WHO }]);
  assert.deepEqual(given, [{ to: 'lisbon' }]);
});

test('an actor policy gets the same, and only for inputs that can depend on it', async () => {
  derive = ({ session_id }) => ({ value: `account of ${session_id}` });

  const { body } = await service.invoke(token, 'ruled', { note: 'x' });

  assert.equal(body.success, true, JSON.stringify(body));
  assert.deepEqual(
    asked.toSorted((one, other) => one.input.localeCompare(other.input)),
    ['account', 'region'].map((input) => ({ capability: 'ruled', input, ...WHO })),
  );
  const account = 'account of session-7';
  assert.deepEqual(given, [{ account, region: account, note: 'x' }]);
});

test('the configuration of the operator overrides the policy of the author', async () => {
  const subject = 'agent:tenant-1';
  const tenant = await service.issue(ALICE, { scope: ['w.use'], subject });
  derive = () => ({ value: 'what the author says' });

  await service.invoke(tenant.token, 'ruled');

  assert.deepEqual(given, [{ account: 'acme', region: 'eu' }]);
  assert.deepEqual(asked, []);
});

test('the policy applies to the resolved value', async () => {
  derive = () => ({ value: 'eu', allowed: ['eu', 'us'] });
  const regionOf = async (value: string) => {
    resolve = () => ({ value });
    return (await service.invoke(token, 'ruled', { region: 'us' })).body;
  };

  assert.equal((await regionOf('us')).success, true);
  const { failure } = await regionOf('mars');

  assert.equal(failure.type, 'clarification_required');
  assert.deepEqual(failure.clarify, [{ input: 'region', reason: 'unresolved' }]);
  assert.deepEqual(given, [{ account: 'eu', region: 'us' }]);
});

test('all resolvers of a call are asked at once', async () => {
  // Each answers only after the other was asked; one after the other would end at the deadline.
  resolve = async () => {
    while (asked.length < 2) await new Promise((next) => setImmediate(next));
    return { value: 'lisbon' };
  };

  const { body } = await service.invoke(token, 'go', { from: 'here', to: 'there' });

  assert.equal(body.success, true, JSON.stringify(body));
});

test('a resolver cannot change its arguments', async () => {
  resolve = (by) => {
    (by.purpose as JsonObject).team = 'red';
    return { value: by.purpose.team };
  };
  await service.invoke(token, 'go', { to: 'x' });
  asked.length = 0;

  await service.invoke(token, 'go', { to: 'x' });
  const [again] = asked;

  assert.equal(again?.principals.join(), WHO.principals.join());
  assert.ok(Object.isFrozen(again) && Object.isFrozen(again.principals));
  resolve = ({ purpose }) => ({ value: purpose.team });
  await service.invoke(token, 'go', { to: 'x' });
  assert.deepEqual(given.at(-1), { to: 'blue' });
});

test('the resolved parameters are digested and shown to an approver', async () => {
  const { body } = await service.invoke(token, 'approved', { to: 'the sea' });

  assert.equal(body.failure.type, 'approval_required');
  const digest = digestOf({ to: 'lisbon' });
  assert.equal(body.failure.requested_parameters_digest, digest);
  const kept = await service.store.loadApproval(body.failure.approval_request_id);
  assert.deepEqual([kept?.parameters, kept?.preview], [{ to: 'lisbon' }, { to: 'lisbon' }]);
});

test('a dry run asks the resolvers too, and runs nothing', async () => {
  const { body } = await service.ask('POST', '/svc/test/go', {
    bearer: token,
    body: { parameters: { to: 'the sea' } },
  });

  assert.deepEqual(body.resolved_parameters, { to: 'lisbon' });
  assert.deepEqual(given, []);
});

test('permissions asks no resolver and no policy', async () => {
  const { status } = await service.ask('POST', '/svc/permissions', { bearer: token, body: {} });

  assert.equal(status, 200);
  assert.deepEqual(asked, []);
});

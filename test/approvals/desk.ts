/**
 * A desk where everything needs approval in one way or another, and the people who may give it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { AuditEntry, EntryType } from '../../src/protocol/audit.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService, type ServiceDefinition } from '../../src/service/author/definition.ts';
import { NoEffect } from '../../src/service/author/handler.ts';
import { person as anyone } from '../support/person.ts';
import { createScripts, type Script, type Scripts } from '../support/scripts.ts';
import {
  onEachStore as onStores,
  type Reply,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';

export const ALICE = 'alice-key';
export const ALICE_AGAIN = 'alice-second-key';
export const BOB = 'bob-key';
export const CAROL = 'carol-key';
export const CLERK = 'clerk-key';
export const ROBOT = 'robot-key';
export const AUDITOR = 'auditor-key';
export const OPERATOR = 'operator-key';

const CLASSES = ['partner', 'default', 'automated_agent', 'silent'];
const person = (key: string, principal: string, scopes: string[]) =>
  anyone(key, principal, scopes, { caller_classes: CLASSES });

export const SETTINGS = {
  disclosure: { silent: 'redacted' },
  // Some tests leave many requests open; `open.test.ts` has the bounds.
  max_open_approvals: 10_000,
  max_open_approvals_per_chain: 5_000,
  identities: [
    person(ALICE, 'human:alice', ['a.*', 'approver:*']),
    person(ALICE_AGAIN, 'human:alice', ['approver:*']),
    person(BOB, 'human:bob', ['a.*', 'approver:*']),
    person(CAROL, 'human:carol', ['approver:*']),
    person(CLERK, 'service:clerk', ['a.*', 'approver:sign']),
    person(ROBOT, 'agent:robot', ['a.*', 'approver:*']),
    person(AUDITOR, 'agent:auditor', ['approver:*']),
    person(OPERATOR, 'service:operator', ['operator:*']),
  ],
};

export const POLICY = {
  allowed_grant_types: ['one_time' as const, 'session_bound' as const],
  default_grant_type: 'one_time' as const,
  expires_in_seconds: 900,
  max_uses: 7,
};

export interface World extends Scripts {
  readonly definition: ServiceDefinition;
  /** The parameters of every call of a handler, oldest first. */
  runs(capability: string): JsonObject[];
}

const NOTE = { name: 'note', type: 'string', required: false } as const;
const AMOUNT = { name: 'amount', type: 'number', required: false } as const;
const OPEN = { name: 'data', type: 'object', required: false } as const;

/** `described` begins every description: another one is another declaration of the same version. */
export function createWorld({ version = '1.0.0', described = 'Tests' } = {}): World {
  const scripts = createScripts();
  const plain = (name: string, usual?: Script) => ({
    name,
    description: `${described} ${name}`,
    contract_version: version,
    minimum_scope: ['a.use'],
    side_effect: 'irreversible' as const,
    inputs: [NOTE, AMOUNT, OPEN],
    response_modes: ['unary' as const, 'streaming' as const],
    handler: scripts.handler(name, usual),
  });
  const always = { when: 'always' as const, grant_policy: POLICY };
  const definition = createService({
    id: 'approval-desk',
    capabilities: [
      defineCapability({
        ...plain('sign'),
        approval: { ...always, preview: ({ note }) => ({ action: 'Sign', note: note ?? null }) },
      }),
      defineCapability({
        ...plain('pay'),
        cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 10 } },
        approval: always,
      }),
      defineCapability({
        ...plain('over'),
        approval: { ...always, when: { amount_above: 100, input: 'amount' } },
      }),
      defineCapability({
        ...plain('judge'),
        approval: {
          ...always,
          when: { condition: 'the note is odd', needed: ({ note }) => note === 'odd' },
        },
      }),
      defineCapability({ ...plain('pair'), approval: { ...always, approvals_required: 2 } }),
      defineCapability({ ...plain('apart'), approval: { ...always, separation: 'root' } }),
      defineCapability({ ...plain('auto'), approval: { ...always, approvers: ['agent:auditor'] } }),
      defineCapability({ ...plain('brief'), approval: { ...always, request_lifetime: 'PT1M' } }),
      defineCapability({
        ...plain('raise', (_parameters, context) => {
          context.requireApproval();
          return { done: true };
        }),
        cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 10 } },
        approval: { ...always, when: { condition: 'the handler says so', needed: () => false } },
      }),
      defineCapability({
        ...plain('raise_undeclared', (_parameters, context) => {
          context.requireApproval();
          return {};
        }),
      }),
      defineCapability({
        ...plain('quote', ({ note }, context) => ({
          quote: context.issueBinding({
            type: 'quote',
            capability: typeof note === 'string' ? note : 'book',
            price: { currency: 'USD', amount: 30 },
          }),
        })),
        side_effect: 'read',
      }),
      defineCapability({
        ...plain('book'),
        inputs: [{ name: 'quote', type: 'string' }],
        cost: {
          certainty: 'estimated',
          financial: { currency: 'USD', range_min: 1, range_max: 99 },
        },
        requires_binding: [{ type: 'quote', field: 'quote', max_age: 'PT5M' }],
        approval: always,
      }),
      defineCapability({
        ...plain('book_at_run'),
        inputs: [{ name: 'quote', type: 'string' }],
        cost: {
          certainty: 'estimated',
          financial: { currency: 'USD', range_min: 1, range_max: 99 },
        },
        requires_binding: [{ type: 'quote', field: 'quote', max_age: 'PT5M' }],
        approval: { ...always, binding_age: 'at_run' },
      }),
      defineCapability({ ...plain('plain') }),
      defineCapability({
        ...plain('broken_preview'),
        approval: { ...always, preview: () => ({ big: 'x'.repeat(40_000) }) },
      }),
      defineCapability({
        ...plain('no_effect', () => {
          throw new NoEffect('Cannot do it: closed');
        }),
        approval: always,
      }),
    ],
  });
  return {
    ...scripts,
    definition,
    runs: (name) => scripts.calls(name).map(({ parameters }) => parameters),
  };
}

export interface Desk extends TestService {
  readonly world: World;
  /** A root token of alice, held by an agent, unless the request says otherwise. */
  token(request?: object, key?: string): Promise<IssueAnswer>;
  /** Asks for what needs approval and returns the id of the request. */
  asked(token: IssueAnswer, capability: string, parameters?: object): Promise<string>;
  approve(key: string, id: string, terms?: object): Promise<Reply>;
  deny(key: string, id: string, reason?: string): Promise<Reply>;
  read(key: string, id: string, headers?: Record<string, string>): Promise<Reply>;
  /** The id of a grant for one use, by bob unless somebody else is named. */
  granted(id: string, key?: string, terms?: object): Promise<string>;
  /** The same call with the grant. */
  resume(
    token: IssueAnswer,
    capability: string,
    grant: string,
    parameters?: object,
  ): Promise<Reply>;
  entries(type: EntryType): Promise<AuditEntry[]>;
}

export async function startDesk(
  options: Omit<TestOptions, 'definition'> & { world?: World } = {},
): Promise<Desk> {
  const { world = createWorld(), ...rest } = options;
  const settings = { ...SETTINGS, ...rest.settings };
  const service = await testService({ ...rest, settings, definition: world.definition });
  const { ask } = service;
  const desk: Desk = {
    ...service,
    world,
    token: (request = {}, key = ALICE) =>
      service.issue(key, { scope: ['a.use'], subject: 'agent:a', ...request }),
    async asked(token, capability, parameters = {}) {
      const { status, body } = await service.invoke(token.token, capability, parameters);
      assert.equal(body.failure?.type, 'approval_required', JSON.stringify(body));
      assert.equal(status, 403);
      return body.failure.approval_request_id;
    },
    approve: (bearer, approval_request_id, terms = {}) =>
      ask('POST', '/svc/approval_grants', {
        bearer,
        body: { approval_request_id, grant_type: 'one_time', ...terms },
      }),
    deny: (bearer, id, reason = 'not now') =>
      ask('POST', `/svc/approval_requests/${id}/deny`, { bearer, body: { reason } }),
    read: (bearer, id, headers = {}) =>
      ask('GET', `/svc/approval_requests/${id}`, { bearer, headers }),
    async granted(id, key = BOB, terms = {}) {
      const { status, body } = await desk.approve(key, id, terms);
      assert.equal(status, 200, JSON.stringify(body));
      return body.grant_id;
    },
    resume: (token, capability, approval_grant, parameters = {}) =>
      service.invoke(token.token, capability, parameters, { fields: { approval_grant } }),
    entries: (entryType) => service.entriesBy({ entryType }),
  };
  return desk;
}

/** Runs the tests of `body` on one desk per kind of store. */
export function onEachStore(body: (desk: () => Desk) => void): void {
  onStores(({ url }) => startDesk({ store: url }), body);
}

export function assertRefused({ body, status }: Reply, type: string, why = /./): void {
  assert.equal(body.failure?.type, type, JSON.stringify(body));
  assert.match(body.failure.detail, why);
  assert.ok(status >= 400);
}

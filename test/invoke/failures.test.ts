/**
 * Every failure that can be reached, produced over HTTP and compared with the decided table, which is
 * written here by hand: the code's own table cannot vouch for itself.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { FailureType } from '../../src/protocol/failure.ts';
import { NoEffect } from '../../src/service/author/handler.ts';
import { EXCLUSIVE } from '../support/fixtures.ts';
import type { Reply } from '../support/world.ts';
import { eventually } from '../support/world.ts';
import { ALICE, APPROVER, OPERATOR } from './principals.ts';
import { onEachStore, type Rig } from './rig.ts';

type Guidance = [status: number, retry: boolean, action: string, recovery: string];

const REVALIDATE = [false, 'check_manifest', 'revalidate_then_retry'] as const;
const SAY_MORE = [false, 'provide_input', 'revalidate_then_retry'] as const;
const LOOK_AGAIN = [false, 'revalidate_state', 'revalidate_then_retry'] as const;
const BROADER = [false, 'request_broader_scope', 'redelegation_then_retry'] as const;
const NEW_TOKEN = [false, 'request_new_delegation', 'redelegation_then_retry'] as const;
const REBIND = [false, 'request_capability_binding', 'redelegation_then_retry'] as const;
const WAIT = [true, 'wait_and_retry', 'wait_then_retry'] as const;

type Row = [type: FailureType, expected: Guidance, produce: (rig: Rig) => Promise<Reply>];

const ROWS: Row[] = [
  ['invalid_parameters', [400, ...REVALIDATE], (rig) => use(rig, 'touch', { nope: 1 })],
  [
    'streaming_not_supported',
    [400, ...REVALIDATE],
    async (rig) => rig.invoke(await text(rig), 'touch', {}, { fields: { stream: true } }),
  ],
  ['streaming_required', [400, ...REVALIDATE], (rig) => use(rig, 'watch')],
  [
    'binding_missing',
    [400, false, 'obtain_binding', 'refresh_then_retry'],
    (rig) => use(rig, 'book'),
  ],
  [
    'approval_required',
    [403, false, 'request_approval', 'wait_then_retry'],
    (rig) => use(rig, 'signed_off'),
  ],
  ['approver_not_authorized', [403, ...BROADER], async (rig) => approve(rig, await text(rig))],
  [
    'grant_policy_violation',
    [403, ...REVALIDATE],
    (rig) => approve(rig, APPROVER, { grant_type: 'session_bound' }),
  ],
  ['approval_request_decided', [409, ...LOOK_AGAIN], decided],
  ['approval_request_expired', [409, ...LOOK_AGAIN], lapsed],
  [
    'approval_grant_invalid',
    [403, false, 'request_approval', 'wait_then_retry'],
    async (rig) => {
      const fields = { approval_grant: 'gnt_00000000000000000000000000000000' };
      return rig.invoke((await rig.token()).token, 'touch', {}, { fields });
    },
  ],
  [
    'authentication_required',
    [401, true, 'provide_credentials', 'retry_now'],
    (rig) => rig.ask('POST', '/svc/invoke/touch', { body: { parameters: {} } }),
  ],
  ['invalid_token', [401, ...NEW_TOKEN], (rig) => rig.invoke('a.b.c', 'touch')],
  ['token_expired', [401, ...NEW_TOKEN], expired],
  ['scope_insufficient', [403, ...BROADER], (rig) => use(rig, 'secret')],
  ['scope_escalation', [403, ...BROADER], (rig) => delegate(rig, { scope: ['w.secret'] })],
  [
    'not_entitled',
    [403, ...BROADER],
    (rig) => rig.ask('POST', '/svc/tokens', { bearer: ALICE, body: { scope: ['x.y'] } }),
  ],
  ['purpose_mismatch', [403, ...REBIND], (rig) => use(rig, 'touch', {}, { capability: 'look' })],
  [
    'non_delegable_action',
    [403, false, 'invoke_as_root_principal', 'terminal'],
    (rig) => use(rig, 'root_only'),
  ],
  ['principal_class_not_admitted', [403, ...NEW_TOKEN], (rig) => use(rig, 'human_only')],
  ['delegation_depth_exceeded', [403, ...NEW_TOKEN], tooDeep],
  [
    'budget_exceeded',
    [403, false, 'request_budget_increase', 'redelegation_then_retry'],
    (rig) => use(rig, 'pay', {}, { budget: { currency: 'USD', max_amount: 9.99 } }),
  ],
  [
    'budget_currency_mismatch',
    [403, false, 'obtain_matching_currency', 'redelegation_then_retry'],
    (rig) => use(rig, 'pay', {}, { budget: { currency: 'EUR', max_amount: 99 } }),
  ],
  [
    'budget_not_enforceable',
    [403, false, 'obtain_quote_first', 'refresh_then_retry'],
    (rig) => use(rig, 'guess', {}, { budget: { currency: 'USD', max_amount: 99 } }),
  ],
  [
    'control_requirement_unsatisfied',
    [403, false, 'request_budget_bound_delegation', 'redelegation_then_retry'],
    (rig) => use(rig, 'bounded'),
  ],
  ['control_requirement_unsatisfied', [403, ...REBIND], (rig) => use(rig, 'bound')],
  [
    'binding_invalid',
    [403, false, 'refresh_binding', 'refresh_then_retry'],
    (rig) => use(rig, 'book', { quote: 'made-up' }),
  ],
  [
    'input_denied',
    [403, ...REVALIDATE],
    (rig) => use(rig, 'tenant', { account: 'mine' }, { subject: 'agent:tenant-1' }),
  ],
  ['frozen', [403, ...WAIT], frozen],
  ['unknown_capability', [404, ...REVALIDATE], (rig) => use(rig, 'absent')],
  ['not_found', [404, ...REVALIDATE], (rig) => rig.ask('GET', '/svc/nothing')],
  ['method_not_allowed', [405, ...REVALIDATE], (rig) => rig.ask('GET', '/svc/invoke/touch')],
  ['binding_stale', [409, true, 'refresh_binding', 'refresh_then_retry'], stale],
  ['concurrent_branch_busy', [409, ...WAIT], busy],
  ['idempotency_in_progress', [409, ...WAIT], inProgress],
  ['rollback_window_closed', [409, ...LOOK_AGAIN], tooLate],
  [
    'request_too_large',
    [413, ...REVALIDATE],
    async (rig) => rig.invoke(await text(rig), 'touch', { note: 'x'.repeat(256 * 1024) }),
  ],
  ['unsupported_media_type', [415, ...REVALIDATE], otherMedia],
  ['clarification_required', [422, ...SAY_MORE], (rig) => use(rig, 'ask')],
  ['idempotency_mismatch', [422, ...LOOK_AGAIN], mismatch],
  ['composition_child_failed', [422, ...LOOK_AGAIN], childFailed],
  ['composition_empty_result', [422, ...LOOK_AGAIN], nothingFound],
  ['internal_error', [500, ...LOOK_AGAIN], broken],
  ['service_unavailable', [503, ...WAIT], stuck],
  ['outcome_unknown', [503, ...LOOK_AGAIN], tooSlow],
];

/** The caller is not known, or the call was not read: there is no entry. */
const ANONYMOUS: FailureType[] = [
  'authentication_required',
  'invalid_token',
  'method_not_allowed',
  'request_too_large',
  'unsupported_media_type',
];

/** They need settings or accounts of their own: rates.test.ts, test/accounts/accounts.test.ts. */
const ELSEWHERE: FailureType[] = ['rate_limited', 'account_required'];

test('every failure type is in the table or is shown elsewhere', () => {
  const known = new Set<string>([...ROWS.map(([type]) => type), ...ELSEWHERE]);

  assert.deepEqual([...known].sort(), [...FailureType.options].sort());
});

onEachStore((rig) => {
  for (const [type, [status, retry, action, recovery_class], produce] of ROWS) {
    test(`the service answers ${type} with ${action} as decided`, async () => {
      const reply = await produce(rig());

      assert.equal(reply.body.failure?.type, type, JSON.stringify(reply.body));
      assert.equal(reply.status, status);
      assert.equal(reply.body.success, false);
      assert.equal(reply.body.failure.retry, retry);
      assert.equal(reply.body.failure.resolution.action, action);
      assert.equal(reply.body.failure.resolution.recovery_class, recovery_class);
      assert.equal(typeof reply.body.failure.detail, 'string');
      // What must not simply be tried again must not be told when to be tried again.
      const waits = status === 503 || status === 429;
      assert.equal('retry-after' in reply.headers, waits && retry);

      const { invocation_id: id, audit } = reply.body;
      const told = id ? await rig().entries(id) : [];
      const entries = told.filter(({ entry_type }) => entry_type === 'invocation');
      assert.deepEqual(
        entries.map(({ entry_id }) => entry_id),
        audit ? [audit.entry_id] : [],
      );
      assert.equal(audit !== undefined, id !== undefined && !ANONYMOUS.includes(type));
    });
  }
});

async function text(rig: Rig, request: object = {}): Promise<string> {
  return (await rig.token(request)).token;
}

async function use(rig: Rig, capability: string, parameters = {}, request: object = {}) {
  return rig.invoke(await text(rig, request), capability, parameters);
}

/** Decides on a request of its own. */
async function approve(rig: Rig, bearer: string, terms = {}): Promise<Reply> {
  const { body } = await use(rig, 'signed_off');
  const { approval_request_id } = body.failure;
  return rig.ask('POST', '/svc/approval_grants', {
    bearer,
    body: { approval_request_id, grant_type: 'one_time', ...terms },
  });
}

async function decided(rig: Rig): Promise<Reply> {
  const { body } = await approve(rig, APPROVER);
  const again = { approval_request_id: body.approval_request_id, grant_type: 'one_time' };
  return rig.ask('POST', '/svc/approval_grants', { bearer: APPROVER, body: again });
}

async function lapsed(rig: Rig): Promise<Reply> {
  const { body } = await use(rig, 'signed_off', {}, { subject: 'agent:late' });
  const { approval_request_id } = body.failure;
  rig.advance(86_400_000);
  const reply = await rig.ask('POST', '/svc/approval_grants', {
    bearer: APPROVER,
    body: { approval_request_id, grant_type: 'one_time' },
  });
  rig.advance(-86_400_000);
  return reply;
}

async function expired(rig: Rig): Promise<Reply> {
  const token = await text(rig, { ttl_hours: 1 });
  rig.advance(3_600_000);
  const reply = await rig.invoke(token, 'touch');
  rig.advance(-3_600_000);
  return reply;
}

async function delegate(rig: Rig, request: object): Promise<Reply> {
  const { token, token_id } = await rig.token();
  const body = { scope: ['w.use'], subject: 'agent:b', parent_token: token_id, ...request };
  return rig.ask('POST', '/svc/tokens', { bearer: token, body });
}

async function tooDeep(rig: Rig): Promise<Reply> {
  const token = await rig.child(await rig.child(await rig.token()));
  return rig.invoke(token.token, 'shallow');
}

async function frozen(rig: Rig): Promise<Reply> {
  const body = { what: 'capability', target: 'hurry', reason: 'a drill' };
  await rig.ask('POST', '/svc/operator/freeze', { bearer: OPERATOR, body });
  const reply = await use(rig, 'hurry');
  await rig.ask('POST', '/svc/operator/unfreeze', { bearer: OPERATOR, body });
  return reply;
}

async function stale(rig: Rig): Promise<Reply> {
  const token = await text(rig);
  const { body } = await rig.invoke(token, 'quote', { price: 5 });
  rig.advance(15 * 60_000 + 1_000);
  const reply = await rig.invoke(token, 'book', { quote: body.result.quote });
  rig.advance(-15 * 60_000 - 1_000);
  return reply;
}

/** Asks again while the first call is in its handler. */
async function meanwhile(rig: Rig, call: () => Promise<Reply>): Promise<Reply> {
  let finish: (() => void) | undefined;
  const before = rig.world.ran('touch');
  rig.world.script('touch', async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return {};
  });
  const first = call();
  await eventually(() => rig.world.ran('touch') > before);
  const reply = await call();
  finish?.();
  assert.equal((await first).status, 200);
  rig.world.script('touch');
  return reply;
}

async function busy(rig: Rig): Promise<Reply> {
  const token = await text(rig, EXCLUSIVE);
  return meanwhile(rig, () => rig.invoke(token, 'touch'));
}

async function inProgress(rig: Rig): Promise<Reply> {
  const token = await text(rig);
  const headers = { 'idempotency-key': 'table-running' };
  return meanwhile(rig, () => rig.invoke(token, 'touch', {}, { headers }));
}

async function mismatch(rig: Rig): Promise<Reply> {
  const token = await text(rig);
  const headers = { 'idempotency-key': 'table-used' };
  await rig.invoke(token, 'touch', { note: 'one' }, { headers });
  return rig.invoke(token, 'touch', { note: 'two' }, { headers });
}

async function otherMedia(rig: Rig): Promise<Reply> {
  const headers = { 'content-type': 'text/plain' };
  return rig.invoke(await text(rig), 'touch', {}, { headers });
}

async function childFailed(rig: Rig): Promise<Reply> {
  rig.world.script('touch', () => {
    throw new NoEffect('Cannot touch: it is hot');
  });
  const reply = await use(rig, 'both');
  rig.world.script('touch');
  return reply;
}

async function nothingFound(rig: Rig): Promise<Reply> {
  rig.world.script('look', () => ({}));
  const reply = await use(rig, 'both');
  rig.world.script('look');
  return reply;
}

async function tooLate(rig: Rig): Promise<Reply> {
  const token = await text(rig);
  rig.world.script('reserve', () => ({ id: 'R-1' }));
  await rig.invoke(token, 'reserve');
  rig.advance(3_600_000 + 1_000);
  const reply = await rig.invoke(token, 'unreserve', { id: 'R-1' });
  rig.advance(-3_600_000 - 1_000);
  return reply;
}

async function broken(rig: Rig): Promise<Reply> {
  rig.world.script('touch', () => {
    throw new Error('a secret of the inside');
  });
  const reply = await use(rig, 'touch');
  rig.world.script('touch');
  return reply;
}

/** A resolver that does not answer: nothing ran, and the call may be sent again. */
async function stuck(rig: Rig): Promise<Reply> {
  rig.world.resolve('places', () => new Promise(() => undefined));
  return use(rig, 'travel', { place: 'lisbon' });
}

async function tooSlow(rig: Rig): Promise<Reply> {
  let finish: (() => void) | undefined;
  rig.world.script('hurry', async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return {};
  });
  const reply = await use(rig, 'hurry');
  finish?.();
  rig.world.script('hurry');
  return reply;
}

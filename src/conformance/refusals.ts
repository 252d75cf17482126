/**
 * Refusals: every failure type that a caller of the desk can cause, each with the guidance of its row.
 *
 * The two tables together name every type: a new one does not compile without a scenario, or a reason for
 * none.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { CONTROL_ACTION, GUIDANCE, RECOVERY } from '../domain/failure.ts';
import type { Failure, FailureType } from '../protocol/failure.ts';
import {
  AGENT_KEY,
  APPROVER_KEY,
  askedJet,
  type Desk,
  HUMAN_KEY,
  type InvokeFields,
  JET,
  OPERATOR_KEY,
  type Scenarios,
  wholeOf,
} from './desk.ts';

type Story = (desk: Desk) => Promise<Failure>;

/** Failure types that no caller of the desk can cause, with the reason. */
const UNTOLD_REFUSALS = {
  streaming_required: 'every capability of the desk also answers in one piece',
  method_not_allowed: 'only HTTP has methods',
  principal_class_not_admitted:
    'the desk keeps for humans only what it keeps for the root principal',
  binding_stale: 'a quote lives a quarter of an hour',
  approval_request_expired: 'a request lives a day',
  request_too_large: 'a transport says it in its own words',
  unsupported_media_type: 'only HTTP has media types',
  composition_child_failed: 'the desk has no step that fails on demand',
  composition_empty_result: 'an empty search is a success of plan_trip',
  rollback_window_closed: 'a hold can be undone for a day',
  rate_limited: 'the desk has no limit',
  account_required: 'the desk uses no account of a person',
  internal_error: 'it takes a defect',
  service_unavailable: 'it takes a store that is away',
  outcome_unknown: 'it takes a handler that never ends',
} as const satisfies Partial<Record<FailureType, string>>;

/** The refusal of a call with an agent's token from the human. */
function call(
  scope: string,
  capability: string,
  { token: wanted = {}, ...fields }: InvokeFields & { token?: object } = {},
): Story {
  return async (desk) => {
    const { token } = await desk.rootToken([scope], wanted);
    return desk.refused(token, capability, fields);
  };
}

/** Two concurrent calls, of which one is refused. */
function atOnce(token: object, fields: InvokeFields): Story {
  return async (desk) => {
    const { token: bearer } = await desk.rootToken(['travel.read'], token);
    const report = { capability: 'export_report', parameters: { months: 10 }, ...fields };
    const answers = await Promise.all([1, 2].map(() => desk.surface.ask('invoke', report, bearer)));
    const failed = answers.map(({ body }) => body.failure).filter((found) => found !== undefined);
    assert.equal(failed.length, 1);
    return failed[0] as Failure;
  };
}

const dollars = (max_amount: number) => ({ budget: { currency: 'USD', max_amount } });

const STORIES: Readonly<Record<Exclude<FailureType, keyof typeof UNTOLD_REFUSALS>, Story>> = {
  invalid_parameters: call('travel.extras', 'buy_lounge_pass', { parameters: { colour: 'red' } }),
  // A tool itself chooses whether to stream, so it cannot cause this.
  streaming_not_supported: (desk) =>
    call('travel.extras', 'buy_lounge_pass', { stream: true })(wholeOf(desk)),
  binding_missing: call('travel.book', 'book_flight', { parameters: { passenger: 'Ann Lee' } }),
  authentication_required: (desk) =>
    desk.refusal('tokens.issue', { scope: ['travel.search'] }, 'no-such-key'),
  invalid_token: (desk) => desk.refusal('permissions', {}, 'not.a.token'),
  token_expired: expiredToken,
  scope_insufficient: call('travel.search', 'find_traveler'),
  scope_escalation: (desk) => widened(desk, { scope: ['travel.admin'] }),
  not_entitled: (desk) => desk.refusal('tokens.issue', { scope: ['travel.book'] }, AGENT_KEY),
  approver_not_authorized: async (desk) => {
    const { token, id } = await askedJet(desk);
    const decision = { approval_request_id: id, grant_type: 'one_time' } as const;
    return desk.refusal('approval_grants.issue', decision, token);
  },
  purpose_mismatch: call('travel.extras', 'buy_lounge_pass', {
    token: { purpose_parameters: { task_id: 'one' } },
    task_id: 'another',
  }),
  non_delegable_action: call('travel.admin', 'erase_traveler', {
    parameters: { traveler_id: 'TR-1' },
  }),
  delegation_depth_exceeded: (desk) => widened(desk, {}, { max_delegation_depth: 0 }),
  budget_exceeded: call('travel.extras', 'buy_lounge_pass', { token: dollars(24.99) }),
  budget_currency_mismatch: call('travel.extras', 'buy_lounge_pass', {
    token: { budget: { currency: 'EUR', max_amount: 100 } },
  }),
  budget_not_enforceable: call('travel.extras', 'request_taxi', {
    token: dollars(100),
    parameters: { pickup: 'Pier 39' },
  }),
  control_requirement_unsatisfied: call('travel.charter', 'charter_jet', { parameters: JET }),
  binding_invalid: call('travel.book', 'book_flight', {
    parameters: { quote: 'made up', passenger: 'Ann Lee' },
  }),
  approval_required: call('travel.charter', 'charter_jet', {
    token: dollars(20_000),
    parameters: JET,
  }),
  approval_grant_invalid: call('travel.charter', 'charter_jet', {
    token: dollars(20_000),
    parameters: JET,
    approval_grant: 'gnt_0123456789abcdef0123456789abcdef',
  }),
  grant_policy_violation: async (desk) => {
    const { id } = await askedJet(desk);
    const decision = { approval_request_id: id, grant_type: 'one_time', max_uses: 2 } as const;
    return desk.refusal('approval_grants.issue', decision, APPROVER_KEY);
  },
  input_denied: call('travel.read', 'get_booking', { parameters: { booking_id: 'BK-0' } }),
  frozen: frozenSeat,
  unknown_capability: call('travel.search', 'fly_to_moon'),
  not_found: (desk) =>
    desk.refusal('approval_requests.get', { approval_request_id: 'apr_none' }, APPROVER_KEY),
  concurrent_branch_busy: atOnce({ concurrent_branches: 'exclusive' }, {}),
  idempotency_in_progress: atOnce({}, { idempotency_key: 'at-once' }),
  approval_request_decided: async (desk) => {
    const { id } = await askedJet(desk);
    const denial = { approval_request_id: id, reason: 'no' };
    await desk.answer('approval_requests.deny', denial, APPROVER_KEY);
    return desk.refusal('approval_requests.deny', denial, APPROVER_KEY);
  },
  clarification_required: call('travel.read', 'find_traveler', {
    parameters: { traveler: 'alex' },
  }),
  idempotency_mismatch: async (desk) => {
    const { token } = await desk.rootToken(['travel.extras']);
    const idempotency_key = 'one-key';
    const pass = { capability: 'buy_lounge_pass', parameters: {}, idempotency_key };
    await desk.answer('invoke', pass, token);
    const other = { parameters: { airport: 'JFK' }, idempotency_key };
    return desk.refused(token, 'buy_lounge_pass', other);
  },
};

export const REFUSAL_SCENARIOS: Scenarios = Object.fromEntries(
  Object.entries(STORIES).map(([type, story]) => [
    `${type} says what to do next`,
    async (desk: Desk) => assertGuides(await story(desk), type as FailureType),
  ]),
);

function assertGuides({ type, detail, retry, resolution }: Failure, expected: FailureType): void {
  assert.equal(type, expected, detail);
  const { retry: again, action } = GUIDANCE[expected];
  const advised =
    expected === 'control_requirement_unsatisfied' ? CONTROL_ACTION.cost_ceiling : action;
  assert.equal(retry, again);
  assert.equal(resolution.action, advised);
  assert.equal(resolution.recovery_class, RECOVERY[advised]);
}

/** A child that asks for more than the token above it may give. */
async function widened(desk: Desk, fields: object, above: object = {}): Promise<Failure> {
  const parent = await desk.rootToken(['travel.search'], above);
  const child = { subject: 'agent:x', parent_token: parent.token_id, scope: ['travel.search'] };
  return desk.refusal('tokens.issue', { ...child, ...fields }, parent.token);
}

/** In hours: a second, which is the shortest that a token can say. */
const SHORT_TTL = 1 / 3_600;

/** Repeats until the token is refused; the runner's timeout ends a service that never refuses. */
async function expiredToken(desk: Desk): Promise<Failure> {
  const request = { scope: ['travel.search'], ttl_hours: SHORT_TTL };
  const { token } = await desk.answer('tokens.issue', request, HUMAN_KEY);
  for (;;) {
    const { body } = await desk.surface.ask('permissions', {}, token);
    if (body.failure) return body.failure as Failure;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function frozenSeat(desk: Desk): Promise<Failure> {
  const { token } = await desk.rootToken(['travel.hold']);
  const seat = { what: 'capability', target: 'release_seat', reason: 'a story' } as const;
  await desk.answer('operator.freeze', seat, OPERATOR_KEY);
  try {
    return await desk.refused(token, 'release_seat', { parameters: { hold_id: 'HD-0' } });
  } finally {
    await desk.answer('operator.unfreeze', seat, OPERATOR_KEY);
  }
}

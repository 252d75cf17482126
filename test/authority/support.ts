/**
 * What the tests of authority share: identities of every kind, a service on each store, and the
 * entries and rows that one call leaves behind.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { DEMO_IDENTITIES } from '../../examples/travel/service.ts';
import { entryView } from '../../src/domain/log/entry.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import type { FailureType } from '../../src/protocol/failure.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { person } from '../support/person.ts';
import { SQL_PLACES, type SqlPlace } from '../support/sql-places.ts';
import {
  onEachStore,
  type Reply,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';

export const ALICE_PRINCIPAL = 'human:alice@example.com';

/** A service that is itself a root, so that an agent below it may name it as a subject. */
export const DESK = 'test-desk-key';
export const FREEZER = 'test-freezer-key';
export const REVOKER = 'test-revoker-key';
export const READER = 'test-reader-key';
export const NO_INSTANCE = 'test-nobody-key';
/** Told nothing but what a program acts on. */
export const QUIET = 'test-quiet-key';
/** Told little. */
export const PLAIN = 'test-plain-key';

const CLASSES = ['automated_agent', 'partner', 'default', 'quiet'];

export const IDENTITIES = [
  ...DEMO_IDENTITIES,
  person(DESK, 'service:desk', ['travel.*', 'approver:*'], { caller_classes: CLASSES }),
  { key: FREEZER, principal: 'service:freezer', scopes: ['operator:freeze'] },
  { key: REVOKER, principal: 'service:revoker', scopes: ['operator:revoke'] },
  { key: READER, principal: 'service:reader', scopes: ['operator:read'] },
  { key: NO_INSTANCE, principal: 'agent:nobody' },
  person(QUIET, 'human:quiet@example.com', ['travel.*'], {
    subjects: ['agent:*'],
    caller_class: 'quiet',
  }),
  person(PLAIN, 'human:plain@example.com', ['travel.*'], {
    subjects: ['agent:*'],
    caller_class: 'default',
  }),
];

export const SETTINGS = { identities: IDENTITIES, disclosure: { quiet: 'redacted' } };

/** Every credential above: none of them may be found where it does not belong. */
export const SECRETS = IDENTITIES.map(({ key }) => key);

/** A service whose stored rows a test can count and change. */
export interface Inspected extends TestService {
  readonly place: SqlPlace;
}

/** Runs the same tests on each store, with one service for all of them. */
export function onBothStores(
  define: (rig: () => TestService) => void,
  options: TestOptions = {},
): void {
  onEachStore(({ url }) => testService({ settings: SETTINGS, ...options, store: url }), define);
}

/** The same on stores that can be looked into from outside. */
export function onInspectedStores(
  define: (rig: () => Inspected) => void,
  options: TestOptions = {},
): void {
  onEachStore(
    async (place: SqlPlace): Promise<Inspected> => ({
      ...(await testService({ settings: SETTINGS, ...options, store: place.url })),
      place,
    }),
    define,
    SQL_PLACES,
  );
}

/** How many rows authority is made of. */
export async function rowCounts({ place }: Inspected) {
  return { tokens: await place.count('tokens'), budgets: await place.count('budgets') };
}

/** What an act answered, and the entries it left, oldest first. */
export async function watched<Result>(
  store: Store,
  act: () => Promise<Result>,
): Promise<{ result: Result; entries: AuditEntry[] }> {
  const { size } = await store.sequence();
  const result = await act();
  await store.sequence();
  const stored = await store.scanEntries(size, 1_000);
  return { result, entries: stored.map(entryView) };
}

export function ask(
  { ask: send }: TestService,
  bearer: string | undefined,
  path: string,
  body?: unknown,
): Promise<Reply> {
  return send(body === undefined ? 'GET' : 'POST', path, { bearer, body });
}

export function askToken(service: TestService, bearer: string, body: unknown): Promise<Reply> {
  return ask(service, bearer, '/svc/tokens', body);
}

export function permissionsOf(service: TestService, token: string): Promise<Reply> {
  return ask(service, token, '/svc/permissions', {});
}

export function revoke(service: TestService, bearer: string, token_id: string): Promise<Reply> {
  return ask(service, bearer, '/svc/tokens/revoke', { token_id });
}

export function view(service: TestService, bearer: string, token_id: string): Promise<Reply> {
  return ask(service, bearer, `/svc/tokens/${token_id}`);
}

/** Decisions, section 3: status, retry, action and recovery class of each failure met here. */
const GUIDANCE = {
  invalid_parameters: [400, false, 'check_manifest', 'revalidate_then_retry'],
  authentication_required: [401, true, 'provide_credentials', 'retry_now'],
  invalid_token: [401, false, 'request_new_delegation', 'redelegation_then_retry'],
  token_expired: [401, false, 'request_new_delegation', 'redelegation_then_retry'],
  scope_insufficient: [403, false, 'request_broader_scope', 'redelegation_then_retry'],
  scope_escalation: [403, false, 'request_broader_scope', 'redelegation_then_retry'],
  not_entitled: [403, false, 'request_broader_scope', 'redelegation_then_retry'],
  purpose_mismatch: [403, false, 'request_capability_binding', 'redelegation_then_retry'],
  non_delegable_action: [403, false, 'invoke_as_root_principal', 'terminal'],
  delegation_depth_exceeded: [403, false, 'request_new_delegation', 'redelegation_then_retry'],
  budget_exceeded: [403, false, 'request_budget_increase', 'redelegation_then_retry'],
  budget_currency_mismatch: [403, false, 'obtain_matching_currency', 'redelegation_then_retry'],
  frozen: [403, true, 'wait_and_retry', 'wait_then_retry'],
  unknown_capability: [404, false, 'check_manifest', 'revalidate_then_retry'],
  not_found: [404, false, 'check_manifest', 'revalidate_then_retry'],
} as const satisfies Partial<Record<FailureType, readonly unknown[]>>;

export type Refused = keyof typeof GUIDANCE;

/** Holds an answer to what the table says of a refusal of this type. */
export function assertRefused({ status, body }: Reply, type: Refused): void {
  assert.equal(body.failure?.type, type, JSON.stringify(body));
  const { retry, resolution } = body.failure;
  assert.deepEqual(
    [status, retry, resolution.action, resolution.recovery_class],
    [...GUIDANCE[type]],
  );
  assert.equal(body.success, false);
  assert.ok(body.failure.detail.length > 0);
}

/** An answer without the id that was asked for: what is left must not tell whether it exists. */
export function blurred({ status, body }: Reply, tokenId: string): unknown {
  return [status, JSON.stringify(body).replaceAll(tokenId, 'tok_…')];
}

/** The one entry of a refused act. */
export function assertRefusalEntry(
  entries: readonly AuditEntry[],
  said: Partial<AuditEntry>,
): void {
  assert.equal(entries.length, 1, JSON.stringify(entries));
  const [entry] = entries as [AuditEntry];
  const expected = {
    state: 'refused',
    success: false,
    event_class: 'high_risk_failure',
    ...said,
  } as const;
  const told = Object.fromEntries(
    Object.keys(expected).map((key) => [key, entry[key as keyof AuditEntry]]),
  );
  assert.deepEqual(told, expected);
}

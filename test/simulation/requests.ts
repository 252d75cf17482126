/**
 * What clients of a simulation send: the request of each act, from what earlier acts made.
 *
 * @module
 */

import type { OperationName } from '../../src/protocol/operations.ts';
import type { Ask } from '../../src/service/operations/operations.ts';
import type { Act, Approver, Freeze, Invoke, Root, TokenTerms, Use } from './acts.ts';
import { CURRENCY } from './catalog.ts';

export const ROOTS: Readonly<Record<Root, string>> = { alice: 'human:alice', ann: 'human:ann' };

/** The credentials of people; also their keys in the configuration. */
export const keyOf = (name: Root | Approver | 'operator') =>
  name === 'carol' ? CAROL_KEY : `simulated-${name}-key`;

/** The store has her identity, so her key has the form of such keys. */
const CAROL_KEY = `wk_${'c'.repeat(43)}`;

/** What an act made, for the acts that name it. */
export interface Made {
  readonly token?: { readonly id: string; readonly jwt: string };
  /** The request for approval that the call asked. */
  readonly asked?: string | undefined;
  readonly grant?: string | undefined;
  readonly quote?: string | undefined;
  /** What was sent, so that it can be sent again. */
  readonly sent?: Sent | undefined;
}

export interface Sent {
  readonly input: Readonly<Record<string, unknown>>;
  readonly token: NonNullable<Made['token']>;
}

export interface Question {
  readonly operation: OperationName;
  readonly client: string;
  readonly bearer: string;
  readonly token?: string | undefined;
  readonly input: Readonly<Record<string, unknown>>;
}

export function eventOf({ operation, client, token, input }: Question) {
  return { operation, client, token, request: input };
}

export function asking({ bearer, input }: Question): Ask {
  return { bearer: () => bearer, input: () => structuredClone(input) };
}

export function termsInput({ subject, budget, isExclusive, ttlHours, session }: TokenTerms) {
  return {
    scope: ['s.use'],
    subject,
    ...(budget !== undefined && { budget: { currency: CURRENCY, max_amount: budget } }),
    ...(isExclusive && { concurrent_branches: 'exclusive' }),
    ...(ttlHours !== undefined && { ttl_hours: ttlHours }),
    ...(session !== undefined && { session_id: session }),
  };
}

export function sentBy(act: Act & Invoke, made: ReadonlyMap<number, Made>): Sent | undefined {
  const token = made.get(act.token)?.token;
  if (!token) return undefined;
  const quote = act.quote === undefined ? undefined : made.get(act.quote)?.quote;
  if (act.capability === 'book' && quote === undefined) return undefined;
  const { capability, item, key, place } = act;
  const input = {
    capability,
    client_reference_id: `act-${place}`,
    parameters: { item, ...(key !== undefined && { key }), ...(quote !== undefined && { quote }) },
    ...(key !== undefined && { idempotency_key: key }),
  };
  return { token, input };
}

export function usedBy(act: Act & Use, made: ReadonlyMap<number, Made>): Sent | undefined {
  const approval = made.get(act.approval);
  if (!approval?.sent) return undefined;
  if (act.by === 'grant' && approval.grant === undefined) return undefined;
  const token = act.token === undefined ? approval.sent.token : made.get(act.token)?.token;
  if (!token) return undefined;
  const { idempotency_key: _, ...asked } = approval.sent.input;
  const input = {
    ...asked,
    client_reference_id: `act-${act.place}`,
    ...(act.key !== undefined && { idempotency_key: act.key }),
    ...(act.by === 'grant' ? { approval_grant: approval.grant } : { continue_approved: true }),
  };
  return { token, input };
}

function freezeInput({ kind, what, root, capability, isNarrow, lastsMs }: Freeze, now: number) {
  const isCapability = what === 'capability';
  return {
    what,
    target: isCapability ? capability : ROOTS[root],
    ...(isCapability && isNarrow && { root_principal: ROOTS[root] }),
    reason: 'to be safe',
    ...(kind === 'freeze' && lastsMs > 0 && { until: new Date(now + lastsMs).toISOString() }),
  };
}

/** The question of an act that needs nothing but its own facts. */
export function plainQuestion(
  act: Act,
  tokenOf: (place: number) => Made['token'],
  now: number,
): Question | undefined {
  const operator = { client: 'operator', bearer: keyOf('operator') };
  switch (act.kind) {
    case 'revoke': {
      const token = tokenOf(act.token);
      return token && revocationOf(token);
    }
    case 'freeze':
    case 'unfreeze':
      return { operation: `operator.${act.kind}`, ...operator, input: freezeInput(act, now) };
    case 'audit':
    case 'permissions': {
      const token = tokenOf(act.token);
      const by = token && { client: 'agent', bearer: token.jwt, token: token.id };
      const operation = act.kind === 'audit' ? 'audit.query' : 'permissions';
      return by && { operation, ...by, input: {} };
    }
    case 'seal':
      return { operation: 'operator.checkpoints', ...operator, input: {} };
    default:
      return undefined;
  }
}

/** The holder of a token revokes it. */
export function revocationOf({ id, jwt }: NonNullable<Made['token']>): Question {
  const by = { client: 'agent', bearer: jwt, token: id };
  return { operation: 'tokens.revoke', ...by, input: { token_id: id } };
}

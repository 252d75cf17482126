/**
 * Recovery: does what a failure advises, within bounds that the caller sets.
 *
 * Waits where waiting helps, waits for a person's approval and continues with the grant, fetches fresh
 * bindings and a wider token where the caller provides a way, and stops at every other failure. One call keeps
 * one idempotency key, or the keys derived from it where nothing happened under
 * one (`key.ts`), so that it has at most one effect.
 *
 * @module
 */

import { isOfProtocol } from '../domain/failure.ts';
import { parseDuration } from '../domain/values/duration.ts';
import { parseMoment } from '../domain/values/moment.ts';
import { WAIT_SECONDS_MAX } from '../protocol/approval.ts';
import type { Failure, RecoveryClass } from '../protocol/failure.ts';
import type { InputOf } from '../protocol/operations.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { Client } from './interface.ts';
import { isSpent, keyAfter } from './key.ts';
import { backoffMs } from './pace.ts';
import type { Refused, Reply } from './reply.ts';
import type { AnyCapabilities, Call, Invoked, NameIn, ParametersIn, ResultIn } from './typed.ts';

const ATTEMPTS_MAX = 5;
const WAIT_MAX_MS = 60_000;

/** Milliseconds added to the timeout of a wait, so that its answer can arrive. */
const WAIT_MARGIN_MS = 2_000;

/**
 * What `withRecovery()` may do, and how to get what a failure asks for.
 *
 * @example
 * import type { RecoveryOptions } from 'writ/client';
 *
 * const tokens = ['first-token', 'wider-token'];
 * const options: RecoveryOptions = {
 *   attemptsMax: 3,
 *   waitMaxMs: 10 * 60_000,
 *   redelegate: async () => tokens.pop(),
 * };
 */
export interface RecoveryOptions<
  Source = AnyCapabilities,
  Name extends NameIn<Source> = NameIn<Source>,
> {
  /** How often the capability is invoked at most. */
  readonly attemptsMax?: number | undefined;
  /** Milliseconds spent waiting at most, in all; a person's approval included. */
  readonly waitMaxMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How to get a fresh value for the parameter that carries a binding, by its name. */
  readonly bindings?:
    | { readonly [Field in keyof ParametersIn<Source, Name> & string]?: Renew<Source> }
    | undefined;
  /** How to get a token that is wide enough, or live. */
  readonly redelegate?: Renew<Source> | undefined;
}

/**
 * Gets a fresh binding or another token. Nothing when there is no better one.
 *
 * @example
 * import type { Renew } from 'writ/client';
 *
 * const freshQuote: Renew = async (client) => {
 *   const reply = await client.invoke({ capability: 'quote', parameters: { part: 'brakes' } });
 *   return reply.ok ? String(reply.answer.result.quote) : undefined;
 * };
 */
export type Renew<Source = AnyCapabilities> = (
  client: Client<Source>,
  failure: Failure,
) => Promise<string | undefined>;

/**
 * Why `withRecovery()` stopped. `caller`: the advised step needs something that the options do not provide.
 *
 * @example
 * import type { Stop } from 'writ/client';
 *
 * const ADVICE: Record<Stop, string> = {
 *   terminal: 'This agent cannot do it',
 *   attempts: 'Try again later',
 *   time: 'Try again later',
 *   denied: 'A person refused',
 *   caller: 'Read the failure',
 * };
 */
export type Stop = 'terminal' | 'attempts' | 'time' | 'denied' | 'caller';

/**
 * How a call ended, and every failure before that.
 *
 * @example
 * import { createService } from 'writ';
 * import { type Recovered, withRecovery } from 'writ/client';
 * import { testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const { client } = desk.human('ann');
 * const ended: Recovered = await withRecovery(client, { capability: 'refund', parameters: {} });
 * console.log(ended.stopped, ended.failures.map(({ type }) => type));
 * await desk.close();
 */
export interface Recovered<Result = JsonObject> {
  readonly reply: Reply<Invoked<Result>>;
  /** Why nothing more was tried; absent after a success. */
  readonly stopped?: Stop | undefined;
  /** Every failure, first to last. */
  readonly failures: readonly Failure[];
}

/**
 * Invokes, and does what failures advise until it succeeds or a bound is reached.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { withRecovery } from 'writ/client';
 * import { testService } from 'writ/testing';
 *
 * const ping = defineCapability({
 *   name: 'ping', description: 'Answer', side_effect: 'read',
 *   minimum_scope: ['demo.ping'], handler: () => ({ pong: true }),
 * });
 * const desk = await testService(createService({ id: 'demo', capabilities: [ping] }));
 * const { client, token } = await desk.caller('tester');
 * const outdated = client.withCredential('an-outdated-token');
 * const redelegate = async () => token.token;
 * const input = { capability: 'ping', parameters: {} };
 * console.log((await withRecovery(outdated, input, { redelegate })).reply.ok);
 * await desk.close();
 */
export async function withRecovery<Source, Name extends NameIn<Source>>(
  client: Client<Source>,
  input: Call<Source, Name>,
  options?: RecoveryOptions<Source, Name>,
): Promise<Recovered<ResultIn<Source, Name>>>;
export async function withRecovery(
  client: Client,
  input: InputOf<'invoke'>,
  options: RecoveryOptions = {},
): Promise<Recovered> {
  const { attemptsMax = ATTEMPTS_MAX, waitMaxMs = WAIT_MAX_MS, signal } = options;
  const failures: Failure[] = [];
  let attempt: Attempt = { client, input, number: 1, leftMs: waitMaxMs, isOpen: false };
  for (;;) {
    // Repeated only here, so that every repetition counts.
    const reply = await attempt.client.invoke(attempt.input, { signal, retries: 0 });
    if (reply.ok) return { reply, failures };
    failures.push(reply.failure);
    if (attempt.number >= attemptsMax) return { reply, stopped: 'attempts', failures };

    // Keeps the first key: a call whose answer was lost must not be repeated under another one.
    const idempotency_key = keyAfter(reply) ?? attempt.input.idempotency_key;
    const isOpen = !isSpent(reply) && (attempt.isOpen || isUnended(reply));
    const tried = { ...attempt, isOpen, input: { ...attempt.input, idempotency_key } };
    const next = await remedyOf(reply)(tried, reply, options);
    if (typeof next === 'string') return { reply, stopped: next, failures };
    attempt = { ...next, number: attempt.number + 1 };
  }
}

interface Attempt {
  readonly client: Client;
  readonly input: InputOf<'invoke'>;
  readonly number: number;
  /** Milliseconds of waiting that are left. */
  readonly leftMs: number;
  /** Whether a request under the current key may have run without an answer so far. */
  readonly isOpen: boolean;
}

/** A lost answer to a call with an effect, or the failure that the call still runs under its key. */
function isUnended({ answer, failure, idempotencyKey }: Refused): boolean {
  if (answer === undefined) return idempotencyKey !== undefined;
  return failure.type === 'idempotency_in_progress';
}

type Remedy = (tried: Attempt, reply: Refused, options: RecoveryOptions) => Promise<Attempt | Stop>;

function remedyOf({ failure, answer, idempotencyKey }: Refused): Remedy {
  const { type, retry, resolution, conditions } = failure;
  // Lost answer: the same call under its key gets the stored outcome.
  if (answer === undefined && idempotencyKey !== undefined) return wait;
  if (type === 'approval_required') return awaitApproval;
  if (type === 'approval_grant_invalid') return askAnew;
  // The parameters are at fault: a new token of the same kind would refuse them too.
  if (conditions) return stopped('caller');
  if (resolution.action === 'provide_credentials') return redelegate;
  // The recovery class does not override `retry: false`: the same call would fail again.
  if (!retry && REPEATED.includes(resolution.recovery_class)) return stopped('caller');
  return REMEDIES[resolution.recovery_class];
}

const REPEATED: readonly RecoveryClass[] = ['retry_now', 'wait_then_retry'];

const stopped =
  (why: Stop): Remedy =>
  async () =>
    why;

const REMEDIES: Record<RecoveryClass, Remedy> = {
  retry_now: async (tried) => tried,
  wait_then_retry: wait,
  refresh_then_retry: refresh,
  redelegation_then_retry: redelegate,
  // Only the caller knows what to check; the same call would fail again.
  revalidate_then_retry: stopped('caller'),
  terminal: stopped('terminal'),
};

async function wait(
  tried: Attempt,
  { failure, retryAfterMs = 0 }: Refused,
  { signal }: RecoveryOptions,
): Promise<Attempt | Stop> {
  const advisedMs = untilAvailable(failure, tried.client.now());
  const ms = backoffMs(tried.number, Math.max(advisedMs, retryAfterMs));
  if (ms > tried.leftMs) return 'time';
  await tried.client.pause(ms, signal);
  return { ...tried, leftMs: tried.leftMs - ms };
}

/** Milliseconds until the failure's duration or time; 0 where it has neither. */
function untilAvailable({ resolution }: Failure, now: Date): number {
  const availability = resolution.estimated_availability ?? '';
  const moment = parseMoment(availability) ?? now.getTime();
  return parseDuration(availability) ?? Math.max(0, moment - now.getTime());
}

/** Leaves out the grant that does not fit, so that the service makes a new approval request. */
async function askAnew(tried: Attempt): Promise<Attempt | Stop> {
  const { approval_grant: given, ...input } = tried.input;
  return given ? { ...tried, input } : 'caller';
}

/** Waits for the decision on the request that the failure names, with repeated long polls. */
async function awaitApproval(
  tried: Attempt,
  { failure }: Refused,
  { signal }: RecoveryOptions,
): Promise<Attempt | Stop> {
  const { client } = tried;
  const until = client.now().getTime() + tried.leftMs;
  for (let turn = 0; ; turn += 1) {
    const leftMs = until - client.now().getTime();
    if (leftMs <= 0) return 'time';
    const seconds = Math.min(Math.ceil(leftMs / 1_000), WAIT_SECONDS_MAX);
    const asked = {
      approval_request_id: failure.approval_request_id ?? '',
      prefer: `wait=${seconds}`,
    };
    const timeoutMs = Math.min(leftMs, seconds * 1_000) + WAIT_MARGIN_MS;
    const bounds = { signal, timeoutMs, retries: 0 };
    const reply = await client.ask('approval_requests.get', asked, bounds);
    if (!reply.ok && !reply.failure.retry) return 'caller';
    const { status, grant_id } = reply.ok ? reply.answer : { status: 'pending', grant_id: null };
    if (status === 'approved' && grant_id) {
      return { ...tried, leftMs, input: { ...tried.input, approval_grant: grant_id } };
    }
    if (status !== 'pending') return 'denied';
    // A stopping service ends every wait early; without a pause this loop would flood it.
    const pauseMs = backoffMs(Math.min(turn, 3));
    await client.pause(Math.min(pauseMs, Math.max(0, until - client.now().getTime())), signal);
  }
}

/** Renews every binding that the caller knows how to get. */
async function refresh(
  tried: Attempt,
  { failure }: Refused,
  { bindings = {} }: RecoveryOptions,
): Promise<Attempt | Stop> {
  const parameters = { ...tried.input.parameters };
  let renewed = 0;
  for (const [field, renew] of Object.entries(bindings)) {
    const fresh = await renew?.(tried.client, failure);
    if (fresh === undefined) continue;
    parameters[field] = fresh;
    renewed += 1;
  }
  return renewed > 0 ? { ...tried, input: { ...tried.input, parameters } } : 'caller';
}

/**
 * Keys belong to a chain of principals, and the new token may have another one. So the call continues only
 * where it cannot have acted: no request is open, and no handler threw the failure after it may
 * have acted. Of the types that lead here, a handler can throw only those that its capability declares.
 */
async function redelegate(
  tried: Attempt,
  reply: Refused,
  { redelegate: renew }: RecoveryOptions,
): Promise<Attempt | Stop> {
  const { failure } = reply;
  if (tried.isOpen || !(isOfProtocol(failure.type) || isSpent(reply))) return 'caller';
  const credential = await renew?.(tried.client, failure);
  if (credential === undefined) return 'caller';
  return { ...tried, client: tried.client.withCredential(credential) };
}

/**
 * What a caller does after a failure, by its recovery class.
 *
 * @example
 * import { createService } from 'writ';
 * import { RECOVERY } from 'writ/client';
 * import { expectFailure, testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const stranger = desk.human('ann').client.withCredential('unknown-key');
 * const failure = expectFailure(await stranger.ask('audit.query', {}), 'authentication_required');
 * console.log(RECOVERY[failure.resolution.recovery_class]);
 * await desk.close();
 */
export const RECOVERY: Readonly<Record<RecoveryClass, string>> = {
  retry_now: 'Send the same call again at once, with the same or better credentials',
  wait_then_retry: 'Wait for the named time or for a decision of a person, then repeat the call',
  refresh_then_retry: 'Fetch what the call refers to again, such as a quote, then call with it',
  redelegation_then_retry: 'Get another token, then call with it',
  revalidate_then_retry: 'Check the call and its assumptions; do not repeat it as it is',
  terminal: 'Stop: this caller cannot make the call succeed',
};

/**
 * The client: calls every operation of the operations table. A refusal is a value, and so is a lost answer.
 *
 * Repeats a call only where a repetition cannot cause a second effect: after a lost answer, calls without an
 * effect and calls with an idempotency key; after "nothing ran", every call. Runs in browsers.
 *
 * @module
 */

import { nearestName } from '../domain/values/nearest.ts';
import { type InputOf, type OperationName, operations } from '../protocol/operations.ts';
import type { Manifest } from '../protocol/trust.ts';
import { type ClientEvent, eventsOf } from './events.ts';
import {
  bodyOf,
  chunksOf,
  type ExchangeOptions,
  heard,
  type Line,
  NoAnswer,
  openStream,
  serviceUrl,
  type WholeAnswer,
  wholeExchange,
  within,
} from './exchange.ts';
import type { AskOptions, Client, ClientOptions } from './interface.ts';
import { freshKey, keyAfter } from './key.ts';
import { backoffMs, type Pause, pauseFor } from './pace.ts';
import {
  type Refused,
  type Reply,
  readRefusal,
  replyJson,
  replyOf,
  type SuccessOf,
  silence,
} from './reply.ts';
import { httpRequestOf } from './request.ts';
import { createTrust, type Trust, type TrustOptions } from './trust.ts';
import type { AnyCapabilities, TypeSource } from './typed.ts';

/** Longer than the default deadline of a capability. */
const TIMEOUT_MS = 60_000;
const RETRIES = 2;

/** Three times the interval at which a service sends a sign of life on a quiet stream. */
const SILENCE_MS = 45_000;

/** The client does not repeat a call if the service asks for a longer pause. */
const RETRY_AFTER_MAX_MS = 10_000;

/**
 * Makes a client. Sends nothing yet. The type argument, `typeof service` or an interface that `writ types`
 * writes, lets the compiler check the names, parameters and results of capabilities.
 *
 * @example
 * import { createClient } from 'writ/client';
 *
 * interface Bank {
 *   transfer: { parameters: { to: string; amount: number }; result: { transfer_id: string } };
 * }
 *
 * const bank = createClient<Bank>({ url: 'https://bank.example', credential: 'token' });
 * const send = () => bank.invoke({ capability: 'transfer', parameters: { to: 'ann', amount: 5 } });
 */
export function createClient<Source extends TypeSource<Source> = AnyCapabilities>(
  options: ClientOptions,
): Client<Source> {
  const line: Line = {
    url: serviceUrl(options.url),
    credential: options.credential,
    // Called through an arrow function: browsers refuse a detached `fetch`.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
  };
  const { pins, serviceId, now = () => new Date() } = options;
  const fetchDocument = documentsFrom(line, options);
  const trust = createTrust({ pins, serviceId, now, fetchDocument });
  // Safe: the types say more about the values, and the values are the same.
  return clientOf(line, trust, options) as unknown as Client<Source>;
}

/** Fetches manifest and keys. Many calls share the fetch, so it has the bounds of the client, not of a call. */
function documentsFrom(line: Line, options: ClientOptions): TrustOptions['fetchDocument'] {
  const { timeoutMs = TIMEOUT_MS, retries = RETRIES, pause = pauseFor } = options;

  async function once(name: 'jwks' | 'manifest'): Promise<Reply<WholeAnswer>> {
    const request = httpRequestOf(operations[name], {});
    // Most services need no credential here, so none is sent.
    const isGated = name === 'manifest' && options.gatedManifest === true;
    const asked = isGated ? line : { ...line, credential: undefined };
    try {
      const answer = await wholeExchange(asked, request, { timeoutMs });
      if (answer.status === 200) return { ok: true, answer, replayed: false };
      const refused = readRefusal(
        replyJson(answer.body, answer.status),
        answer.status,
        answer.headers,
      );
      return isGated ? refused : gateNamed(refused);
    } catch (error) {
      return silenceAfter(error, name, false);
    }
  }

  return async (name) => {
    const repetition = { retries, isSafe: true, pause, signal: undefined };
    const reply = await repeated(() => once(name), repetition);
    return reply.ok ? reply.answer : reply;
  };
}

/** Names the option: the service only reports a missing credential, which the client did not send. */
function gateNamed(refused: Refused): Refused {
  if (refused.failure.type !== 'authentication_required') return refused;
  const detail =
    'Cannot read the manifest: the service requires a credential for it; set gatedManifest (--gated-manifest) to send one';
  const failure = { ...refused.failure, detail };
  return { ...refused, failure, answer: refused.answer && { ...refused.answer, failure } };
}

function clientOf(line: Line, trust: Trust, options: ClientOptions): Client {
  checkCredential(line.credential);
  const { timeoutMs = TIMEOUT_MS, retries = RETRIES, pause = pauseFor } = options;
  const { now = () => new Date(), silenceMs = SILENCE_MS } = options;

  async function send<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    { hasEffect, isSafe, ...given }: AskOptions & { hasEffect: boolean; isSafe: boolean },
  ): Promise<Reply<SuccessOf<Name>>> {
    const bounds = { timeoutMs: given.timeoutMs ?? timeoutMs, signal: given.signal };
    let wasLost = false;
    const once = (last?: Refused) => {
      wasLost ||= last?.failure.type === 'outcome_unknown';
      const sent = { name, input: last ? again(input, last) : input, hasEffect, wasLost };
      return sendOnce(line, sent, bounds);
    };
    const more = given.retries ?? retries;
    const reply = await repeated(once, { retries: more, isSafe, pause, signal: given.signal });
    if (!reply.ok && reply.failure.resolution.action === 'check_manifest') trust.forget();
    return reply;
  }

  /** The fetch is shared: a caller that gives up does not cancel it. */
  async function manifest(given: AskOptions = {}): Promise<Reply<Manifest>> {
    try {
      const bounds = { timeoutMs: given.timeoutMs ?? timeoutMs, signal: given.signal };
      return await within(trust.manifest(), bounds);
    } catch (error) {
      return silenceAfter(error, 'manifest', false);
    }
  }

  async function keyed(input: InputOf<'invoke'>, given: AskOptions): Promise<Refused | KeyedCall> {
    const known = await manifest(given);
    return known.ok ? keyedCall(input, known.answer) : known;
  }

  const client: Client = {
    url: line.url,
    async ask(name, input, given = {}) {
      if (name === 'invoke') {
        return (await client.invoke(input as InputOf<'invoke'>, given)) as Reply<never>;
      }
      if (name === 'manifest') return (await manifest(given)) as Reply<never>;
      // Verifies first: the credential is for the known service only.
      const isGuarded = line.credential !== undefined && trust.knowsWhom();
      const known = isGuarded ? await manifest(given) : undefined;
      if (known && !known.ok) return known;
      return send(name, input, { ...given, ...effectOf(name) });
    },
    async invoke(input, given = {}) {
      const call = await keyed(input, given);
      if ('ok' in call) return call;
      const { hasEffect, key } = call;
      const isSafe = !hasEffect || key !== undefined;
      const asked = { ...input, idempotency_key: key };
      return send('invoke', asked, { ...given, isSafe, hasEffect });
    },
    async *stream(input, given = {}) {
      const call = await keyed(input, given);
      if ('ok' in call) return yield { event: 'refused', data: call };
      const asked = { ...input, stream: true, idempotency_key: call.key };
      const bounds = { ...given, timeoutMs: given.timeoutMs ?? timeoutMs, silenceMs };
      yield* streamed(line, asked, bounds, call.hasEffect);
    },
    manifest,
    pins: () => trust.pins(),
    withCredential: (credential) => clientOf({ ...line, credential }, trust, options),
    now,
    pause,
  };
  return client;
}

/** Refused here: `fetch` would throw, which would look like a lost answer. */
function checkCredential(credential: string | undefined): void {
  if (credential === undefined || /^[\x21-\x7e]+$/.test(credential)) return;
  throw new TypeError('Cannot use the credential: expected visible ASCII characters');
}

interface Repetition {
  readonly retries: number;
  readonly isSafe: boolean;
  readonly pause: Pause;
  readonly signal: AbortSignal | undefined;
}

async function repeated<Answer>(
  once: (last?: Refused) => Promise<Reply<Answer>>,
  { retries, isSafe, pause, signal }: Repetition,
): Promise<Reply<Answer>> {
  let reply = await once();
  for (let attempt = 0; attempt < retries && isWorthAnother(reply, isSafe); attempt += 1) {
    await pause(backoffMs(attempt, reply.retryAfterMs), signal);
    reply = await once(reply);
  }
  return reply;
}

interface Sent<Name extends OperationName> {
  readonly name: Name;
  readonly input: InputOf<Name>;
  readonly hasEffect: boolean;
  /** The answer to an attempt before was lost, so it may have had the effect. */
  readonly wasLost: boolean;
}

async function sendOnce<Name extends OperationName>(
  line: Line,
  { name, input, hasEffect, wasLost }: Sent<Name>,
  bounds: ExchangeOptions,
): Promise<Reply<SuccessOf<Name>>> {
  const request = httpRequestOf(operations[name], input);
  const { idempotency_key } = input as { idempotency_key?: string };
  try {
    const reply = replyOf(name, await wholeExchange(line, request, bounds));
    return reply.ok ? reply : { ...reply, idempotencyKey: idempotency_key };
  } catch (error) {
    // A caller may have tried an invocation before with the same key, and asks whether that one ran.
    const isCertain =
      name !== 'invoke' && !wasLost && error instanceof NoAnswer && error.isUnsent();
    const silent = silenceAfter(error, name, hasEffect && !isCertain);
    return { ...silent, idempotencyKey: idempotency_key };
  }
}

function again<Input extends object>(input: Input, last: Refused): Input {
  return 'idempotency_key' in input ? { ...input, idempotency_key: keyAfter(last) } : input;
}

interface KeyedCall {
  readonly hasEffect: boolean;
  readonly key: string | undefined;
}

/** The call with its key: a capability with an effect in the manifest gets one. */
function keyedCall(
  { capability: name, idempotency_key }: InputOf<'invoke'>,
  { capabilities }: Manifest,
): KeyedCall {
  // Own properties only: "constructor" is not a capability.
  const declared = Object.hasOwn(capabilities, name) ? capabilities[name] : undefined;
  const hasEffect = declared?.side_effect.type !== 'read';
  const key = idempotency_key === undefined && hasEffect ? freshKey() : idempotency_key;
  return { hasEffect, key: key ?? undefined };
}

function effectOf(name: OperationName): { hasEffect: boolean; isSafe: boolean } {
  if (!Object.hasOwn(operations, name)) throw new TypeError(unknownOperation(name));
  const hasEffect = operations[name].method === 'POST' && !READING_POSTS.includes(name);
  // Revoking a token twice has the effect of once.
  return { hasEffect, isSafe: !hasEffect || name === 'tokens.revoke' };
}

/** A program without types gets it, or one whose types are of another version. */
function unknownOperation(name: string): string {
  const nearest = nearestName(`${name}`, Object.keys(operations));
  const advice = nearest === undefined ? 'docs/operations.md lists them' : `write "${nearest}"`;
  return `Cannot ask "${name}": there is no such operation; ${advice}`;
}

/** Operations that are POST and change nothing. */
const READING_POSTS: readonly OperationName[] = ['permissions', 'handshake', 'test', 'audit.query'];

async function* streamed(
  line: Line,
  input: InputOf<'invoke'>,
  { timeoutMs, silenceMs, signal }: ExchangeOptions & { silenceMs: number },
  hasEffect: boolean,
): AsyncGenerator<ClientEvent> {
  const left = new AbortController();
  const ends = signal ? AbortSignal.any([signal, left.signal]) : left.signal;
  const request = httpRequestOf(operations.invoke, input);
  const idempotencyKey = input.idempotency_key ?? undefined;
  try {
    const response = await openStream(line, request, { timeoutMs, signal: ends });
    const chunks = heard(chunksOf(response), silenceMs, (why) => left.abort(why));
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      yield* eventsOf(chunks);
      return;
    }
    // A refusal, or the stored answer of an earlier call with the same key.
    const { status, headers } = response;
    const reply = replyOf('invoke', { status, headers, body: await bodyOf(chunks) });
    if (!reply.ok) yield { event: 'refused', data: { ...reply, idempotencyKey } };
    else throw new NoAnswer('an answer that is not a stream');
  } catch (error) {
    signal?.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    const data = { ...silence('invoke', reason, hasEffect), idempotencyKey };
    yield { event: 'lost', data };
  } finally {
    left.abort();
  }
}

/** Only a lost answer becomes a value: an abort or a defect is thrown on. */
function silenceAfter(error: unknown, name: OperationName, hasEffect: boolean): Refused {
  if (error instanceof NoAnswer) return silence(name, error.message, hasEffect);
  throw error;
}

function isWorthAnother<Answer>(reply: Reply<Answer>, isSafe: boolean): reply is Refused {
  if (reply.ok) return false;
  if (reply.answer === undefined) return isSafe;
  const { retryAfterMs = 0, failure } = reply;
  const isNothingRun = failure.type === 'service_unavailable' && failure.retry;
  return isNothingRun && retryAfterMs <= RETRY_AFTER_MAX_MS;
}

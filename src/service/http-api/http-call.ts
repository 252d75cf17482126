/**
 * One call of an HTTP API in the place of a handler: sends the request of a route, and returns the result or throws
 * the failure.
 *
 * Only a read is sent twice, and only once more. A request that may have an effect carries the id of its
 * invocation as `Idempotency-Key` (decision 24). No redirect is followed.
 *
 * @module
 */

import { RESULT_LIMITS } from '../../domain/wire/json.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { NoEffect } from '../author/handler.ts';
import {
  exchange,
  LATE_ANSWER,
  LONG_ANSWER,
  type OutboundAnswer,
  OutboundFault,
  REFUSED_ADDRESS,
  type Resolve,
  refusedOrigin,
} from '../outbound/outbound.ts';
import { type Route, type RoutedRequest, readBase, routedRequest } from '../outbound/route.ts';
import { takeSlot } from '../outbound/slots.ts';
import {
  type Asked,
  apiRefusal,
  apiResult,
  lost,
  UPSTREAM_FAILED,
  unavailable,
  unusable,
} from './http-answer.ts';

/**
 * What proves to an API who calls: a header, or a value in the query.
 *
 * @example
 * import type { HttpCredential } from 'writ';
 *
 * const key: HttpCredential = { header: 'Authorization', value: `Bearer ${process.env.API_TOKEN}` };
 */
export type HttpCredential =
  | { readonly header: string; readonly value: string }
  | { readonly query: string; readonly value: string };

/** The API: where it is, and whether it may be inside. */
export interface HttpApi {
  readonly base: URL;
  /** The author or operator said that this host has an inside address. */
  readonly isNamedInside: boolean;
  /** Resolves names; by default as the system does. */
  readonly resolve?: Resolve | undefined;
}

export interface HttpCall {
  readonly route: Route;
  readonly parameters: JsonObject;
  readonly invocationId: string;
  readonly isRead: boolean;
  readonly signal: AbortSignal;
  readonly credential?: HttpCredential | undefined;
}

/** Reads where an API is. A fault is the end of a sentence. */
export function readApi(
  origin: string,
  inside: boolean,
): { readonly api: HttpApi } | { readonly fault: string } {
  const read = readBase(origin);
  if ('fault' in read) return read;
  const refused = refusedOrigin(read.base, inside);
  if (refused === undefined) return { api: { base: read.base, isNamedInside: inside } };
  return { fault: inside ? refused : `${refused}; name it with "inside: true" if it is meant` };
}

/** The first reason why a credential cannot be sent. Never repeats its value. */
export function credentialFault(credential: HttpCredential, route?: Route): string | undefined {
  const { value } = credential;
  if (typeof value !== 'string' || !/^[\x20-\x7e]+$/.test(value) || value.trim() !== value) {
    return 'expected a value of printable ASCII';
  }
  if ('query' in credential) {
    const isTaken = Object.hasOwn(route?.query ?? {}, credential.query);
    return isTaken ? `a parameter sets "${credential.query}" in the query` : undefined;
  }
  const name = String(credential.header);
  if (!/^[A-Za-z0-9-]{1,64}$/.test(name) || NO_CREDENTIAL.test(name)) {
    return 'expected the name of a header for credentials, such as "Authorization"';
  }
  const names = Object.keys(route?.headers ?? {}).map((each) => each.toLowerCase());
  return names.includes(name.toLowerCase()) ? `a parameter sets the header "${name}"` : undefined;
}

/** Headers that decide where a request goes and how it is read. */
const NO_CREDENTIAL =
  /^(?:host|connection|te|trailer|upgrade|expect|idempotency-key|(?:content|transfer)-.*)$/i;

/** Sends the request. The route has no fault, and `readApi` made the API. */
export async function callHttp(api: HttpApi, call: HttpCall): Promise<JsonObject> {
  const request = routedRequest(api.base, call.route, call.parameters);
  if ('fault' in request) throw new NoEffect(`Cannot send the request: ${request.fault}`);
  const unfit = call.credential && credentialFault(call.credential, call.route);
  if (unfit) throw new NoEffect(`Cannot use the credential: ${unfit}`, UPSTREAM_FAILED.type);
  const leave = await takeSlot(api.base.origin, call.signal);
  if (!leave) throw unavailable('too many calls of this API wait for their turn', SOON);
  try {
    return await answered(api, call, request);
  } finally {
    leave();
  }
}

const SOON = { estimated_availability: 'PT5S' };

async function answered(api: HttpApi, call: HttpCall, request: RoutedRequest): Promise<JsonObject> {
  const first = await attempt(api, call, request);
  const last = isRepeatable(call, first) ? await attempt(api, call, request) : first;
  const asked: Asked = { isRead: call.isRead, secrets: credentialTexts(call.credential?.value) };
  if (last instanceof OutboundFault) throw failureOf(last, asked);
  if (last.status < 200 || last.status > 299) throw apiRefusal(last, asked);
  return apiResult(last, asked);
}

async function attempt(
  { isNamedInside, resolve }: HttpApi,
  { route, credential, signal, invocationId, ...call }: HttpCall,
  { url: bare, headers, body = '' }: RoutedRequest,
): Promise<OutboundAnswer | OutboundFault> {
  const url = new URL(bare);
  const sent: Record<string, string> = { ...headers, 'accept-encoding': 'identity' };
  if (!isSafe({ route, ...call })) sent['idempotency-key'] = invocationId;
  if (credential && 'header' in credential) sent[credential.header] = credential.value;
  if (credential && 'query' in credential) {
    url.searchParams.append(credential.query, credential.value);
  }
  const { method } = route;
  const { bytes: bytesMax } = RESULT_LIMITS;
  return exchange(url, {
    method,
    headers: sent,
    body,
    bytesMax,
    isNamedInside,
    resolve,
    signal,
  }).catch((error: unknown) => {
    if (error instanceof OutboundFault) return error;
    throw error;
  });
}

/** A read by its declared effect and by its method. */
function isSafe({ isRead, route: { method } }: Pick<HttpCall, 'isRead' | 'route'>): boolean {
  return isRead && (method === 'GET' || method === 'HEAD');
}

const GATEWAY_STATUSES = [502, 503, 504];

/** True for a safe request whose connection failed, or that a gateway could not pass on. */
function isRepeatable(call: HttpCall, first: OutboundAnswer | OutboundFault): boolean {
  if (!isSafe(call) || call.signal.aborted) return false;
  if (!(first instanceof OutboundFault)) return GATEWAY_STATUSES.includes(first.status);
  return ![LATE_ANSWER, LONG_ANSWER, REFUSED_ADDRESS].includes(first.code);
}

function failureOf({ code, hasLeft, status }: OutboundFault, asked: Asked): Error {
  if (code === REFUSED_ADDRESS) {
    const why = 'the name of the API leads to an address that is not allowed';
    return new NoEffect(`Cannot call the API: ${why}`, UPSTREAM_FAILED.type);
  }
  if (!hasLeft) return unavailable(`the API cannot be reached (${code})`);
  if (status !== undefined && (status < 200 || status > 299)) return apiRefusal({ status }, asked);
  if (code === LONG_ANSWER && status !== undefined) {
    return unusable(status, `it is longer than ${RESULT_LIMITS.bytes} bytes`, asked);
  }
  const why =
    code === LATE_ANSWER ? 'the API did not answer in time' : `the answer broke (${code})`;
  return lost(why, asked);
}

/** In characters. Shorter texts occur in answers by chance. */
const SECRET_LENGTH_MIN = 6;

/**
 * The texts of a credential that an answer may repeat, the longest first: without the scheme, decoded, and as part of
 * an address.
 */
export function credentialTexts(value = ''): string[] {
  const [scheme = '', ...rest] = value.split(' ');
  const words = rest.length === 0 ? [scheme] : rest;
  const isBasic = /^basic$/i.test(scheme);
  const pairs = isBasic ? words.map((each) => Buffer.from(each, 'base64').toString()) : [];
  const passwords = pairs.flatMap((pair) => [pair, pair.slice(pair.indexOf(':') + 1)]);
  const texts = [value, ...words, ...passwords].flatMap((each) => [each, ...addressForms(each)]);
  return [...new Set(texts)]
    .filter((each) => each.length >= SECRET_LENGTH_MIN)
    .sort((one, other) => other.length - one.length);
}

/** A query that `URLSearchParams` wrote encodes more characters, and a space as "+". */
function addressForms(text: string): string[] {
  return [encodeURIComponent(text), new URLSearchParams([['', text]]).toString().slice(1)];
}

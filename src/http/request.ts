/**
 * What HTTP carries, turned into what an operation is asked: the bearer and the fields.
 *
 * Each field has one source. The path names what it names, some fields stand in headers, the rest in
 * the query or in the body, as the operation's row says; the same name elsewhere is not looked at.
 *
 * @module
 */

import { parse } from 'node:querystring';
import { failure, Refusal } from '../domain/failure.ts';
import { isObject, readJson } from '../domain/wire/json.ts';
import { type Operation, type OperationName, operations } from '../protocol/operations.ts';
import type { Ask } from '../service/operations/operations.ts';
import type { TraceParent } from '../service/operations/tracing.ts';
import type { Runtime } from '../service/runtime.ts';
import { tooLong } from './bounds/bodies.ts';
import type { Visits } from './bounds/strangers.ts';
import { closedOf, type Exchange, type HttpAsk, type Route } from './exchange.ts';
import { upTo } from './router.ts';

export function askOf(operation: Operation, exchange: Exchange, visits: Visits | undefined): Ask {
  const { ask } = exchange;
  return {
    bearer: () => judgedBearer(exchange, visits),
    input: () => fieldsOf(operation, exchange),
    gone: () => closedOf(ask),
    delivered: () => closedOf(ask),
    proved: (issued) => visits?.prove(exchange.visit, issued),
    trace: traceOf(ask.headers.traceparent),
    byApp: ask.identify,
  };
}

/**
 * Judges the sender of a long body by its credential, before the body is read. A caller that presents none, and that
 * the app around the service may know, is asked for a shorter one: only the operation asks the app.
 */
export function strangerJudge(
  { strangerTo: judge, gated }: Pick<Runtime, 'strangerTo' | 'gated'>,
  name: OperationName,
  visits: Visits | undefined,
): NonNullable<Route['stranger']> {
  const { auth } = operations[name];
  const isOpen = (auth === 'none' || auth === 'optional') && !gated.includes(name);
  return async (exchange) => {
    const { ask } = exchange;
    const found = await judge(name, { bearer: () => judgedBearer(exchange, visits) });
    const mayHaveNone = isOpen || (ask.identify && ask.headers.authorization === undefined);
    return found && mayHaveNone ? tooLong() : found;
  };
}

/** The credential that a route verifies. A wrong one counts for its address, also where another check refuses the request. */
export function judgedBearer(
  { ask, visit }: Pick<Exchange, 'ask' | 'visit'>,
  visits: Visits | undefined,
): string | undefined {
  visits?.judge(visit);
  return bearerOf(ask);
}

const SCHEME = 'bearer ';
const VISIBLE = /^[\x21-\x7e]+$/;

/** The credential, when exactly one was presented in the one place for it. */
function bearerOf(ask: Pick<HttpAsk, 'lines'>): string | undefined {
  const presented = ask.lines('authorization');
  if (presented.length === 0) return undefined;
  if (presented.length > 1) {
    const detail = `Cannot identify the caller: ${presented.length} Authorization headers`;
    throw new Refusal(failure('authentication_required', detail));
  }
  const line = presented[0] as string;
  const bearer = line.slice(SCHEME.length);
  if (line.slice(0, SCHEME.length).toLowerCase() === SCHEME && VISIBLE.test(bearer)) return bearer;
  const detail =
    'Cannot read the Authorization header: expected "Bearer", one space and a credential';
  throw new Refusal(failure('authentication_required', detail));
}

function fieldsOf(operation: Operation, { ask, params, body }: Exchange): object {
  refuseUnkeepable(operation.rest === 'query' ? ask.target : requestPath(ask.target));
  const fields = operation.rest === 'query' ? queryOf(ask.target) : bodyFields(body);
  if (operation.rest === 'query') refuseBody(body);
  for (const field in operation.headers) {
    const value = ask.headers[operation.headers[field] as string];
    if (value !== undefined) fields[field] = value;
    else if (Object.hasOwn(fields, field)) delete fields[field];
  }
  for (const field in params) fields[field] = params[field];
  return fields;
}

/** An address without its query. */
export function requestPath(address: string): string {
  return upTo('?', address);
}

/** Refuses what an address can encode and JSON cannot: bytes that are not UTF-8, and U+0000. */
function refuseUnkeepable(address: string): void {
  if (!address.includes('%')) return;
  let text = '\0';
  try {
    text = decodeURIComponent(address);
  } catch {
    // Not percent-encoded UTF-8: as little a text as one with U+0000.
  }
  if (!text.includes('\0')) return;
  const detail = 'Cannot read the address: expected percent-encoded UTF-8 without U+0000';
  throw new Refusal(failure('invalid_parameters', detail));
}

/** Copies with a spread: assigning a field named `__proto__` would set the prototype instead. */
function queryOf(target: string): Record<string, unknown> {
  const start = target.indexOf('?');
  if (start < 0) return {};
  const end = target.indexOf('#', start);
  const text = end < 0 ? target.slice(start + 1) : target.slice(start + 1, end);
  // All fields: the schema of the operation refuses those it does not know.
  return { ...parse(text, '&', '=', { maxKeys: 0 }) };
}

/** An operation whose fields stand in the address ignores a body, so it refuses one that has fields. */
function refuseBody(body: Uint8Array): void {
  if (Object.keys(bodyFields(body)).length === 0) return;
  const detail = 'Cannot read the body: expected the fields of this request in the address';
  throw new Refusal(failure('invalid_parameters', detail));
}

/** The body's fields. No body is the same as an empty object: several requests have no field. */
function bodyFields(body: Uint8Array): Record<string, unknown> {
  if (body.length === 0) return {};
  const reading = readJson(body);
  if ('fault' in reading) throw new Refusal(failure('invalid_parameters', reading.fault));
  const { value } = reading;
  if (isObject(value)) return value;
  throw new Refusal(failure('invalid_parameters', 'Cannot read the body: expected a JSON object'));
}

/** How a body is packed, where it is not plain. */
export function codingOf(ask: Pick<HttpAsk, 'headers'>): string | undefined {
  const { 'content-encoding': content, 'transfer-encoding': transfer } = ask.headers;
  if (content !== undefined && content !== 'identity') return String(content);
  if (transfer === undefined || String(transfer).toLowerCase() === 'chunked') return undefined;
  return String(transfer);
}

/** W3C trace context, version 00; anything else is as if it were not there. */
export function traceOf(header: unknown): (TraceParent & { flags: string }) | undefined {
  if (typeof header !== 'string') return undefined;
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header);
  const [, traceId = '', spanId = '', flags = ''] = match ?? [];
  if (!match || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1, flags };
}

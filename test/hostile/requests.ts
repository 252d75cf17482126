/**
 * Hostile requests by number: the same seed and number make the same request, for the same world.
 *
 * @module
 */

import { type Chance, chanceOf } from '../simulation/chance.ts';
import { brokenText, packedBody, plainForm, plainJson, type SentBody } from './bodies.ts';
import { type Field, OPERATIONS, OTHERS, type Target } from './targets.ts';
import { damaged, hostileText, TEXTS } from './values.ts';
import type { Sent } from './wire.ts';
import type { HostileWorld } from './world.ts';

export interface HostileRequest {
  readonly target: Target;
  readonly sent: Sent;
  /** The caller's credential, which no answer may repeat. */
  readonly bearer?: string | undefined;
}

export function requestOf(world: HostileWorld, seed: number, number: number): HostileRequest {
  const chance = chanceOf(seed).fork(`request ${number}`);
  const target = chance.pick(chance.pick(GROUPS));
  const bearer = bearerOf(world, target, chance);
  const call = chance.pick(CALLS);
  const fitting = { ...world, known: { ...world.known, ...(chance.is(0.8) && call) } };
  const fields = fieldsOf(fitting, target, chance);
  const body = bodyOf(fitting, target, chance);
  const headers = [
    ...callerHeaders(world, target, bearer),
    ...(target.path === '/mcp' ? [MCP_ACCEPT] : []),
    ...fields
      .filter((each) => each.in === 'header')
      .map(({ name, value }) => [name, value] as const),
    ...(body?.headers ?? []),
  ];
  const address = addressOf(target.path, fields, chance);
  const method = chance.is(0.97) ? target.method : chance.pick(METHODS);
  const sent = { method, target: address, headers, body: body?.bytes };
  return { target, bearer, sent: chance.is(0.15) ? twisted(sent, chance) : sent };
}

/** Each is drawn as often as the others: calls have the longest way, so they have a group of their own. */
const GROUPS: readonly (readonly Target[])[] = [
  OPERATIONS,
  OPERATIONS,
  OTHERS,
  [...OPERATIONS, ...OTHERS].filter(({ name }) => name === 'invoke' || name === 'mcp tools/call'),
];

const MCP_ACCEPT = ['accept', 'application/json, text/event-stream'] as const;

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'POST', 'PROPFIND'];

/** Most are good: a request that is refused for its caller shows little. */
function bearerOf(world: HostileWorld, target: Target, chance: Chance): string | undefined {
  if (target.by !== 'bearer') return undefined;
  const { bearers, operator } = world;
  const isOperators = /^(?:operator|identities)\./.test(target.name);
  if (isOperators && chance.is(0.8)) return operator;
  // A root token is given to a person, and a request is decided by one.
  if (target.name === 'tokens.issue' && chance.is(0.5)) return bearers[1];
  if (
    /^approval_(?:grants|requests)\.(?:issue|deny|decision)/.test(target.name) &&
    chance.is(0.6)
  ) {
    return bearers[2];
  }
  const drawn = chance.below(20);
  if (drawn < 12) return bearers[0];
  if (drawn < 17) return chance.pick(bearers);
  if (drawn === 17) return undefined;
  if (drawn === 18) return edited(chance.pick(bearers), chance);
  return visible(hostileText(chance)) || 'x';
}

function edited(text: string, chance: Chance): string {
  const at = chance.below(text.length);
  const letter = chance.pick(['A', 'b', '.', '=', '-', '_', '~', ':']);
  return text.slice(0, at) + letter + text.slice(at + chance.below(2));
}

/** What a header can carry. */
function visible(text: string): string {
  return Buffer.from(text)
    .toString('latin1')
    .replaceAll(/[^\x21-\x7e\x80-\xff]/g, '');
}

function callerHeaders(
  { port, session }: HostileWorld,
  { by }: Target,
  bearer: string | undefined,
): (readonly [string, string])[] {
  if (bearer !== undefined) return [['authorization', `Bearer ${bearer}`]];
  if (by !== 'session') return [];
  return [
    ['host', `localhost:${port}`],
    ['origin', `http://localhost:${port}`],
    ['sec-fetch-site', 'same-origin'],
    ['cookie', session.cookie],
    ['x-writ-csrf', session.csrf],
  ];
}

interface Filled extends Field {
  readonly value: string;
}

function fieldsOf(world: HostileWorld, { fields }: Target, chance: Chance): Filled[] {
  return fields.flatMap((field) => {
    const value = fieldValue(world, field, chance);
    if (value === undefined) return [];
    if (field.in === 'header') return [{ ...field, value: headerText(value) }];
    if (field.in === 'path') return [{ ...field, value: value || 'x' }];
    return [{ ...field, value }];
  });
}

function headerText(value: string): string {
  return Buffer.from(value)
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '');
}

function fieldValue(world: HostileWorld, field: Field, chance: Chance): string | undefined {
  const known = world.known[field.name] ?? [];
  const drawn = chance.below(10);
  if (drawn < 4 && known.length > 0) return chance.pick(known);
  if (drawn < 6) return field.example;
  if (drawn < 8 && field.values.length > 0) return chance.pick(field.values);
  if (drawn < 9) return hostileText(chance);
  return field.in === 'path' ? (known[0] ?? field.example) : undefined;
}

function addressOf(path: string, fields: readonly Filled[], chance: Chance): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => {
    const value = fields.find((each) => each.in === 'path' && each.name === name)?.value ?? 'x';
    return chance.is(0.97) ? encoded(value) : visible(value).replaceAll(/[?#/]/g, '') || 'x';
  });
  const query = fields
    .filter((each) => each.in === 'query')
    .map(({ name, value }) => `${name}=${encoded(value)}`);
  if (chance.is(0.05)) query.push(`${encoded(chance.pick(TEXTS))}=${encoded(hostileText(chance))}`);
  if (chance.is(0.02) && query[0] !== undefined) query.push(query[0]);
  const address = query.length > 0 ? `${filled}?${query.join('&')}` : filled;
  // Longer ones are refused by the size of the head alone.
  return address.slice(0, 6_000);
}

function encoded(text: string): string {
  return encodeURIComponent((text as string & { toWellFormed(): string }).toWellFormed());
}

function bodyOf(world: HostileWorld, target: Target, chance: Chance): SentBody | undefined {
  const { body } = target;
  if (!body) return chance.is(0.03) ? plainJson(damaged(chance, {})) : undefined;
  const made = body.kind === 'json' ? jsonOf(world, target, chance) : formOf(world, target, chance);
  const drawn = chance.below(20);
  if (drawn < 15) return made;
  return drawn < 19 ? brokenText(made, chance) : packedBody(made, chance);
}

function jsonOf(world: HostileWorld, { name, body }: Target, chance: Chance): SentBody {
  if (body?.kind !== 'json') throw new Error(`Cannot make the body of ${name}: it is a form`);
  const value =
    chance.is(0.3) && body.mutants.length > 0 ? chance.pick(body.mutants) : body.example;
  const fitting = chance.is(0.8) ? substituted(world, value, chance) : value;
  const known = name === 'invoke' && chance.is(0.3) ? streamed(fitting, chance) : fitting;
  return plainJson(chance.is(0.45) ? damaged(chance, known) : known);
}

/** The value with ids that exist, and parameters that capabilities have. */
function substituted(world: HostileWorld, value: unknown, chance: Chance): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([name, part]) => {
    const known = world.known[name] ?? [];
    if (name === 'parameters' || name === 'arguments') return [name, parametersOf(world, part)];
    if (known.length > 0 && typeof part === 'string') return [name, chance.pick(known)];
    return [name, substituted(world, part, chance)];
  });
  return Object.fromEntries(entries);
}

/** A stream, with ids that each of its events repeats. */
function streamed(value: unknown, chance: Chance): unknown {
  const ids = { client_reference_id: hostileText(chance), task_id: chance.pick(TEXTS) };
  return { ...(value as object), stream: true, ...(chance.is(0.5) && ids) };
}

/** With a quote that exists, where the capability takes one. */
function parametersOf({ known }: HostileWorld, sent: unknown): unknown {
  const [text] = known.parameters ?? [];
  if (text === undefined) return sent;
  const parameters = JSON.parse(text);
  return 'quote' in parameters ? { ...parameters, quote: known.quote?.[0] } : parameters;
}

/** Capabilities with parameters that they take. */
const CALLS: readonly Pick<HostileWorld['known'], 'capability' | 'name' | 'parameters'>[] = [
  callOf('search_flights', { origin: 'SEA', destination: 'SFO', date: '2026-12-01' }),
  callOf('search_flights', { origin: 'SEA', destination: 'SFO', date: '2026-12-01' }),
  callOf('book_flight', { quote: '', passenger: 'Alice', seat: 'aisle' }),
  callOf('buy_lounge_pass', { airport: 'SEA' }),
  callOf('get_booking', { booking_id: 'BK-1000' }),
  callOf('issue_refund', { booking_id: 'BK-1000', amount: 12.34, reason: 'delay' }),
  callOf('issue_refund', { booking_id: 'BK-1000', amount: 500, reason: 'delay' }),
  callOf('charter_jet', { route: 'SEA-SFO', date: '2026-12-01' }),
  callOf('charter_fleet', { route: 'SEA-SFO', date: '2026-12-01', jets: 2 }),
  callOf('request_taxi', { pickup: 'the hotel' }),
  callOf('hold_seat', { flight_number: 'KX101' }),
  callOf('release_seat', { hold_id: 'HD-1000' }),
  callOf('plan_trip', { origin: 'SEA', destination: 'SFO', date: '2026-12-01' }),
  callOf('export_report', { months: 1 }),
];

function callOf(capability: string, parameters: object) {
  return { capability: [capability], name: [capability], parameters: [JSON.stringify(parameters)] };
}

function formOf(world: HostileWorld, { name, body, by }: Target, chance: Chance): SentBody {
  if (body?.kind !== 'form') throw new Error(`Cannot make the form of ${name}: it is JSON`);
  const proof = by === 'session' ? [['csrf', world.session.formCsrf] as const] : [];
  const fields = [...proof, ...body.fields].flatMap(([field, value]) => {
    const drawn = chance.below(20);
    if (drawn < 14) return [[field, value] as const];
    if (drawn === 14) return [];
    if (drawn === 15) return [[field, value] as const, [field, value] as const];
    if (drawn === 16) return [[field, `${value}%00`] as const];
    return [[field, hostileText(chance)] as const];
  });
  return plainForm(fields);
}

type Twist = (sent: Sent, chance: Chance) => Partial<Sent>;

const added =
  (...lines: (readonly [string, string])[]): Twist =>
  (sent) => ({
    headers: [...sent.headers, ...lines],
  });

/** What a client can do to the head of a request. */
const TWISTS: readonly Twist[] = [
  (sent, chance) => ({
    headers: [...sent.headers, [chance.pick(HEADERS), headerText(hostileText(chance))]],
  }),
  (sent, chance) => ({
    headers: [...sent.headers, [chance.pick(HEADERS), headerText(hostileText(chance))]],
  }),
  (sent) => ({
    headers: [...sent.headers, ...sent.headers.filter(([name]) => name === 'authorization')],
  }),
  (sent) => ({ headers: sent.headers.map(([name, value]) => [name.toUpperCase(), value]) }),
  (sent) => ({ headers: sent.headers.filter(([name]) => name !== 'content-type') }),
  (sent) => ({ target: `http://127.0.0.1${sent.target}` }),
  (sent) => ({ target: `http://evil.example:1${sent.target}` }),
  (sent) => ({ target: `/${sent.target}` }),
  (sent) => ({ target: `${sent.target}/` }),
  (sent) => ({ target: `${sent.target}#fragment` }),
  (sent) => ({ target: sent.target.replace('/svc', '/svc/.') }),
  (sent) => ({ target: sent.target.replace('/svc/', '/%73vc%2f') }),
  (sent) => ({ target: sent.target.replace(/.$/, '\f') }),
  (sent) => ({ target: `${sent.target}\xff\x80` }),
  (sent) => ({
    version: '1.0',
    headers: sent.headers.filter(([name]) => name !== 'transfer-encoding'),
  }),
  added(['host', 'evil.example']),
  added(['expect', '100-continue']),
  added(['expect', 'a miracle']),
  added(['connection', 'Upgrade, HTTP2-Settings'], ['upgrade', 'h2c'], ['http2-settings', 'AAA']),
  added(['connection', 'upgrade'], ['upgrade', 'websocket'], ['sec-websocket-key', 'eA==']),
  added(['traceparent', '00-00000000000000000000000000000001-0000000000000001-ff']),
  added(['range', 'bytes=0-1,5-'], ['if-none-match', '*'], ['if-match', '"a"']),
  added(['accept', 'text/html;q=0.0001, */*;q=1e9, application/json;q=NaN']),
  added(['x-http-method-override', 'DELETE'], ['x-original-url', '/metrics']),
  added(['x-forwarded-for', '127.0.0.1'], ['x-forwarded-host', 'evil.example']),
  added(['prefer', 'wait=0'], ['prefer', 'respond-async']),
  added(['prefer', 'foo="a, receipt=signed'], ['prefer', 'receipt=signed; receipt']),
  added(['idempotency-key', 'one'], ['idempotency-key', 'two']),
  added(['__proto__', 'a'], ['constructor', 'b']),
  added(['content-length', '0'], ['content-length', '0']),
];

const HEADERS = [
  'idempotency-key',
  'prefer',
  'traceparent',
  'tracestate',
  'accept',
  'origin',
  'cookie',
  'host',
  'referer',
  'user-agent',
  'if-none-match',
  'x-forwarded-for',
  'mcp-protocol-version',
  'mcp-session-id',
  'last-event-id',
  'sec-fetch-site',
  'access-control-request-method',
  'te',
  'content-type',
  'content-language',
  'accept-encoding',
  'x-writ-csrf',
  'authorization',
];

function twisted(sent: Sent, chance: Chance): Sent {
  return { ...sent, ...chance.pick(TWISTS)(sent, chance) };
}

/**
 * What the attacked service says of itself: endpoints, keys and capabilities, from its public documents.
 *
 * @module
 */

import { field, listAt, membersOf, numberAt, textAt, textsAt } from './fields.ts';
import type { Answer, Wire } from './wire.ts';

/** The run cannot begin or go on. The message completes "Cannot attack: ". */
export class CannotRun extends Error {
  /** The service does not answer, or does not accept a credential; otherwise something else. */
  readonly reason: 'silent' | 'credential' | 'other';

  constructor(message: string, reason: CannotRun['reason'] = 'other') {
    super(message);
    this.name = 'CannotRun';
    this.reason = reason;
  }
}

/** An input as a capability declares it. */
interface DeclaredInput {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly allowed: readonly unknown[];
}

export interface Declared {
  readonly name: string;
  readonly sideEffect: string;
  readonly scopes: readonly string[];
  readonly isFree: boolean;
  readonly inputs: readonly DeclaredInput[];
  /** The declaration as published: `cost`, and extras such as `approval`. */
  readonly raw: unknown;
}

export interface Service {
  readonly id: string;
  readonly endpoints: ReadonlyMap<string, string>;
  readonly capabilities: readonly Declared[];
  readonly jwks: unknown;
  /** The answer with the manifest, for its signature and its bytes. */
  readonly manifest: Answer;
  readonly discovery: unknown;
}

/** Paths of the specification, for services whose discovery does not list them. */
const SPECIFIED: Readonly<Record<string, string>> = {
  manifest: '/svc/manifest',
  tokens: '/svc/tokens',
  permissions: '/svc/permissions',
  invoke: '/svc/invoke',
  audit: '/svc/audit',
};

export async function surveyed(wire: Wire, credential: string): Promise<Service> {
  const answer = await wire.ask({ method: 'GET', path: '/.well-known/svc' });
  if (answer.status === 0) {
    const why = answer.fault === undefined ? '' : ` (${answer.fault})`;
    throw new CannotRun(`"${wire.url.origin}" does not answer${why}`, 'silent');
  }
  const discovery = field(answer.json, 'svc_discovery');
  const id = textAt(discovery, 'service_id');
  if (id === undefined) {
    const what = `"${wire.url.href}" answered ${answer.status} without a discovery document`;
    throw new CannotRun(`${what}; is it a service of the protocol svc/0.24?`);
  }
  const advertised = membersOf(field(discovery, 'endpoints')).filter(
    (each): each is [string, string] => typeof each[1] === 'string' && each[1].startsWith('/'),
  );
  const endpoints = new Map([...Object.entries(SPECIFIED), ...advertised]);
  const manifest = await manifestAt(wire, endpoints.get('manifest') ?? '', credential);
  const declarations = new Map([
    ...membersOf(field(discovery, 'capabilities')),
    ...membersOf(field(manifest.json, 'capabilities')),
  ]);
  const jwks = (await wire.ask({ method: 'GET', path: '/.well-known/jwks.json' })).json;
  const capabilities = [...declarations].map(([name, raw]) => declaredOf(name, raw, discovery));
  return { id, endpoints, capabilities, jwks, manifest, discovery };
}

/** A manifest may ask for a credential. */
async function manifestAt(wire: Wire, path: string, credential: string): Promise<Answer> {
  const open = await wire.ask({ method: 'GET', path });
  return open.status === 401 ? wire.ask({ method: 'GET', path, bearer: credential }) : open;
}

function declaredOf(name: string, raw: unknown, discovery: unknown): Declared {
  const summary = field(discovery, 'capabilities', name);
  const isPaid =
    field(raw, 'cost', 'financial') !== undefined || field(summary, 'financial') === true;
  return {
    name,
    raw,
    sideEffect: textAt(raw, 'side_effect', 'type') ?? 'unknown',
    scopes: textsAt(raw, 'minimum_scope'),
    isFree: !isPaid,
    inputs: listAt(raw, 'inputs').map(inputOf),
  };
}

function inputOf(raw: unknown): DeclaredInput {
  return {
    name: textAt(raw, 'name') ?? '',
    type: textAt(raw, 'type') ?? 'string',
    isRequired: field(raw, 'required') !== false && field(raw, 'default') === undefined,
    allowed: listAt(raw, 'allowed_values'),
  };
}

/** Only reads, costs nothing, and is seen by no person, as far as the declaration says. */
export function isHarmless({ sideEffect, isFree, raw }: Declared): boolean {
  return sideEffect === 'read' && isFree && field(raw, 'approval') === undefined;
}

/** What a call can cost at most, by the declaration. */
export function declaredPrice({ raw }: Declared): { currency: string; amount: number } | undefined {
  const financial = field(raw, 'cost', 'financial');
  const currency = textAt(financial, 'currency');
  const names = ['amount', 'upper_bound', 'range_max'];
  const amount = names.map((name) => numberAt(financial, name)).find((each) => each !== undefined);
  return currency === undefined || amount === undefined ? undefined : { currency, amount };
}

/** Values that fit the declared types. Only required inputs: fewer values can be wrong. */
export function madeUpParameters({ inputs }: Declared, today: string): Record<string, unknown> {
  const required = inputs.filter(({ isRequired }) => isRequired);
  return Object.fromEntries(
    required.map(({ name, type, allowed }) => [
      name,
      allowed.length > 0 ? allowed[0] : (madeUp(today)[type] ?? 'writ-attack'),
    ]),
  );
}

function madeUp(today: string): Readonly<Record<string, unknown>> {
  return {
    integer: 1,
    number: 1,
    boolean: false,
    date: today,
    datetime: `${today}T12:00:00Z`,
    array: [],
    object: {},
  };
}

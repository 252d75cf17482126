/**
 * The world of a run: the service, the two parties whose credentials were given, and the acts that cases share.
 *
 * Every token that the service issues is remembered, so that the run can end it. A case gets tokens only from here.
 *
 * @module
 */

import { field, listAt, textAt, textsAt } from './fields.ts';
import { jwtClaims } from './jwt.ts';
import { isSuccess, judged, NotApplicable } from './outcome.ts';
import type { Declared, Service } from './service.ts';
import type { Answer, Asked, Wire } from './wire.ts';

/** The holder of one of the credentials. */
export interface Party {
  /** How reports name it: its root principal where a token shows it. */
  readonly name: string;
  readonly credential: string;
  /** The id of the credential itself, where it is a delegation token. Its tokens are then children. */
  readonly tokenId?: string | undefined;
  /** Named as subject of its tokens, where the user gives one. */
  readonly subject?: string | undefined;
  /** Those scopes of capabilities that its tokens may have. */
  readonly scopes: readonly string[];
}

export interface Token {
  readonly id: string;
  readonly jwt: string;
  readonly scope: readonly string[];
  readonly answer: unknown;
}

/** A capability that may be called freely: a read without a price, with parameters that it takes. */
export interface Call {
  readonly capability: string;
  readonly scopes: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A call with effects, which the user allowed. */
export interface PaidCall extends Call {
  /** What it costs at most; 0 where it is free. */
  readonly price: { readonly currency: string; readonly amount: number };
  readonly declared: Declared;
}

export interface World {
  readonly wire: Wire;
  readonly service: Service;
  readonly self: Party;
  readonly other: Party;
  readonly approver?: Party | undefined;
  /** Reads that `self` can call; the first has succeeded once. */
  readonly reads: readonly Call[];
  /** The first call of the run, and the token that made it. */
  readonly first?: { readonly invocationId: string; readonly jwt: string } | undefined;
  readonly paid?: PaidCall | undefined;
  readonly approved?: PaidCall | undefined;
  readonly issued: Issued[];
  readonly requests: string[];
  /** A text that no other run uses. */
  unique(what: string): string;
  now(): Date;
}

/** A token that a run must end. */
export interface Issued {
  readonly id: string;
  /** Presented when it was issued. */
  readonly bearer: string | undefined;
  /** Its end follows from the end of another token of this run. */
  readonly isBelow: boolean;
}

/** In every request for a token that is not about lifetimes: a run takes minutes, and a service may not revoke. */
export const ONE_HOUR = { ttl_hours: 1 } as const;

/** In characters. A service may answer with longer ones; they are no tokens for a run. */
const ID_LENGTH_MAX = 256;
const TOKEN_LENGTH_MAX = 16 * 1_024;

export function operationPath({ service }: World, name: string): string {
  const path = service.endpoints.get(name);
  if (path === undefined) throw new NotApplicable(`the service does not offer "${name}"`);
  return path;
}

/** Remembers every token and approval request that the service makes from now on, whichever request asked for it. */
export function rememberLeft({
  wire,
  issued,
  requests,
}: Pick<World, 'wire' | 'issued' | 'requests'>) {
  wire.listen((asked, answer) => {
    const request = textAt(answer.json, 'failure', 'approval_request_id');
    if (request !== undefined && request.length <= ID_LENGTH_MAX && !requests.includes(request)) {
      requests.push(request);
    }
    const token = tokenIn(answer);
    if (!token) return;
    wire.keepSecret(token.jwt);
    // By what was issued, not by what was asked for: a broken service may have issued a root token in its place.
    const parent = textAt(jwtClaims(token.jwt), 'parent_token_id');
    const isBelow = issued.some(({ id }) => id === parent);
    issued.push({ id: token.id, bearer: asked.bearer, isBelow });
  });
}

/** A request that a healthy service answers. Not applicable where it is busy or silent. */
export async function askHealthy({ wire }: World, asked: Asked): Promise<Answer> {
  return judged(await wire.ask(asked));
}

/** Whether the service still answers. One that asks for patience does. */
export async function isAnswering({ wire }: Pick<World, 'wire'>): Promise<boolean> {
  const asked = { method: 'GET', path: '/.well-known/svc', isNeeded: true };
  const answer = await wire.ask(asked);
  const isPatient = answer.status === 503 && answer.headers['retry-after'] !== undefined;
  return isSuccess(answer) || answer.status === 429 || isPatient;
}

/** Asks for a token with any body and any bearer. */
export function issueAs(world: World, bearer: string | undefined, body: unknown): Promise<Answer> {
  return askHealthy(world, { path: operationPath(world, 'tokens'), bearer, body });
}

/** The body that gives a party a token of these scopes. */
export function rootRequest(party: Party, scope: readonly string[], more: object = {}) {
  return {
    scope,
    ...ONE_HOUR,
    ...(party.subject !== undefined && { subject: party.subject }),
    ...(party.tokenId !== undefined && { parent_token: party.tokenId }),
    ...more,
  };
}

/** A token of a party. Not applicable where the service refuses it. */
export async function tokenOf(
  world: World,
  party: Party,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Token> {
  const scope = (more.scope as readonly string[] | undefined) ?? usefulScope(world, party);
  const answer = await issueAs(world, party.credential, rootRequest(party, scope, more));
  const token = tokenIn(answer);
  if (token) return token;
  const why = `the service gives ${party.name} no token for it (${answerSummary(answer)})`;
  throw new NotApplicable(why);
}

/** The scope of the read that cases call, else the first that the party has. */
function usefulScope({ reads }: World, { name, scopes }: Party): readonly string[] {
  const needed = reads[0]?.scopes ?? [];
  if (needed.length > 0 && needed.every((scope) => scopes.includes(scope))) return needed;
  if (scopes.length === 0) throw new NotApplicable(`${name} may have no scope of a capability`);
  return scopes.slice(0, 1);
}

export function tokenIn(answer: Answer): Token | undefined {
  const id = textAt(answer.json, 'token_id');
  const jwt = textAt(answer.json, 'token');
  if (!isSuccess(answer) || id === undefined || jwt === undefined) return undefined;
  if (id.length > ID_LENGTH_MAX || jwt.length > TOKEN_LENGTH_MAX) return undefined;
  return { id, jwt, scope: textsAt(answer.json, 'scope'), answer: answer.json };
}

/** Asks for a child of a token, with that token. */
export function delegate(
  world: World,
  parent: Token,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  const subject = textAt(jwtClaims(parent.jwt), 'sub') ?? 'agent:writ-attack';
  const request = { scope: parent.scope, subject, parent_token: parent.id, ...ONE_HOUR };
  return issueAs(world, parent.jwt, { ...request, ...more });
}

/** A child that the service must give, for a case that goes on with it. */
export async function childOf(
  world: World,
  parent: Token,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Token> {
  const answer = await delegate(world, parent, more);
  const token = tokenIn(answer);
  if (token) return token;
  throw new NotApplicable(`the service gives no child token for it (${answerSummary(answer)})`);
}

/** Shows whether the service accepts a bearer at all: the cheapest call that needs a token. */
export function permissionsAs(world: World, bearer: string | undefined): Promise<Answer> {
  return askHealthy(world, { path: operationPath(world, 'permissions'), bearer, body: {} });
}

/** A token that the service accepts: only then does it mean something that it refuses others. */
export async function acceptedToken(world: World): Promise<Token> {
  const token = await tokenOf(world, world.self);
  await mustAccept(world, token);
  return token;
}

export async function mustAccept(world: World, { jwt }: Token): Promise<Answer> {
  const answer = await permissionsAs(world, jwt);
  if (isSuccess(answer)) return answer;
  throw new NotApplicable(
    `the service does not accept a good token either (${answerSummary(answer)})`,
  );
}

export function invokePath(world: World, capability: string): string {
  const path = operationPath(world, 'invoke');
  const name = encodeURIComponent(capability);
  return path.includes('{')
    ? path.replace(/\{[^}]*\}/, name)
    : `${path.replace(/\/$/, '')}/${name}`;
}

/** Calls a capability that is free to call. */
export function invoke(
  world: World,
  token: Token,
  { capability, parameters }: Call,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  const body = { parameters, ...more };
  return askHealthy(world, { path: invokePath(world, capability), bearer: token.jwt, body });
}

/** Calls a capability with effects: never repeated by itself. */
export function invokeOnce(
  world: World,
  token: Token,
  { capability, parameters }: Call,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  const asked: Asked = { path: invokePath(world, capability), bearer: token.jwt, isOnce: true };
  return world.wire.ask({ ...asked, body: { parameters, ...more } });
}

/** Whether an invocation ran. */
export function hasRun({ json, status }: Answer): boolean {
  return status < 300 && field(json, 'success') === true;
}

export function readCall({ reads }: World): Call {
  const [first] = reads;
  if (first) return first;
  throw new NotApplicable(
    'no free read capability could be called; name one with --capability and --parameters',
  );
}

/** The read that cases call, with a token for it. */
export async function readToken(world: World): Promise<{ call: Call; token: Token }> {
  const call = readCall(world);
  return { call, token: await tokenOf(world, world.self, { scope: call.scopes }) };
}

/** The paid capability of a run with effects. */
export function paidCall({ paid }: World): PaidCall {
  if (paid) return paid;
  throw new NotApplicable(
    'no reversible capability with a fixed price is open to the first credential',
  );
}

export function approvedCall({ approved }: World): PaidCall {
  if (approved) return approved;
  throw new NotApplicable(
    'the manifest declares no capability that always needs approval and is open to the first credential',
  );
}

/** The newest entries of a bearer's own trail. */
export async function trailOf(
  world: World,
  bearer: string,
  query: Readonly<Record<string, string>> = {},
): Promise<readonly unknown[]> {
  return listAt((await auditAs(world, bearer, query)).json, 'entries');
}

export function auditAs(
  world: World,
  bearer: string | undefined,
  query: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const text = new URLSearchParams(query).toString();
  const path = operationPath(world, 'audit') + (text === '' ? '' : `?${text}`);
  return askHealthy(world, { path, bearer });
}

/** A type of failure as services name them; any other text may be anything. */
const FAILURE_TYPE = /^[a-z][a-z_]{0,59}$/;

/** Status and failure type of an answer, for evidence. */
export function answerSummary({ status, json }: Answer): string {
  const type = textAt(json, 'failure', 'type');
  if (status === 0) return 'no answer';
  return type !== undefined && FAILURE_TYPE.test(type) ? `${status} ${type}` : String(status);
}

/** A token whose scope covers a call, and which is bound to another capability. */
export async function tokenBoundElsewhere(
  world: World,
  { capability, scopes }: Call,
): Promise<{ token: Token; bound: string }> {
  const others = world.service.capabilities.filter(({ name }) => name !== capability);
  const isOpen = (declared: Declared) =>
    declared.scopes.every((scope) => world.self.scopes.includes(scope));
  const bound = others.find(isOpen) ?? others[0];
  if (!bound) throw new NotApplicable('the service has one capability only');
  const scope = [...new Set([...scopes, ...(isOpen(bound) ? bound.scopes : [])])];
  const token = await tokenOf(world, world.self, { scope, capability: bound.name });
  return { token, bound: bound.name };
}

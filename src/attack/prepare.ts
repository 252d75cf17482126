/**
 * Prepares a run: finds out what the two credentials may do, and which calls are harmless.
 *
 * Everything here is what an honest client does: it reads public documents, asks for tokens, and calls a free read.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { endAll } from './run.ts';
import { field, textAt, textsAt } from './target/fields.ts';
import { jwtClaims } from './target/jwt.ts';
import { NotApplicable, Unjudged } from './target/outcome.ts';
import {
  CannotRun,
  type Declared,
  declaredPrice,
  isHarmless,
  madeUpParameters,
  surveyed,
} from './target/service.ts';
import { openWire, type Wire, wireUntil } from './target/wire.ts';
import {
  answerSummary,
  type Call,
  hasRun,
  invoke,
  issueAs,
  type PaidCall,
  type Party,
  rememberLeft,
  rootRequest,
  tokenIn,
  tokenOf,
  type World,
} from './target/world.ts';

export interface Credential {
  /** A bootstrap credential, or a delegation token. */
  readonly secret: string;
  /** Named as subject of the tokens it asks for. Most services do not need it. */
  readonly subject?: string | undefined;
}

export interface RunOptions {
  readonly url: string;
  readonly self: Credential;
  readonly other: Credential;
  readonly approver?: Credential | undefined;
  /** The free read that cases call, where the user names it. */
  readonly call?:
    | { readonly capability: string; readonly parameters?: Record<string, unknown> | undefined }
    | undefined;
  readonly now: () => Date;
  /** Ends the preparation. Tokens that it got are revoked first. */
  readonly signal: AbortSignal;
}

/** In milliseconds: a service that takes longer to be looked at is not attacked. */
const PREPARE_MS_MAX = 5 * 60_000;

/** Scopes that are tried one by one for each credential. */
const SCOPES_TRIED_MAX = 24;

/** In characters: reports print it often. */
const NAME_LENGTH_MAX = 256;

/** Of a capability that declares no price. */
const FREE = { currency: 'USD', amount: 0 };

/** Reads that are tried until one succeeds. */
const READS_TRIED_MAX = 8;

export async function prepared(options: RunOptions): Promise<World> {
  const wire = openWire(options.url);
  try {
    return await worldOf(wire, options);
  } catch (error) {
    wire.close();
    throw error;
  }
}

async function worldOf(wire: Wire, options: RunOptions): Promise<World> {
  const { now } = options;
  const end = AbortSignal.any([options.signal, AbortSignal.timeout(PREPARE_MS_MAX)]);
  const bounded = wireUntil(wire, end);
  const given = [options.self, options.other, options.approver];
  for (const each of given) if (each) wire.keepSecret(each.secret);
  const service = await surveyed(bounded, options.self.secret);
  const [self, other] = [blankParty(options.self), blankParty(options.other)];
  const approver = options.approver && { ...blankParty(options.approver), name: 'the approver' };
  const run = randomBytes(4).toString('hex');
  let uniques = 0;
  const unique = (what: string) => `writ-attack-${what}-${run}-${uniques++}`;
  const blank = { wire, service, self, other, reads: [], issued: [], requests: [], unique, now };
  rememberLeft(blank);
  try {
    return { ...(await preparedFrom({ ...blank, wire: bounded, approver }, options)), wire };
  } catch (error) {
    await endAll(blank);
    end.throwIfAborted();
    throw error instanceof Unjudged ? new CannotRun(error.message, 'silent') : error;
  }
}

/** Completes a world that knows nothing of its parties. */
async function preparedFrom(blank: World, options: RunOptions): Promise<World> {
  const { self, other, now } = blank;

  const first = await knownParty(blank, self, 'the first credential');
  const second = await knownParty({ ...blank, self: first }, other, 'the second credential');
  if (first.name === second.name) {
    throw new CannotRun(`both credentials are of "${first.name}": give those of two principals`);
  }
  const world: World = { ...blank, self: first, other: second };
  const { reads, first: firstCall } = await harmlessCalls(world, options);
  const today = now().toISOString().slice(0, 10);
  const ready = { ...world, reads, first: firstCall };
  return { ...ready, paid: paidIn(ready, today), approved: approvedIn(ready, today) };
}

function blankParty({ secret, subject }: Credential): Party {
  const claims = jwtClaims(secret);
  const tokenId = textAt(claims, 'jti');
  // Explicit for delegated issuance.
  const named = subject ?? (tokenId === undefined ? undefined : textAt(claims, 'sub'));
  return { name: 'a principal', credential: secret, tokenId, subject: named, scopes: [] };
}

/** Finds the scopes that a credential gets, and the principal that its tokens speak for. */
async function knownParty(world: World, party: Party, what: string): Promise<Party> {
  const { capabilities } = world.service;
  const wanted =
    party.tokenId === undefined
      ? [...new Set(capabilities.flatMap(({ scopes }) => scopes))]
      : // A delegation token says what it has.
        textsAt(jwtClaims(party.credential), 'scope');
  const usual = await grantedScopes(world, party, wanted.slice(0, SCOPES_TRIED_MAX));
  // An approver may have no scope of a capability, and is a principal all the same.
  const found =
    usual.scopes.length > 0
      ? usual
      : await grantedScopes(world, party, approverScopes(capabilities));
  if (found.jwt !== undefined) {
    const name = world.wire.withoutSecrets(principalOf(found.jwt, what)).slice(0, NAME_LENGTH_MAX);
    return { ...party, name, scopes: found.scopes };
  }
  if (usual.refusal.startsWith('401')) {
    const why = `the service does not accept ${what} (${usual.refusal})`;
    throw new CannotRun(why, 'credential');
  }
  throw new CannotRun(`${what} gets no token with a scope of any capability (${usual.refusal})`);
}

function approverScopes(capabilities: readonly Declared[]): string[] {
  const approved = capabilities.filter(({ raw }) => field(raw, 'approval') !== undefined);
  const names = approved.map(({ name }) => `approver:${name}`);
  return ['approver:*', ...names].slice(0, SCOPES_TRIED_MAX);
}

/** One by one, although one token could have all: no token of a run can do more than a case needs. */
async function grantedScopes(world: World, party: Party, wanted: readonly string[]) {
  const scopes: string[] = [];
  let jwt: string | undefined;
  let refusal = 'there is no scope to ask for';
  for (const scope of wanted) {
    const answer = await issueAs(world, party.credential, rootRequest(party, [scope]));
    const token = tokenIn(answer);
    if (!token) refusal = answerSummary(answer);
    if (answer.status === 401) break;
    if (!token) continue;
    scopes.push(scope);
    jwt = token.jwt;
  }
  return { scopes, jwt, refusal };
}

function principalOf(jwt: string, otherwise: string): string {
  const claims = jwtClaims(jwt);
  return textAt(claims, 'root_principal') ?? textAt(claims, 'sub') ?? otherwise;
}

/** Free reads whose scope the first party has. The first of them has succeeded. */
async function harmlessCalls(
  world: World,
  { call, now }: RunOptions,
): Promise<Pick<World, 'reads' | 'first'>> {
  const today = now().toISOString().slice(0, 10);
  const free = world.service.capabilities.filter(
    (each) => isHarmless(each) && isOpenTo(world.self, each),
  );
  const chosen = call && free.find(({ name }) => name === call.capability);
  if (call && !chosen) {
    const why =
      'it is no capability that only reads, costs nothing and is open to the first credential';
    throw new CannotRun(`"${call.capability}" is not called: ${why}`);
  }
  const tried = chosen ? [chosen] : free.slice(0, READS_TRIED_MAX);
  for (const declared of tried) {
    const parameters = call?.parameters ?? madeUpParameters(declared, today);
    const read: Call = { capability: declared.name, scopes: declared.scopes, parameters };
    const token = await tokenFor(world, read);
    if (!token) continue;
    const answer = await invoke(world, token, read);
    const invocationId = textAt(answer.json, 'invocation_id');
    if (!hasRun(answer) || invocationId === undefined) continue;
    return { reads: [read], first: { invocationId, jwt: token.jwt } };
  }
  if (call) throw new CannotRun(`"${call.capability}" does not succeed with these parameters`);
  return { reads: [], first: undefined };
}

async function tokenFor(world: World, { scopes }: Call) {
  try {
    return await tokenOf(world, world.self, { scope: scopes });
  } catch (error) {
    if (error instanceof NotApplicable) return undefined;
    throw error;
  }
}

function isOpenTo({ scopes }: Party, declared: Declared): boolean {
  return declared.scopes.length > 0 && declared.scopes.every((scope) => scopes.includes(scope));
}

/** The capability that paid cases call: a fixed price, nothing else needed, the fewest made-up values. */
function paidIn(world: World, today: string): PaidCall | undefined {
  const plain = world.service.capabilities.filter((declared) => {
    const { raw, sideEffect } = declared;
    const isFixed = textAt(raw, 'cost', 'certainty') === 'fixed';
    const needs = ['approval', 'requires_binding', 'composition', 'control_requirements'];
    const isPlain = needs.every((name) => field(raw, name) === undefined);
    const isPaid = (declaredPrice(declared)?.amount ?? 0) > 0;
    return (
      isPaid &&
      isFixed &&
      isPlain &&
      sideEffect !== 'irreversible' &&
      field(raw, 'delegable') !== false
    );
  });
  return simplest(world, plain, today);
}

/** The capability whose approval is attacked. That it always needs one is an extension of the manifest. */
function approvedIn(world: World, today: string): PaidCall | undefined {
  const always = world.service.capabilities.filter(
    ({ raw }) =>
      textAt(raw, 'approval', 'when') === 'always' &&
      Number(field(raw, 'approval', 'approvals_required') ?? 1) === 1,
  );
  return simplest(world, always, today);
}

function simplest(
  world: World,
  declared: readonly Declared[],
  today: string,
): PaidCall | undefined {
  const calls = declared.flatMap((each): PaidCall[] => {
    const price = declaredPrice(each) ?? FREE;
    if (!isOpenTo(world.self, each)) return [];
    const parameters = madeUpParameters(each, today);
    return [{ capability: each.name, scopes: each.scopes, parameters, price, declared: each }];
  });
  const size = ({ parameters }: Call) => Object.keys(parameters).length;
  return calls.sort(
    (one, other) => size(one) - size(other) || one.price.amount - other.price.amount,
  )[0];
}

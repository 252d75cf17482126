/**
 * Token exchange (RFC 8693): a service that acts for a person gets a token of its own.
 *
 * The subject token says for whom; the actor token says who acts. A delegation token as subject gives a
 * child of it, so the result can only be narrower. An identity token of the person gives a root token
 * within the entitlement of the person. The actor is the subject of the new token, and the chain shows it.
 *
 * @module
 */

import { chainNames } from '../../domain/authority/chain.ts';
import { Refusal } from '../../domain/failure.ts';
import { sameResource } from '../../domain/sign-in/authorize.ts';
import { NO_SUGGESTIONS, readDetails, type Suggestions } from '../../domain/sign-in/details.ts';
import { IssueRequest } from '../../protocol/token.ts';
import { issueToken } from '../authority/issue.ts';
import { callerOf } from '../caller/caller.ts';
import type { Ask } from '../operations/operations.ts';
import { resourcesOf } from './metadata.ts';
import { type Fields, OAuthError, type OAuthErrorCode, type TokenAnswer } from './oauth.ts';
import type { SignInParts } from './parts.ts';

const TYPE = 'urn:ietf:params:oauth:token-type:';
const ACCESS_TOKEN = `${TYPE}access_token`;

/** What a subject or an actor may present. What the text really is decides, not its declared type. */
const TAKEN_TYPES: readonly string[] = ['access_token', 'jwt', 'id_token'].map(
  (name) => `${TYPE}${name}`,
);

export async function exchangeToken(parts: SignInParts, fields: Fields): Promise<TokenAnswer> {
  refuseMalformed(parts, fields);
  const actor = await principalOf(parts, fields.actor_token as string, 'actor_token');
  const subject = await subjectOf(parts, fields.subject_token as string);
  const limits = limitsIn(fields);
  const hours = parts.config.sign_in.access_minutes / 60;
  const request = IssueRequest.safeParse({
    scope: fields.scope?.split(' ').filter((each) => each !== '') ?? subject.scope,
    subject: actor,
    parent_token: subject.tokenId,
    capability: limits.capabilities[0],
    purpose_parameters: limits.purpose === undefined ? undefined : { for: limits.purpose },
    budget: limits.budget,
    ttl_hours: Math.min(limits.ttl_hours ?? hours, hours),
    max_delegation_depth: limits.max_delegation_depth,
  });
  if (!request.success) {
    const [issue] = request.error.issues;
    const detail = `Cannot exchange: ${issue?.path.join('.')}: ${issue?.message}`;
    throw new OAuthError('invalid_request', detail);
  }
  const ask: Ask = { bearer: () => fields.subject_token, input: () => request.data };
  const issued = await issueToken(parts, ask).catch((error: unknown) => {
    throw error instanceof Refusal ? exchangeError(error) : error;
  });
  const until = new Date(issued.expires_at).getTime();
  return {
    access_token: issued.token,
    issued_token_type: ACCESS_TOKEN,
    token_type: 'Bearer',
    expires_in: Math.floor((until - parts.store.now().getTime()) / 1_000),
    scope: issued.scope.join(' '),
    act: actorsOf([...subject.chain, actor]),
  };
}

/** RFC 8693: a service that says nothing else about the failure answers invalid_request. */
function exchangeError({ failure }: Refusal): OAuthError {
  const code: OAuthErrorCode =
    failure.type === 'scope_escalation' || failure.type === 'not_entitled'
      ? 'invalid_scope'
      : 'invalid_request';
  return new OAuthError(code, failure.detail);
}

function refuseMalformed(parts: SignInParts, fields: Fields): void {
  for (const name of ['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type']) {
    if (fields[name] !== undefined && fields[name] !== '') continue;
    throw new OAuthError('invalid_request', `Cannot exchange: expected "${name}"`);
  }
  for (const name of ['subject_token_type', 'actor_token_type']) {
    if (TAKEN_TYPES.includes(fields[name] as string)) continue;
    const detail = `Cannot exchange: expected "${name}" to be one of ${TAKEN_TYPES.join(', ')}`;
    throw new OAuthError('invalid_request', detail);
  }
  if (![undefined, ACCESS_TOKEN].includes(fields.requested_token_type)) {
    throw new OAuthError('invalid_request', `Cannot exchange: only ${ACCESS_TOKEN} is given`);
  }
  if (fields.audience !== undefined && fields.audience !== parts.definition.id) {
    throw new OAuthError('invalid_target', 'Cannot exchange: "audience" is another service');
  }
  const resources = resourcesOf(parts.baseUrl());
  if (fields.resource !== undefined && !sameResource(fields.resource, resources)) {
    throw new OAuthError('invalid_target', 'Cannot exchange: "resource" is another service');
  }
}

function limitsIn({ authorization_details: text }: Fields): Suggestions {
  const read = readDetails(text);
  if ('fault' in read) throw new OAuthError('invalid_authorization_details', read.fault);
  const limits = read.suggestions ?? NO_SUGGESTIONS;
  if (limits.capabilities.length <= 1) return limits;
  const detail = 'Cannot exchange: a token is bound to at most one capability';
  throw new OAuthError('invalid_authorization_details', detail);
}

async function principalOf(parts: SignInParts, bearer: string, what: string): Promise<string> {
  const judged = await judge(parts, bearer, what);
  return judged.principal;
}

interface ExchangedSubject {
  /** The names above the new token, root first. */
  readonly chain: readonly string[];
  readonly scope: readonly string[];
  readonly tokenId?: string | undefined;
}

async function subjectOf(parts: SignInParts, bearer: string): Promise<ExchangedSubject> {
  const caller = await judge(parts, bearer, 'subject_token');
  if (caller.kind === 'identity') return { chain: [caller.principal], scope: [] };
  const { token, loaded } = caller;
  const subjects = loaded.lineage.map(({ subject }) => subject);
  return {
    chain: chainNames(token.root_principal, subjects),
    scope: token.scope,
    tokenId: token.token_id,
  };
}

async function judge(parts: SignInParts, bearer: string, what: string) {
  const ask: Ask = { bearer: () => bearer, input: () => ({}) };
  const judged = await callerOf(parts, ask).catch((error: unknown) => {
    if (error instanceof Refusal) return { failure: error.failure };
    throw error;
  });
  if ('caller' in judged) return judged.caller;
  throw new OAuthError('invalid_request', `Cannot use the ${what}: ${judged.failure.detail}`);
}

/** The nearest actor outside, the person innermost. */
function actorsOf(names: readonly string[]): object {
  const [root = '', ...rest] = names.filter((name, index) => name !== names[index - 1]);
  return rest.reduce<object>((inner, sub) => ({ sub, act: inner }), { sub: root });
}

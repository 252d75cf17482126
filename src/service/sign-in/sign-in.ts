/**
 * Sign-in as transports use it: sessions, the authorization server, and the agents of a person.
 *
 * Offered only where a person can sign in: at a configured identity provider, or with a configured key on a
 * service that only this machine reaches.
 *
 * @module
 */

import { Refusal } from '../../domain/failure.ts';
import type { Logger } from '../../log.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../storage/port/store.ts';
import { failureOf } from '../operations/operations.ts';
import { type AgentsView, type AgentView, agentOf, agentsOf, endAgent, stopAll } from './agents.ts';
import { type AuthorizeAnswer, type AuthorizeRequest, authorize } from './authorize.ts';
import { createClients } from './clients.ts';
import {
  type AskedResource,
  grantableScopes,
  metadataUrl,
  resourceMetadata,
  serverMetadata,
} from './metadata.ts';
import type { Fields, TokenAnswer } from './oauth.ts';
import type { SignInParts } from './parts.ts';
import {
  type BegunLogin,
  beginLogin,
  endSession,
  finishLogin,
  hasSignIn,
  type LoginRequest,
  type LoginReturn,
  livingSession,
  logoutByProvider,
  type Session,
  signInByKey,
  signOut,
  takesKeys,
} from './sessions.ts';
import { answerToken, revokeGiven } from './token.ts';

export interface SignIn {
  /** The name of the service, as people know it. */
  readonly service: string;
  readonly providers: readonly { readonly id: string; readonly label: string }[];
  /** The id of the provider with this issuer. */
  providerOf(issuer: string): string | undefined;
  readonly takesKeys: boolean;
  readonly registers: boolean;
  /** Whether people connect accounts at other services. */
  readonly hasAccounts: boolean;
  baseUrl(): string;
  /** The configured address, known before the service listens. */
  readonly publicUrl?: string | undefined;
  /** The address and the scopes that a refusal names. */
  metadataUrl(asked: AskedResource): string;
  scopes(): readonly string[];
  serverMetadata(): object;
  resourceMetadata(asked: AskedResource): object;

  session(secret: string | undefined): Promise<Session | undefined>;
  signInByKey(key: string, userAgent: string): Promise<Session>;
  beginLogin(request: LoginRequest): Promise<BegunLogin>;
  finishLogin(
    query: URLSearchParams,
    at: LoginReturn,
  ): Promise<{ session: Session; returnTo: string }>;
  signOut(session: Session, isEverywhere: boolean): Promise<void>;
  /** Ends another session of the same person. */
  endSession(session: Session, sessionId: string): Promise<void>;
  logoutByProvider(token: string): Promise<boolean>;

  authorize(request: AuthorizeRequest): Promise<AuthorizeAnswer>;
  token(fields: Fields): Promise<TokenAnswer>;
  revoke(fields: Fields): Promise<void>;
  register(body: unknown): object;

  agents(session: Session): Promise<AgentsView>;
  agent(session: Session, id: string): Promise<AgentView>;
  endAgent(session: Session, id: string): Promise<void>;
  /** Resolves with the number of agents that ended. */
  stopAll(session: Session): Promise<number>;
}

/** Undefined where no person can sign in. */
export function createSignIn(parts: SignInParts): SignIn | undefined {
  const { config, definition, baseUrl } = parts;
  const isByKey = takesKeys(parts);
  const providers = parts.providers.all();
  if (!hasSignIn(parts)) return undefined;
  const clients = createClients(parts);
  const registers = config.sign_in.registration === 'on';
  const isGated = config.manifest_access !== 'public';
  const scopes = isGated ? [] : grantableScopes(definition.catalog.capabilities.values());
  const refusing = refusingWhileAway(parts.log);
  return {
    service: definition.id,
    providers: providers.map(({ id, label }) => ({ id, label })),
    providerOf: (issuer) => parts.providers.ofIssuer(issuer)?.id,
    takesKeys: isByKey,
    registers,
    hasAccounts: definition.accounts.size > 0,
    baseUrl,
    publicUrl: config.public_url,
    scopes: () => scopes,
    metadataUrl: (asked) => metadataUrl(baseUrl(), asked),
    serverMetadata: () => serverMetadata(baseUrl(), { registers }),
    resourceMetadata: (asked) => resourceMetadata(baseUrl(), asked, scopes),
    session: refusing((secret) => livingSession(parts, secret)),
    signInByKey: refusing((key, userAgent) => signInByKey(parts, key, userAgent)),
    beginLogin: refusing((request) => beginLogin(parts, request)),
    finishLogin: refusing((query, at) => finishLogin(parts, query, at)),
    signOut: refusing((session, isEverywhere) => signOut(parts, session, isEverywhere)),
    endSession: refusing((session, sessionId) => endSession(parts, session, sessionId)),
    logoutByProvider: refusing((token) => logoutByProvider(parts, token)),
    authorize: refusing((request) => authorize(parts, clients, request)),
    token: refusing((fields) => answerToken({ ...parts, clients }, fields)),
    revoke: refusing((fields) => revokeGiven(parts, fields)),
    register: (body) => clients.register(body),
    agents: refusing((session) => agentsOf(parts, session)),
    agent: refusing((session, id) => agentOf(parts, session, id)),
    endAgent: refusing((session, id) => endAgent(parts, session, id)),
    stopAll: refusing((session) => stopAll(parts, session)),
  };
}

/** Acts of people that refuse, as operations do, while the store cannot be used. */
export function refusingWhileAway(log: Logger) {
  return <Asked extends unknown[], Answered>(act: (...asked: Asked) => Promise<Answered>) =>
    (...asked: Asked): Promise<Answered> =>
      act(...asked).catch((error: unknown) => {
        const isAway = error instanceof StoreUnavailable || error instanceof OutcomeUnknown;
        throw isAway ? new Refusal(failureOf('sign-in', error, log)) : error;
      });
}

/**
 * Authorization requests: what a client asks for at `/authorize`, read strictly.
 *
 * The answer goes to the redirect only when the client and the redirect are known good. Otherwise a page
 * shows the fault, because a stranger may have written the whole link. What a client asks for is a
 * suggestion: the person decides on the consent page.
 *
 * @module
 */

import { isScope } from '../authority/scope-pattern.ts';
import { toBase64url } from '../wire/base64.ts';
import { sha256, utf8 } from '../wire/hash.ts';
import { CLIENT_ID_MAX, type Client } from './client.ts';
import { NO_SUGGESTIONS, readDetails, type Suggestions } from './details.ts';
import { answerUrl, matchesRedirect, REDIRECT_LENGTH_MAX } from './redirect.ts';

export interface AuthorizationRequest {
  readonly client: Client;
  readonly redirect_uri: string;
  readonly state?: string | undefined;
  readonly challenge: string;
  readonly scope: readonly string[];
  readonly resource?: string | undefined;
  readonly suggestions: Suggestions;
  /** The client wants the person to sign in again, or to choose another account (`prompt`). */
  readonly asksSignIn: boolean;
}

/** An error of RFC 6749 section 4.1.2.1, RFC 8707, RFC 9396 or OpenID Connect Core section 3.1.2.6. */
export type AuthorizationError =
  | 'invalid_request'
  | 'unauthorized_client'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_authorization_details'
  | 'consent_required'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported';

export interface AuthorizationFault {
  readonly error: AuthorizationError;
  readonly description: string;
  /** Where the error goes. Absent: it is shown on a page and sent nowhere. */
  readonly mayRedirect?: { readonly redirect_uri: string; readonly state?: string | undefined };
}

export type AuthorizationReading =
  | { readonly request: AuthorizationRequest }
  | { readonly fault: AuthorizationFault };

export interface AuthorizationContext {
  /** The client with the id that `clientIdOf` read; absent when there is none. */
  readonly client: Client | undefined;
  /** The URLs of this service, as its metadata has them. */
  readonly resources: readonly string[];
}

/** The client id of a request, by which the service looks up the client. */
export function clientIdOf(params: URLSearchParams): string | undefined {
  const [id, ...more] = params.getAll('client_id');
  if (id === undefined || more.length > 0) return undefined;
  return id === '' || id.length > CLIENT_ID_MAX ? undefined : id;
}

export function readAuthorization(
  params: URLSearchParams,
  { client, resources }: AuthorizationContext,
): AuthorizationReading {
  const shownFault = (error: AuthorizationError, description: string): AuthorizationReading => ({
    fault: { error, description },
  });
  const id = clientIdOf(params);
  if (id === undefined)
    return shownFault('invalid_request', 'Cannot read client_id: expected it once');
  if (client?.client_id !== id) {
    return shownFault(
      'unauthorized_client',
      'Cannot find the client: this service does not know it',
    );
  }
  const redirect_uri = onceOf(params, 'redirect_uri', REDIRECT_LENGTH_MAX);
  if (redirect_uri === undefined) {
    return shownFault('invalid_request', 'Cannot read redirect_uri: expected it once');
  }
  if (!client.redirect_uris.some((registered) => matchesRedirect(registered, redirect_uri))) {
    return shownFault('invalid_request', 'Cannot use redirect_uri: the client did not register it');
  }

  const given = withoutEmpty(params);
  const state = onceOf(given, 'state', STATE_MAX);
  const mayRedirect = { redirect_uri, state: isState(state) ? state : undefined };
  const fault = malformedParameter(params) ?? requestFault(given, resources);
  if (fault) return { fault: { ...fault, mayRedirect } };
  const details = readDetails(onceOf(given, 'authorization_details', DETAILS_MAX));
  if ('fault' in details) {
    const error = 'invalid_authorization_details';
    return { fault: { error, description: details.fault, mayRedirect } };
  }
  return {
    request: {
      client,
      redirect_uri,
      state,
      challenge: given.get('code_challenge') as string,
      scope: scopesOf(given),
      resource: sameResource(given.get('resource') ?? undefined, resources),
      suggestions: details.suggestions ?? NO_SUGGESTIONS,
      asksSignIn: promptsOf(given).some((each) => each === 'login' || each === 'select_account'),
    },
  };
}

/** The address that gives the client its code. By `issuer` a client tells servers apart (RFC 9207). */
export function codeUrl(
  { redirect_uri, state }: Pick<AuthorizationRequest, 'redirect_uri' | 'state'>,
  code: string,
  issuer: string,
): string {
  return answerUrl(redirect_uri, { code, state, iss: issuer });
}

/** The address that tells the client about an error; `undefined` when a page must show it. */
export function faultUrl(
  { error, description, mayRedirect }: Omit<AuthorizationFault, 'error'> & { error: string },
  issuer: string,
): string | undefined {
  if (!mayRedirect) return undefined;
  // RFC 6749 section 4.1.2.1: printable ASCII without double quote and backslash.
  const error_description = description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'");
  const { redirect_uri, state } = mayRedirect;
  return answerUrl(redirect_uri, { error, error_description, state, iss: issuer });
}

/** The S256 challenge of a verifier; `undefined` when the text is no verifier (RFC 7636 section 4.1). */
export function challengeOf(verifier: string): string | undefined {
  return PKCE_TEXT.test(verifier) ? toBase64url(sha256(utf8(verifier))) : undefined;
}

/**
 * The URL of this service that a text names, or `undefined`. Clients write an empty path as "/" or leave
 * it out, so texts that a URL parser reads as the same count as the same.
 */
export function sameResource(
  text: string | undefined,
  resources: readonly string[],
): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined;
  const { href } = new URL(text);
  return resources.find((each) => each === text || new URL(each).href === href);
}

/** Characters. A state is a key into what the client remembers. */
const STATE_MAX = 1_024;
const SCOPE_TEXT_MAX = 8_192;
const DETAILS_MAX = 8_192;
const RESOURCE_MAX = 2_000;

/** Scopes of one request: some clients ask for all that the metadata lists. */
const SCOPES_ASKED_MAX = 200;

/** Parameters of one request. The protocol and its extensions have about 30. */
const PARAMETERS_MAX = 64;

/** RFC 7636: the unreserved characters of URIs, for verifiers and challenges. */
const PKCE_TEXT = /^[A-Za-z0-9._~-]{43,128}$/;

/** RFC 6749 appendix A.5. */
const STATE = /^[\x20-\x7e]+$/;

/** What is read here, with the most characters of each. A repeated one of these is a fault. */
const LENGTHS: Readonly<Record<string, number>> = {
  response_type: 64,
  response_mode: 64,
  state: STATE_MAX,
  scope: SCOPE_TEXT_MAX,
  code_challenge: 128,
  code_challenge_method: 16,
  resource: RESOURCE_MAX,
  authorization_details: DETAILS_MAX,
  prompt: 128,
};

type Fault = Pick<AuthorizationFault, 'error' | 'description'>;
type Rule = (params: URLSearchParams, resources: readonly string[]) => Fault | undefined;

/** The first rule that finds something. `malformedParameter` ran before, so that each reads one value. */
function requestFault(params: URLSearchParams, resources: readonly string[]): Fault | undefined {
  for (const rule of RULES) {
    const found = rule(params, resources);
    if (found) return found;
  }
  return undefined;
}

function malformedParameter(params: URLSearchParams): Fault | undefined {
  if (params.size > PARAMETERS_MAX) {
    return invalid(`Cannot read the request: it has more than ${PARAMETERS_MAX} parameters`);
  }
  for (const [name, most] of Object.entries(LENGTHS)) {
    const values = params.getAll(name);
    if (values.length > 1) return invalid(`Cannot read ${name}: it is there twice`);
    if ((values[0]?.length ?? 0) > most) {
      return invalid(`Cannot read ${name}: it has more than ${most} characters`);
    }
  }
  return undefined;
}

/** OpenID Connect Core, sections 6 and 7.2.1: what is not offered is refused by its own name. */
function unsupportedObject(params: URLSearchParams): Fault | undefined {
  for (const name of ['request', 'request_uri', 'registration'] as const) {
    if (!params.has(name)) continue;
    return { error: `${name}_not_supported`, description: `Cannot use ${name}: not offered here` };
  }
  return undefined;
}

function otherResponse(params: URLSearchParams): Fault | undefined {
  const type = params.get('response_type');
  if (type === null) return invalid('Cannot read response_type: expected "code"');
  if (type !== 'code') {
    const description = 'Cannot use response_type: only "code" is offered';
    return { error: 'unsupported_response_type', description };
  }
  const mode = params.get('response_mode');
  if (mode === null || mode === 'query') return undefined;
  return invalid('Cannot use response_mode: only "query" is offered');
}

/** Without a method RFC 7636 means `plain`, which an onlooker of the request could use. */
function weakChallenge(params: URLSearchParams): Fault | undefined {
  if (!PKCE_TEXT.test(params.get('code_challenge') ?? '')) {
    return invalid('Cannot read code_challenge: expected 43 to 128 characters of RFC 7636');
  }
  if (params.get('code_challenge_method') === 'S256') return undefined;
  return invalid('Cannot use code_challenge_method: only "S256" is offered');
}

function malformedState(params: URLSearchParams): Fault | undefined {
  const state = params.get('state');
  if (state === null || isState(state)) return undefined;
  return invalid('Cannot read state: expected printable ASCII characters');
}

function malformedScope(params: URLSearchParams): Fault | undefined {
  const scopes = scopesOf(params);
  const error = 'invalid_scope';
  if (scopes.length > SCOPES_ASKED_MAX) {
    return { error, description: `Cannot read scope: it names more than ${SCOPES_ASKED_MAX}` };
  }
  if (scopes.every(isScope)) return undefined;
  return { error, description: 'Cannot read scope: expected scopes of RFC 6749 between spaces' };
}

/** RFC 8707: a token for another service is never issued here. */
function otherResource(params: URLSearchParams, resources: readonly string[]): Fault | undefined {
  const asked = params.get('resource');
  if (asked === null || sameResource(asked, resources) !== undefined) return undefined;
  const description = 'Cannot use resource: it is not a URL of this service';
  return { error: 'invalid_target', description };
}

/** Consent is always asked for, so a client that forbids every page cannot be served. */
function silentPrompt(params: URLSearchParams): Fault | undefined {
  const prompts = promptsOf(params);
  if (!prompts.includes('none')) return undefined;
  if (prompts.length > 1) return invalid('Cannot use prompt: "none" stands alone');
  const description = 'Cannot answer without a page: a person consents each time';
  return { error: 'consent_required', description };
}

const RULES: readonly Rule[] = [
  unsupportedObject,
  otherResponse,
  weakChallenge,
  malformedState,
  malformedScope,
  otherResource,
  silentPrompt,
];

/** RFC 6749 section 3.1: a parameter without a value counts as absent. */
function withoutEmpty(params: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...params].filter(([, value]) => value !== ''));
}

function onceOf(params: URLSearchParams, name: string, most: number): string | undefined {
  const [value, ...more] = params.getAll(name);
  return more.length > 0 || (value?.length ?? 0) > most ? undefined : value;
}

function isState(state: string | undefined): state is string {
  return state !== undefined && STATE.test(state);
}

function scopesOf(params: URLSearchParams): string[] {
  return spacedWords(params.get('scope'));
}

function promptsOf(params: URLSearchParams): string[] {
  return spacedWords(params.get('prompt'));
}

function spacedWords(text: string | null): string[] {
  return [...new Set((text ?? '').split(' ').filter((word) => word !== ''))];
}

function invalid(description: string): Fault {
  return { error: 'invalid_request', description };
}

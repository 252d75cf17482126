/**
 * The authorization endpoint: what a client asks for, what the person gives, and the code that it gets.
 *
 * Errors go to the redirect of the client only when client and redirect are known to belong together. What a
 * person gave before is shown and never applied. A consent makes one root token, within what the person is
 * entitled to; it is never handed out.
 *
 * @module
 */

import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { entitles } from '../../domain/authority/scope-pattern.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import {
  type AuthorizationRequest,
  clientIdOf,
  codeUrl,
  faultUrl,
  readAuthorization,
} from '../../domain/sign-in/authorize.ts';
import { agentSubject } from '../../domain/sign-in/client.ts';
import {
  type ConsentOption,
  consentOptions,
  currenciesOf,
  type TICKS,
  tickedNames,
} from '../../domain/sign-in/consent.ts';
import {
  type Choice,
  type Consented,
  type ConsentForm,
  type ConsentLimits,
  consentRequest,
  passOnChoices,
  untilChoices,
} from '../../domain/sign-in/consent-form.ts';
import { amountWords, spanOf, summaryOf } from '../../domain/sign-in/consent-words.ts';
import { neverGiven } from '../../domain/sign-in/givable.ts';
import { type RedirectTarget, redirectHost } from '../../domain/sign-in/redirect.ts';
import { newSecret, secretHash } from '../../keyring/secrets.ts';
import type { Failure } from '../../protocol/failure.ts';
import { IssueRequest } from '../../protocol/token.ts';
import type { ConsentRecord } from '../../storage/port/sign-in-store.ts';
import { frozenFor } from '../authority/freeze.ts';
import { issuanceEntry, rootAuthority, unsignedToken } from '../authority/issue.ts';
import { newId } from '../operations/random.ts';
import { entitlementOf } from './accounts.ts';
import type { Clients } from './clients.ts';
import { sessionEntry } from './entries.ts';
import { resourcesOf } from './metadata.ts';
import { OAuthError } from './oauth.ts';
import type { SignInParts } from './parts.ts';
import type { StepUp } from './provider.ts';
import { isProved, type Session, USER_AGENT_MAX } from './sessions.ts';

/** In milliseconds: how long a code waits for its client. */
const CODE_MS = 60_000;

/** Random bytes in the name of an agent, so that two installations of one client differ. */
const SUBJECT_BYTES = 4;

/** Earlier consents that are searched for one to the same client. */
const EARLIER_MAX = 50;

/** What the person decides on. */
export interface ConsentView {
  readonly client: {
    readonly name: string;
    readonly id: string;
    readonly isVerified: boolean;
    readonly answersTo: Pick<RedirectTarget, 'isLoopback' | 'host'>;
  };
  /** What the person gave this client before. */
  readonly before?: string | undefined;
  readonly options: readonly ConsentOption[];
  /** Scopes that the client asks for and that no consent gives. */
  readonly neverGiven: readonly string[];
  readonly currencies: readonly string[];
  readonly chosenCurrency: string;
  readonly limit: string;
  readonly suggestedLimit?: string | undefined;
  readonly untils: readonly Choice[];
  readonly askedUntil?: string | undefined;
  readonly purpose: string;
  readonly passOn: readonly Choice[];
  /** What is wrong with the form that was sent. */
  readonly problem?: string | undefined;
}

/** What happens next in the browser. */
export type AuthorizeAnswer =
  | { readonly show: ConsentView }
  /** To the client, with a code or an error. */
  | { readonly redirect: string }
  /** The person has to prove again who they are, and comes back to the same request. */
  | { readonly stepUp: StepUp };

export interface AuthorizeRequest {
  readonly session: Session;
  /** The parameters of the client. */
  readonly params: URLSearchParams;
  readonly userAgent: string;
  /** What the person decided; absent before that. */
  readonly decision?: 'refuse' | ConsentForm | Filled | undefined;
}

/** A form that is shown again, with what the person filled in. */
interface Filled {
  readonly filled: ConsentForm;
  /** Boxes to tick instead of those that the person ticked. */
  readonly tick?: (typeof TICKS)[number] | undefined;
}

/** Rejects with an `OAuthError` that is shown to the person and sent nowhere. */
export async function authorize(
  parts: SignInParts,
  clients: Clients,
  asked: AuthorizeRequest,
): Promise<AuthorizeAnswer> {
  const { session, params, decision } = asked;
  const clientId = clientIdOf(params);
  const client = clientId === undefined ? undefined : await clients.find(clientId);
  const reading = readAuthorization(params, { client, resources: resourcesOf(parts.baseUrl()) });
  if ('fault' in reading) {
    const redirect = faultUrl(reading.fault, parts.baseUrl());
    if (redirect !== undefined) return { redirect };
    throw new OAuthError('invalid_request', reading.fault.description);
  }
  const { request } = reading;
  if (decision === 'refuse') return deniedAnswer(parts, session, request);
  const entitlement = await entitlementOf(parts, session.record);
  if (!entitlement) {
    throw new Refusal(failure('not_entitled', 'Cannot give consent: your account has ended'));
  }
  const page = { parts, session, request, entitlement };
  if (decision === undefined) {
    const isAgain = request.asksSignIn && !isNew(session, parts.store.now());
    return isAgain ? { stepUp: JUST_NOW } : { show: await viewOf(page) };
  }
  if ('filled' in decision) return { show: await viewOf(page, filledForm(page, decision)) };
  return decide(page, decision, asked.userAgent).catch(async (error: unknown) => {
    if (error instanceof Refusal) await enterRefusal(page, error.failure);
    throw error;
  });
}

/** What a provider is asked for a client with `prompt=login`: the person signs in again now. */
const JUST_NOW: StepUp = { maxAgeSeconds: 60 };

/** In milliseconds: how long a session counts as new for such a client. */
const NEW_MS = 300_000;

/**
 * Judged by the clock of this service: by the clock of a provider that is behind, a person could sign in again
 * and again.
 */
function isNew({ record }: Session, now: Date): boolean {
  return now.getTime() - record.created_at.getTime() <= NEW_MS;
}

/** A person who may not give this consent is known, so the refusal has an entry. */
async function enterRefusal(
  { parts, session, request }: Omit<Page, 'entitlement'>,
  found: Failure,
): Promise<void> {
  const { session_id } = session.record;
  const facts = { failure: found, session_id, client_id: request.client.client_id };
  await parts.store.append([sessionEntry(parts, session.record, 'refused', facts)]);
}

function filledForm(page: Page, { filled, tick }: Filled): ConsentForm {
  return tick ? { ...filled, chosen: tickedNames(optionsOf(page), tick) } : filled;
}

interface Page {
  readonly parts: SignInParts;
  readonly session: Session;
  readonly request: AuthorizationRequest;
  readonly entitlement: Entitlement;
}

async function decide(page: Page, form: ConsentForm, userAgent: string): Promise<AuthorizeAnswer> {
  const { parts, session } = page;
  const read = consentRequest(form, optionsOf(page, form.chosen), limitsOf(parts));
  if ('fault' in read) return { show: await viewOf(page, form, read.fault) };
  const stepUp = stepUpFor(parts, session, read.consent.scope);
  if (stepUp) return { stepUp };
  return { redirect: await give(page, read.consent, userAgent) };
}

/** Stores the consent. Resolves with the address that takes the code to the client. */
async function give(page: Page, consented: Consented, userAgent: string): Promise<string> {
  const { parts, session, request, entitlement } = page;
  const { principal, account_id } = session.record;
  const { client, redirect_uri, challenge, resource } = request;
  refuse(await frozenFor(parts, principal));
  const subject = agentSubject(client.client_name, parts.platform.random(SUBJECT_BYTES));
  const { purpose, ...asked } = consented;
  const wanted = IssueRequest.safeParse({
    ...asked,
    purpose_parameters: purpose,
    caller_class: agentClass(entitlement),
  });
  if (!wanted.success) {
    const [issue] = wanted.error.issues;
    const detail = `Cannot give this consent: ${issue?.path.join('.')}: ${issue?.message}`;
    throw new Refusal(failure('invalid_parameters', detail));
  }
  const authority = rootAuthority(parts, entitlement, { ...wanted.data, subject });
  const { record: token } = unsignedToken(parts, authority);
  const code = newSecret();
  const now = parts.store.now();
  const consent: ConsentRecord = {
    consent_id: newId(parts.platform, 'con_'),
    token_id: token.token_id,
    principal,
    subject,
    account_id,
    client_id: client.client_id,
    client_name: client.client_name,
    redirect_uri,
    user_agent: userAgent.slice(0, USER_AGENT_MAX),
    challenge,
    resource,
    code_hash: secretHash(code) as string,
    code_expires_at: new Date(now.getTime() + CODE_MS),
    generation: 0,
    created_at: now,
    expires_at: token.expires_at,
  };
  const entry = issuanceEntry(parts, { principal }, token, {
    consent: { consent_id: consent.consent_id, client_id: client.client_id, purpose },
  });
  await parts.store.insertConsent(consent, token, entry);
  return codeUrl(request, code, parts.baseUrl());
}

/** The class of an agent, where the person may assign it. */
function agentClass({ caller_classes }: Entitlement): string | undefined {
  return caller_classes.includes('automated_agent') ? 'automated_agent' : undefined;
}

async function deniedAnswer(
  parts: SignInParts,
  session: Session,
  request: AuthorizationRequest,
): Promise<AuthorizeAnswer> {
  const { principal } = session.record;
  const found = failure('not_entitled', `Cannot act for ${principal}: the person refused`);
  await enterRefusal({ parts, session, request }, found);
  const fault = { error: 'access_denied', description: 'The person refused', mayRedirect: request };
  return { redirect: faultUrl(fault, parts.baseUrl()) as string };
}

function optionsOf({ parts, request, entitlement }: Page, chosen?: readonly string[]) {
  const { definition } = parts;
  const isQuoted = (name: string) => definition.code.get(name)?.price !== undefined;
  const { scope, suggestions } = request;
  const asked = { scope, capabilities: suggestions.capabilities };
  return consentOptions({ catalog: definition.catalog, entitlement, isQuoted }, asked, chosen);
}

function limitsOf({ config, store }: SignInParts): ConsentLimits {
  return {
    now: store.now(),
    ttlHoursMax: config.max_ttl_hours,
    depthMax: config.max_delegation_depth,
  };
}

async function viewOf(page: Page, form?: ConsentForm, problem?: string): Promise<ConsentView> {
  const { parts, session, request } = page;
  const { client, redirect_uri, suggestions, scope } = request;
  const options = optionsOf(page, form?.chosen);
  const limits = limitsOf(parts);
  const currencies = currenciesOf(options);
  const { budget, ttl_hours } = suggestions;
  return {
    client: {
      name: client.client_name,
      id: client.client_id,
      isVerified: client.isVerified,
      answersTo: redirectHost(redirect_uri),
    },
    before: await earlierConsent(parts, session.record.principal, client.client_id),
    options,
    neverGiven: neverGiven(scope),
    currencies,
    chosenCurrency: form?.currency ?? budget?.currency ?? currencies[0] ?? '',
    limit: form?.limit ?? '0',
    suggestedLimit: budget && amountWords(budget.max_amount, budget.currency),
    untils: untilChoices(limits, form?.until),
    askedUntil: ttl_hours === undefined ? undefined : spanOf(ttl_hours * 3_600_000),
    purpose: form?.for ?? suggestions.purpose ?? '',
    passOn: passOnChoices(limits, form?.pass),
    problem,
  };
}

/** The newest consent of the person to the same client, in words. It is shown, never applied. */
async function earlierConsent(
  { store }: SignInParts,
  principal: string,
  clientId: string,
): Promise<string | undefined> {
  const earlier = await store.listConsents(principal, EARLIER_MAX);
  const consent = earlier.find(({ client_id }) => client_id === clientId);
  const { token } = consent ? await store.load({ tokenId: consent.token_id }) : {};
  return consent && token && summaryOf({ ...token, created_at: consent.created_at });
}

/** What the session has yet to prove: every rule about any of these scopes counts. */
function stepUpFor(
  { config, store }: SignInParts,
  session: Session,
  scopes: readonly string[],
): StepUp | undefined {
  const proofs: StepUp[] = config.sign_in.step_up
    .filter(({ scopes: patterns }) =>
      patterns.some((pattern) => scopes.some((scope) => entitles(pattern, scope))),
    )
    .map(({ max_age_minutes: minutes, acr }) => ({
      maxAgeSeconds: minutes === undefined ? undefined : minutes * 60,
      acr,
    }));
  const missing = proofs.find((proof) => !isProved(session, proof, store.now()));
  if (!missing) return undefined;
  const ages = proofs.flatMap(({ maxAgeSeconds }) => maxAgeSeconds ?? []);
  return {
    maxAgeSeconds: ages.length > 0 ? Math.min(...ages) : undefined,
    acr: missing.acr ?? proofs.find(({ acr }) => acr !== undefined)?.acr,
  };
}

/**
 * My agents: the delegations that a person gave on a page, and how the person ends them.
 *
 * `service/console/agents.ts` shows what agents did and passed on, for every delegation of a person.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import { leastRemaining } from '../../domain/invocation/budget.ts';
import { redirectHost } from '../../domain/sign-in/redirect.ts';
import { fromMinor } from '../../domain/values/money.ts';
import type { ConsentRecord } from '../../storage/port/sign-in-store.ts';
import type { TokenDescription } from '../../storage/port/store.ts';
import { consentsOf, endConsent, livingToken } from './consents.ts';
import type { SignInParts } from './parts.ts';
import type { Session } from './sessions.ts';

/** Agents and sessions on the page. The newest come first. */
const SHOWN_MAX = 50;

/** Consents that one page looks at. */
const LOOKED_AT_MAX = 500;

export interface AgentView {
  readonly id: string;
  readonly tokenId: string;
  /** As the client gave it. */
  readonly name: string;
  readonly subject: string;
  readonly clientId: string;
  /** Where the answer to the consent went: this computer, a host or an app. */
  readonly answersTo: string;
  readonly userAgent: string;
  readonly purpose?: string | undefined;
  readonly since: Date;
  readonly until: Date;
  readonly budget?: BudgetView | undefined;
}

interface BudgetView {
  readonly currency: string;
  readonly max: number;
  readonly spent: number;
  readonly reserved: number;
  readonly left: number;
}

export interface AgentsView {
  readonly now: Date;
  /** Those that live. */
  readonly agents: readonly AgentView[];
  readonly sessions: readonly SessionView[];
}

interface SessionView {
  readonly id: string;
  readonly userAgent: string;
  readonly since: Date;
  readonly isThis: boolean;
}

/** What a person sees of their agents and sessions. */
export async function agentsOf(parts: SignInParts, { record }: Session): Promise<AgentsView> {
  const { principal, session_id } = record;
  const agents: AgentView[] = [];
  let looked = 0;
  for await (const consent of consentsOf(parts, principal)) {
    looked += 1;
    const view = await viewOf(parts, consent);
    if (view) agents.push(view);
    if (looked === LOOKED_AT_MAX || agents.length === SHOWN_MAX) break;
  }
  const sessions = await parts.store.listSessions(principal, parts.store.now(), SHOWN_MAX);
  return {
    now: parts.store.now(),
    agents,
    sessions: sessions.map(({ session }) => ({
      id: session.session_id,
      userAgent: session.user_agent,
      since: session.created_at,
      isThis: session.session_id === session_id,
    })),
  };
}

/** One living agent of the person. An agent of another person is as unknown as none. */
export async function agentOf(
  parts: SignInParts,
  { record: { principal } }: Session,
  id: string,
): Promise<AgentView> {
  const view = await viewOf(parts, await ownConsent(parts, principal, id));
  if (view) return view;
  throw new Refusal(failure('not_found', 'Cannot find the agent: it has ended'));
}

export async function endAgent(
  parts: SignInParts,
  { record: { principal } }: Session,
  id: string,
): Promise<void> {
  const consent = await ownConsent(parts, principal, id);
  await endConsent(parts, consent, { actor: principal });
}

/** Ends every living agent of the person. Resolves with their number. */
export async function stopAll(
  parts: SignInParts,
  { record: { principal } }: Session,
): Promise<number> {
  let ended = 0;
  for await (const consent of consentsOf(parts, principal)) {
    if (await endConsent(parts, consent, { actor: principal })) ended += 1;
  }
  return ended;
}

async function ownConsent(
  { store }: SignInParts,
  principal: string,
  id: string,
): Promise<ConsentRecord> {
  const consent = await store.findConsent({ consent_id: id });
  if (consent?.principal === principal) return consent;
  throw new Refusal(failure('not_found', 'Cannot find the agent: you have none with this id'));
}

/** Undefined when the agent has ended. A token that cannot be read carries no authority. */
async function viewOf(parts: SignInParts, consent: ConsentRecord): Promise<AgentView | undefined> {
  const root = await livingToken(parts, consent);
  if (!root) return undefined;
  return {
    id: consent.consent_id,
    tokenId: consent.token_id,
    name: consent.client_name,
    subject: consent.subject,
    clientId: consent.client_id,
    answersTo: redirectHost(consent.redirect_uri).words,
    userAgent: consent.user_agent,
    purpose: root.token.purpose.for as string | undefined,
    since: consent.created_at,
    until: consent.expires_at,
    budget: budgetOf(root.lineage),
  };
}

export function capabilitiesOf(
  parts: Pick<SignInParts, 'definition'>,
  token: TokenDescription['token'],
): string[] {
  const { capability, purpose } = token;
  if (capability !== undefined) return [capability];
  if (Array.isArray(purpose.only_capabilities)) return purpose.only_capabilities as string[];
  return [...parts.definition.catalog.capabilities.values()]
    .filter(({ minimum_scope }) => minimum_scope.every((scope) => token.scope.includes(scope)))
    .map(({ name }) => name);
}

/** The budget of the last token of a lineage, where it has one of its own. */
export function budgetOf(lineage: TokenDescription['lineage']): BudgetView | undefined {
  const own = lineage.at(-1)?.budget;
  if (!own) return undefined;
  const { currency, max, consumed, reserved } = own;
  const amount = (minor: bigint) => fromMinor(minor, currency);
  return {
    currency,
    max: amount(max),
    spent: amount(consumed),
    reserved: amount(reserved),
    left: amount(leastRemaining([own])),
  };
}

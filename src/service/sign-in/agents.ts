/**
 * My agents: the delegations that a person gave, what they do, and how the person ends them.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import { leastRemaining } from '../../domain/invocation/budget.ts';
import { redirectHost } from '../../domain/sign-in/redirect.ts';
import { fromMinor } from '../../domain/values/money.ts';
import type { Money } from '../../protocol/primitives.ts';
import { livingBelow } from '../../storage/descendants.ts';
import type { ConsentRecord } from '../../storage/port/sign-in-store.ts';
import type { TokenDescription } from '../../storage/port/store.ts';
import { moneyOf } from '../core/call.ts';
import { type Acts, actsOf } from './acts.ts';
import { consentsOf, endConsent } from './consents.ts';
import type { SignInParts } from './parts.ts';
import type { Session } from './sessions.ts';

/** Agents on the page, and those that ended. The newest come first. */
const SHOWN_MAX = 50;

/** Consents that one page looks at. */
const LOOKED_AT_MAX = 500;

/** Names of sub-agents that are shown. The count has the total. */
const SUB_AGENTS_SHOWN_MAX = 10;

/** Access tokens in one read: about a millisecond of an embedded store. */
const CHILDREN_PAGE = 128;

export interface AgentView extends Acts {
  readonly id: string;
  /** As the client gave it. */
  readonly name: string;
  readonly subject: string;
  readonly state: 'active' | 'ended' | 'expired';
  readonly clientId: string;
  /** Where the answer to the consent went: this computer, a host or an app. */
  readonly answersTo: string;
  readonly userAgent: string;
  readonly purpose?: string | undefined;
  readonly since: Date;
  readonly until: Date;
  readonly capabilities: readonly string[];
  readonly budget?: BudgetView | undefined;
  readonly debts: readonly Money[];
  /** Some of their names; `subAgentsCount` counts them all. */
  readonly subAgents: readonly string[];
  readonly subAgentsCount: number;
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
  readonly agents: readonly AgentView[];
  readonly ended: readonly AgentView[];
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
  const acts = await actsOf(parts, principal);
  const agents: AgentView[] = [];
  const ended: AgentView[] = [];
  let looked = 0;
  for await (const consent of consentsOf(parts, principal)) {
    looked += 1;
    const view = await viewOf(parts, consent, acts);
    const list = view.state === 'active' ? agents : ended;
    if (list.length < SHOWN_MAX) list.push(view);
    if (looked === LOOKED_AT_MAX || agents.length === SHOWN_MAX) break;
  }
  const sessions = await parts.store.listSessions(principal, parts.store.now(), SHOWN_MAX);
  return {
    now: parts.store.now(),
    agents,
    ended,
    sessions: sessions.map(({ session }) => ({
      id: session.session_id,
      userAgent: session.user_agent,
      since: session.created_at,
      isThis: session.session_id === session_id,
    })),
  };
}

/** One agent of the person. An agent of another person is as unknown as none. */
export async function agentOf(
  parts: SignInParts,
  { record: { principal } }: Session,
  id: string,
): Promise<AgentView> {
  const consent = await ownConsent(parts, principal, id);
  return viewOf(parts, consent, await actsOf(parts, principal));
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

async function viewOf(
  parts: SignInParts,
  consent: ConsentRecord,
  acts: (rootTokenId: string) => Acts,
): Promise<AgentView> {
  const described = await parts.store.describeToken(consent.token_id, 0);
  const below = await subAgentsOf(parts, consent);
  const { subject } = consent;
  return {
    id: consent.consent_id,
    name: consent.client_name,
    subject,
    state: stateOf(consent, described, parts.store.now()),
    clientId: consent.client_id,
    answersTo: redirectHost(consent.redirect_uri).words,
    userAgent: consent.user_agent,
    purpose: described?.token.purpose.for as string | undefined,
    since: consent.created_at,
    until: consent.expires_at,
    capabilities: described ? capabilitiesOf(parts, described.token) : [],
    budget: described && budgetOf(described.lineage),
    debts: described?.debts.map(moneyOf) ?? [],
    subAgents: below.names,
    subAgentsCount: below.count,
    ...acts(consent.token_id),
  };
}

/** A token that cannot be read carries no authority: the agent has ended. */
function stateOf(
  { expires_at }: ConsentRecord,
  described: TokenDescription | undefined,
  now: Date,
): AgentView['state'] {
  if (!described || described.lineage.some(({ revoked_at }) => revoked_at !== undefined)) {
    return 'ended';
  }
  return expires_at <= now ? 'expired' : 'active';
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

/** The living tokens below the living access tokens of an agent: those that it passed on. */
async function subAgentsOf(
  { store }: SignInParts,
  { token_id }: ConsentRecord,
): Promise<{ names: string[]; count: number }> {
  const now = store.now();
  const names = new Set<string>();
  let count = 0;
  for await (const parent of livingParents(store, token_id, now)) {
    for await (const living of livingBelow(store, parent, now)) count += living.length;
    if (names.size >= SUB_AGENTS_SHOWN_MAX) continue;
    const described = await store.describeToken(parent, SUB_AGENTS_SHOWN_MAX);
    for (const child of described?.children ?? []) {
      const { token } = await store.load({ tokenId: child });
      if (token && token.expires_at > now) names.add(token.subject);
    }
  }
  return { names: [...names].slice(0, SUB_AGENTS_SHOWN_MAX), count };
}

/** The living children of a token that have children themselves. */
async function* livingParents(
  store: SignInParts['store'],
  tokenId: string,
  now: Date,
): AsyncGenerator<string, void, undefined> {
  let after: string | undefined;
  do {
    const page = await store.childrenOf([tokenId], CHILDREN_PAGE, after);
    for (const { token_id, hasChildren, expires_at, revoked_at } of page) {
      if (hasChildren && expires_at > now && revoked_at === undefined) yield token_id;
    }
    after = page.length === CHILDREN_PAGE ? page.at(-1)?.token_id : undefined;
  } while (after !== undefined);
}

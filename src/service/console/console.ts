/**
 * The console as transports use it: the methods that only its pages call.
 *
 * A method is asked by the person of a session, and the same rules decide as for every other caller: each
 * begins with `callerOf`. Rooms of this service that an operation uses are used here too, so a page never
 * shows or does what the operation would refuse.
 *
 * @module
 */

import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { grantTerms } from '../../domain/authority/grant.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { entryView } from '../../domain/log/entry.ts';
import type { ConsoleMethodName, ConsoleRequest } from '../../protocol/console/methods.ts';
import type { Challenge, ConsoleAnswers } from '../../protocol/console/views.ts';
import { agentChildren, agentTrees, endingOf } from '../agents/agents.ts';
import {
  addressedRequest,
  closedRequest,
  notApprover,
  visibleRequest,
} from '../approval/approvers.ts';
import { decisionOf } from '../approval/decision.ts';
import { frozenFor, notOperator } from '../authority/freeze.ts';
import { answered, audited } from '../caller/audited.ts';
import { type Asking, type Caller, callerOf, rememberedTokens } from '../caller/caller.ts';
import { entriesFor } from '../log/audit.ts';
import { type Answer, type Ask, consoleRequestOf, type Method } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { decisionQuestion } from '../passkey/decision.ts';
import { addPasskey, passkeyOptions, passkeysOf, removePasskey } from '../passkey/keys.ts';
import {
  cancelAtConsole,
  demandRemovable,
  devicesOf,
  invitePerson,
  listPeople,
  refuseWaiting,
  removeOwnPasskey,
  removePerson,
} from '../people/people.ts';
import { type AppSession, appSession } from '../sign-in/app-session.ts';
import { entitledSession, type Session } from '../sign-in/sessions.ts';
import { refusingWhileAway } from '../sign-in/sign-in.ts';
import { daysOf, invocationOf } from './activity.ts';
import { inboxOf } from './approvals.ts';
import { meOf, pulseOf, trustOf } from './me.ts';
import { endAnySession, identityList, operationsOf, sessionsOf } from './operations.ts';
import type { ConsoleParts } from './parts.ts';
import { acceptReview, reviewsOf } from './reviews.ts';
import { tryCapability } from './try.ts';

export interface Console {
  readonly methods: Readonly<Partial<Record<ConsoleMethodName, ConsoleMethod>>>;
  /** What the person of a session is entitled to now; undefined once the session is over. */
  entitlement(secret: string): Promise<Entitlement | undefined>;
  /** The person whom the app around the service names; undefined when it names none. */
  ofApp(identify: () => unknown): Promise<AppSession | undefined>;
}

type ConsoleMethod = (ask: ConsoleAsk) => ReturnType<Method>;

/** A person who asks, and the session by which the person asks. */
export interface ConsoleAsk extends Ask {
  readonly session: Session;
}

export function createConsole(parts: ConsoleParts): Console {
  return {
    methods: {
      ...reviewMethods(parts),
      me: read(parts, 'me', (_, { caller, session }) => meOf(parts, caller, session)),
      'decision.challenge': read(parts, 'decision.challenge', (request, { caller }) =>
        challengeFor(parts, caller, request),
      ),
      'passkeys.list': read(parts, 'passkeys.list', async (_, { caller }) => ({
        passkeys: await passkeysOf(parts, caller.principal),
      })),
      'passkeys.begin': read(parts, 'passkeys.begin', async (_, { session }) => {
        await refuseWaiting(parts, session.record);
        return passkeyOptions(parts, session.record);
      }),
      'passkeys.add': act(parts, 'passkeys.add', async (request, { session }) => {
        await refuseWaiting(parts, session.record);
        return { passkey: await addPasskey(parts, session.record, request) };
      }),
      'passkeys.remove': act(parts, 'passkeys.remove', async ({ credential_id }, { session }) => ({
        removed: await removeOwnPasskey(parts, session.record, credential_id),
      })),
      pulse: read(parts, 'pulse', (_, { caller }) => pulseOf(parts, caller)),
      inbox: read(parts, 'inbox', (request, asking) => inboxOf(parts, request, asking)),
      decision: read(parts, 'decision', async ({ approval_request_id: id }, asking) =>
        decisionOf(parts, await visibleRequest(parts, asking.caller, id), asking),
      ),
      trust: read(parts, 'trust', async () => trustOf(parts)),
      agents: read(parts, 'agents', (request, asking) => agentTrees(parts, asking, request)),
      'agents.children': read(parts, 'agents.children', (request, asking) =>
        agentChildren(parts, asking, request),
      ),
      'agents.ends': read(parts, 'agents.ends', (request, asking) =>
        endingOf(parts, asking, request),
      ),
      'activity.days': read(parts, 'activity.days', (request, asking) =>
        daysOf(parts, asking, request),
      ),
      'activity.invocation': read(parts, 'activity.invocation', (request, asking) =>
        invocationOf(parts, asking, request),
      ),
      try: async (ask) => ({ body: await tryCapability(parts, ask) }),
      operations: read(parts, 'operations', (_, { caller }) => operationsOf(parts, caller)),
      'operations.identities': read(parts, 'operations.identities', (_, { caller }) =>
        identityList(parts, caller),
      ),
      'operations.sessions': read(parts, 'operations.sessions', (request, asking) =>
        sessionsOf(parts, asking, request),
      ),
      'operations.end_session': async (ask) => ({ body: await endAnySession(parts, ask) }),
      ...peopleMethods(parts),
      'activity.entries': async (ask) =>
        answered(parts, await callerOf(parts, ask), (caller) =>
          agentEntries(parts, { caller, ask }),
        ),
    },
    entitlement: async (secret) => (await entitledSession(parts, secret))?.entitlement,
    ofApp: refusingWhileAway(parts.log)((identify) => appSession(parts, identify)),
  };
}

function peopleMethods(parts: ConsoleParts): Console['methods'] {
  return {
    'people.list': read(parts, 'people.list', (_, { caller }) => {
      refuse(notOperator(caller, 'identities'));
      return listPeople(parts);
    }),
    'people.devices': read(parts, 'people.devices', ({ principal }, { caller }) => {
      refuse(notOperator(caller, 'identities'));
      return devicesOf(parts, principal);
    }),
    'people.invite': act(
      parts,
      'people.invite',
      (request, asking) => invitePerson(parts, asking, request),
      'operator',
    ),
    'people.cancel': act(
      parts,
      'people.cancel',
      async ({ invitation_id }, asking) => ({
        cancelled: await cancelAtConsole(parts, asking, invitation_id),
      }),
      'operator',
    ),
    'people.remove': act(
      parts,
      'people.remove',
      async ({ principal }, asking) => {
        await demandRemovable(parts, asking, principal);
        return { removed: await removePerson(parts, principal, asking.caller) };
      },
      'operator',
    ),
    'people.remove_device': act(parts, 'people.remove_device', async (passkey, asking) => {
      await demandRemovable(parts, asking, passkey.principal);
      return { removed: await removePasskey(parts, passkey, asking.caller.principal) };
    }),
  };
}

/** None where no tools of others stand behind the service. */
function reviewMethods(parts: ConsoleParts): Console['methods'] {
  const { review } = parts.definition;
  if (!review) return {};
  return {
    reviews: read(parts, 'reviews', (_, { caller }) => reviewsOf(parts, review, caller)),
    'reviews.accept': async (ask) => ({ body: await acceptReview(parts, review, ask) }),
  };
}

interface PersonAsking extends Asking {
  readonly session: Session;
}

type Answering<Name extends ConsoleMethodName> = (
  request: ReturnType<typeof consoleRequestOf<Name>>,
  asking: PersonAsking,
) => Promise<ConsoleAnswers[Name]>;

/** A method that changes what the person has. A refusal leaves an entry. */
function act<Name extends ConsoleMethodName>(
  parts: ConsoleParts,
  name: Name,
  answer: Answering<Name>,
  entryType: 'session' | 'operator' = 'session',
): ConsoleMethod {
  return async (ask) =>
    audited(parts, await callerOf(parts, ask), entryType, answering(name, ask, answer));
}

/** A method that changes nothing. */
function read<Name extends ConsoleMethodName>(
  parts: ConsoleParts,
  name: Name,
  answer: Answering<Name>,
): ConsoleMethod {
  return async (ask) => answered(parts, await callerOf(parts, ask), answering(name, ask, answer));
}

/** Reads the request once the person is known, and answers it. */
function answering<Name extends ConsoleMethodName>(
  name: Name,
  ask: ConsoleAsk,
  answer: Answering<Name>,
) {
  return async (caller: Caller) => ({
    body: await answer(consoleRequestOf(name, ask), { caller, session: ask.session, ask }),
  });
}

/**
 * The entries whose token is the agent's or below it. A person sees the own entries, so a token of another person has
 * none here. Entries do not name the lineage of their token, so it is read; a search ends with a cursor as every query.
 */
function agentEntries(parts: ServiceParts, asking: Asking): Promise<Answer> {
  const { token_id: above, ...query } = consoleRequestOf('activity.entries', asking.ask);
  const tokens = rememberedTokens(parts);
  return entriesFor(parts, asking, query, async (entry, slices) => {
    const { token_id } = entryView(entry);
    if (token_id === above) return true;
    await slices.turn();
    return (await tokens(token_id))?.lineage.includes(above) ?? false;
  });
}

/** The same rules as for the decision itself, so a person is not asked to sign what would be refused. */
async function challengeFor(
  parts: ConsoleParts,
  caller: Caller,
  asked: ConsoleRequest<'decision.challenge'>,
): Promise<Challenge> {
  const find = asked.decision === 'deny' ? visibleRequest : addressedRequest;
  const request = await find(parts, caller, asked.approval_request_id);
  refuse(await notApprover(parts, caller, request));
  refuse(closedRequest(request, parts.store.now()));
  const approver = caller.root_principal;
  if (asked.decision === 'deny') return decisionQuestion(parts, { request, approver, terms: null });
  refuse(await frozenFor(parts, caller.root_principal));
  const { grant_type } = asked;
  if (!grant_type) {
    const detail = 'Cannot ask for a signature: an approval needs a grant_type';
    throw new Refusal(failure('invalid_parameters', detail));
  }
  const first = request.approvals[0]?.terms;
  const given = grantTerms(request.grant_policy, { ...asked, grant_type }, first);
  if ('failure' in given) throw new Refusal(given.failure);
  return decisionQuestion(parts, { request, approver, terms: given.terms });
}

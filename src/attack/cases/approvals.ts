/**
 * Approvals: grants that are made up, minted by the requester, used twice, or used for something else.
 *
 * A request for approval is seen by people, so every case that makes one has effects. One request serves all of them.
 *
 * @module
 */

import type { Case } from '../case.ts';
import { field, listAt, numberAt, textAt } from '../target/fields.ts';
import {
  type Attempt,
  broken,
  count,
  eachAttempt,
  held,
  isSuccess,
  judged,
  NotApplicable,
  noneAccepted,
  noStranger,
  notApplicable,
} from '../target/outcome.ts';
import type { Answer } from '../target/wire.ts';
import {
  answerSummary,
  approvedCall,
  askHealthy,
  childOf,
  delegate,
  hasRun,
  invokeOnce,
  operationPath,
  type PaidCall,
  type Token,
  tokenIn,
  tokenOf,
  type World,
} from '../target/world.ts';

const UNKNOWN = 'apr_00000000000000000000000000';

function grant(world: World, bearer: string | undefined, body: unknown): Promise<Answer> {
  return world.wire.ask({
    path: operationPath(world, 'approval_grants'),
    bearer,
    body,
    isOnce: true,
  });
}

/** Bodies of a decision that no service can accept. */
const BODIES: readonly (readonly [what: string, body: unknown])[] = [
  ['an unknown request', { approval_request_id: UNKNOWN, grant_type: 'one_time' }],
  ['no request', { grant_type: 'one_time' }],
  ['a request that is a list', { approval_request_id: [UNKNOWN], grant_type: 'one_time' }],
  ['the name "__proto__"', { approval_request_id: '__proto__', grant_type: 'one_time' }],
  ['a path', { approval_request_id: '../tokens', grant_type: 'one_time' }],
  ['an unknown type', { approval_request_id: UNKNOWN, grant_type: 'forever' }],
  ['uses below zero', { approval_request_id: UNKNOWN, grant_type: 'one_time', max_uses: -1 }],
  [
    'fields of the request itself',
    {
      approval_request_id: UNKNOWN,
      grant_type: 'one_time',
      capability: 'any',
      parameters_digest: 'sha256:00',
    },
  ],
];

/** A token with budget enough for the call, which needs one in some services. */
function requesterToken(world: World, { scopes, price, capability }: PaidCall): Promise<Token> {
  const { currency, amount } = price;
  const budget = amount > 0 ? { currency, max_amount: amount } : undefined;
  return tokenOf(world, world.self, { scope: scopes, capability, budget });
}

interface Asked {
  readonly call: PaidCall;
  readonly token: Token;
  readonly requestId: string;
  readonly failure: unknown;
}

/** Invokes without a grant. */
async function requested(world: World, note: string): Promise<Asked & { answer: Answer }> {
  const call = approvedCall(world);
  const token = await requesterToken(world, call);
  const answer = await invokeOnce(world, token, call, { client_reference_id: world.unique(note) });
  const failure = field(answer.json, 'failure');
  const requestId = textAt(failure, 'approval_request_id') ?? '';
  return { call, token, requestId, failure, answer };
}

async function pending(world: World, note: string): Promise<Asked> {
  const asked = await requested(world, note);
  if (asked.requestId !== '') return asked;
  throw new NotApplicable(
    `"${asked.call.capability}" made no approval request (${answerSummary(asked.answer)})`,
  );
}

/** A grant by the approver whose credential was given. */
async function granted(world: World, note: string): Promise<Asked & { grantId: string }> {
  const { approver } = world;
  if (!approver)
    throw new NotApplicable('it needs the credential of an approver (--approver-token-file)');
  const asked = await pending(world, note);
  const body = { approval_request_id: asked.requestId, grant_type: 'one_time' };
  const answer = await grant(world, approver.credential, body);
  const grantId = textAt(answer.json, 'grant_id');
  if (grantId !== undefined) return { ...asked, grantId };
  throw new NotApplicable(`the approver gave no grant (${answerSummary(answer)})`);
}

/** Other values of the same types: what an approver did not see. */
function changed(parameters: PaidCall['parameters']): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => {
      if (typeof value === 'number') return [name, value + 1];
      if (typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value)) return [name, '2031-01-31'];
      return [name, typeof value === 'string' ? `${value}-changed` : value];
    }),
  );
}

const YEAR_SECONDS = 365 * 24 * 60 * 60;

/** How far two clocks may be apart. */
const CLOCKS_SECONDS = 10 * 60;

/** 0 where the answer does not say it. */
function secondsLeft(world: World, expires: string | undefined): number {
  const left = Date.parse(expires ?? '') - world.now().getTime();
  return Number.isNaN(left) ? 0 : Math.round(left / 1_000);
}

function isApprover({ scope }: Token): boolean {
  return scope.some((each) => each.startsWith('approver'));
}

/** Uses of one grant at once. */
const USES = 4;

const harmless: readonly Case[] = [
  {
    id: 'approvals.stranger',
    tries: 'Asking for a grant without a credential, and with a made-up one.',
    holds: 'The service issues no grant.',
    basis: 'POST /svc/approval_grants: authenticate the approver first',
    async run(world) {
      const body = { approval_request_id: UNKNOWN, grant_type: 'one_time' };
      return noStranger((bearer) => grant(world, bearer, body));
    },
  },
  {
    id: 'approvals.made-up-request',
    tries: 'Asking for grants of requests that do not exist, and with terms that no policy has.',
    holds: 'The service issues no grant.',
    basis: 'POST /svc/approval_grants: load the request, then check its policy',
    async run(world) {
      const attempts: Attempt[] = [];
      for (const { credential } of [world.self, world.other]) {
        attempts.push(
          ...(await eachAttempt(BODIES, async ([what, body]) => ({
            what,
            answer: await grant(world, credential, body),
          }))),
        );
      }
      return noneAccepted(attempts);
    },
  },
  {
    id: 'approvals.approver-scope',
    tries: 'A child that adds the scope of an approver to those of its parent.',
    holds: 'No child carries it: agents do not mint grants for themselves.',
    basis: 'Tokens rule 3; Approval: agents do not mint grants for themselves',
    async run(world) {
      const parent = await tokenOf(world, world.self);
      const names = world.service.capabilities.map(({ name }) => `approver:${name}`);
      const scopes = ['approver:*', 'approver', 'approver:', ...names.slice(0, 6)];
      const attempts = await eachAttempt(scopes, async (scope) => ({
        what: `the scope "${scope}"`,
        answer: await delegate(world, parent, { scope: [...parent.scope, scope] }),
      }));
      return noneAccepted(
        attempts,
        (answer) => tokenIn(answer)?.scope.some((each) => each.startsWith('approver')) ?? false,
      );
    },
  },
  {
    id: 'approvals.foreign-requests',
    tries: 'Listing and reading approval requests with a token that may decide nothing.',
    holds: 'It gets none that is not its own.',
    basis: 'practice: a request shows what somebody wants to do',
    async run(world) {
      const path = operationPath(world, 'approval_requests');
      const token = await tokenOf(world, world.other);
      if (isApprover(token)) return notApplicable(`${world.other.name} is an approver`);
      const { status, json } = await askHealthy(world, { method: 'GET', path, bearer: token.jwt });
      const requests = listAt(json, 'approval_requests').concat(listAt(json, 'requests'));
      const foreign = requests.filter(
        (each) => textAt(each, 'requester', 'root_principal') !== world.other.name,
      );
      return foreign.length > 0
        ? broken(
            `a token without the scope of an approver lists ${count(foreign.length, 'request')}`,
          )
        : held(`no request listed (${status})`);
    },
  },
];

const withEffects: readonly Case[] = [
  {
    id: 'approvals.without-grant',
    tries: 'Invoking what needs approval: without a grant, and with grants that are made up.',
    holds: 'Nothing runs, and the first call names a request and the digest of its parameters.',
    basis: 'Approval: validated before the side effect; approval_required carries its identifiers',
    hasEffects: true,
    async run(world) {
      const { call, token, requestId, failure, answer } = await requested(world, 'approval');
      if (hasRun(answer)) return broken(`"${call.capability}" ran without approval`);
      if (textAt(failure, 'type') !== 'approval_required') {
        return notApplicable(
          `"${call.capability}" was refused before approval (${answerSummary(answer)})`,
        );
      }
      const digest = textAt(failure, 'requested_parameters_digest');
      if (digest === undefined || requestId === '')
        return broken('approval_required names no request or no digest');
      const grants = ['gnt_00000000000000000000000000', requestId, token.id, '__proto__', digest];
      const attempts = await eachAttempt(grants, async (approval_grant) => ({
        what: `the grant ${JSON.stringify(approval_grant.slice(0, 12))}`,
        answer: await invokeOnce(world, token, call, { approval_grant }),
      }));
      return noneAccepted(attempts, hasRun);
    },
  },
  {
    id: 'approvals.by-requester',
    tries:
      'Approving the own request: with the requesting token, a child of it, and the credential behind it.',
    holds: 'The service issues no grant.',
    basis:
      'POST /svc/approval_grants: approver authority; agents do not mint grants for themselves',
    hasEffects: true,
    async run(world) {
      const { token, requestId } = await pending(world, 'approval');
      const child = await childOf(world, token, { subject: 'agent:writ-attack' });
      const stranger = await tokenOf(world, world.other);
      const bearers = [
        ['the requesting token', token.jwt],
        ['a child of it', child.jwt],
        ['the credential of the requester', world.self.credential],
        ...(isApprover(stranger)
          ? []
          : [[`a plain token of ${world.other.name}`, stranger.jwt] as const]),
      ] as const;
      const attempts = await eachAttempt(bearers, async ([what, bearer]) => ({
        what,
        answer: await grant(world, bearer, {
          approval_request_id: requestId,
          grant_type: 'one_time',
        }),
      }));
      return noneAccepted(attempts);
    },
  },
  {
    id: 'approvals.beyond-policy',
    tries:
      'Approving with a longer life, more uses and other types than the policy of the request allows.',
    holds: 'No grant exceeds the policy.',
    basis: 'POST /svc/approval_grants: expiry, use count and session are capped by grant_policy',
    hasEffects: true,
    async run(world) {
      const { approver } = world;
      if (!approver)
        throw new NotApplicable('it needs the credential of an approver (--approver-token-file)');
      const { requestId, failure } = await pending(world, 'policy');
      const most = Number(field(failure, 'grant_policy', 'max_uses') ?? 1);
      const longest = numberAt(failure, 'grant_policy', 'expires_in_seconds');
      const terms = [
        { expires_in_seconds: (longest ?? 0) + YEAR_SECONDS },
        { max_uses: most + 1_000 },
        { max_uses: 1.5 },
        { max_uses: '9' },
        { grant_type: 'eternal' },
      ];
      for (const more of terms) {
        const body = { approval_request_id: requestId, grant_type: 'one_time', ...more };
        const answer = judged(await grant(world, approver.credential, body));
        if (!isSuccess(answer)) continue;
        const uses = Number(field(answer.json, 'max_uses') ?? 0);
        if (uses > most) return broken(`a grant has ${uses} uses, and the policy allows ${most}`);
        const seconds = secondsLeft(world, textAt(answer.json, 'expires_at'));
        if (longest !== undefined && seconds > longest + CLOCKS_SECONDS)
          return broken(`a grant lives for ${seconds} seconds, and the policy allows ${longest}`);
        if (textAt(answer.json, 'grant_type') === 'eternal')
          return broken('a grant has a type that no specification has');
      }
      return held(`${terms.length} terms, no grant beyond the policy`);
    },
  },
  {
    id: 'approvals.changed-call',
    tries: 'Using a grant for other parameters, for one more parameter, and by another requester.',
    holds: 'Nothing runs.',
    basis: 'Approval continuation fails when parameter digest, capability or request differ',
    hasEffects: true,
    async run(world) {
      const { call, token, grantId } = await granted(world, 'changed');
      const more = { approval_grant: grantId };
      const child = await childOf(world, token, { subject: 'agent:writ-attack' });
      const attempts = [
        {
          what: 'other parameters',
          answer: await invokeOnce(
            world,
            token,
            { ...call, parameters: changed(call.parameters) },
            more,
          ),
        },
        {
          what: 'one parameter more',
          answer: await invokeOnce(
            world,
            token,
            { ...call, parameters: { ...call.parameters, extra: 1 } },
            more,
          ),
        },
        { what: 'another requester', answer: await invokeOnce(world, child, call, more) },
      ];
      return noneAccepted(attempts, hasRun);
    },
  },
  {
    id: 'approvals.used-twice',
    tries: `${USES} uses of a grant for one, at once, and one more afterwards.`,
    holds: 'At most one call runs.',
    basis: 'One-time grants cannot be reused after use',
    hasEffects: true,
    async run(world) {
      const { call, token, grantId } = await granted(world, 'twice');
      const use = () => invokeOnce(world, token, call, { approval_grant: grantId });
      const answers = await Promise.all(Array.from({ length: USES }, use));
      answers.push(await use());
      const ran = answers.filter(hasRun).length;
      if (ran > 1) return broken(`${ran} of ${answers.length} uses ran`);
      if (ran === 0) return notApplicable(`no use ran (${answerSummary(answers[0] as Answer)})`);
      return held(`1 of ${answers.length} uses ran`);
    },
  },
  {
    id: 'approvals.two-grants',
    tries: 'Approving one request twice at once, and once more afterwards.',
    holds: 'There is one grant at most.',
    basis: 'Approval request: competing grants for one request cannot both be issued',
    hasEffects: true,
    async run(world) {
      const { approver } = world;
      if (!approver)
        throw new NotApplicable('it needs the credential of an approver (--approver-token-file)');
      const { requestId } = await pending(world, 'two');
      const body = { approval_request_id: requestId, grant_type: 'one_time' };
      const decide = () => grant(world, approver.credential, body);
      const answers = await Promise.all([decide(), decide(), decide()]);
      answers.push(await decide());
      const ids = new Set(answers.filter(isSuccess).map(({ json }) => textAt(json, 'grant_id')));
      ids.delete(undefined);
      if (ids.size > 1) return broken(`${ids.size} grants of one request`);
      if (ids.size === 0)
        return notApplicable(`no grant was issued (${answerSummary(answers[0] as Answer)})`);
      return held(`1 grant of ${answers.length} decisions`);
    },
  },
];

export const approvalCases: readonly Case[] = [...harmless, ...withEffects];

/** Calls of the capability with approval that a run makes at most, if the service asks for no approval. */
export const APPROVED_CALLS_MAX = 6 + 1 + 1 + 4 + 6 + 1;

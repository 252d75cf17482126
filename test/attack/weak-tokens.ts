/**
 * Weaknesses of tokens and delegation as data: each takes one rule away from a real service, and names the cases that must notice.
 *
 * @module
 */

import { AGENT, ALICE, OPERATOR } from '../support/world.ts';
import {
  answerWith,
  bearerOf,
  childRequest,
  jsonOf,
  type Memory,
  partOf,
  type Weakness,
  withBearer,
  withJson,
} from './weak-proxy.ts';

const FORGERY = [
  'tokens.unsigned',
  'tokens.algorithm-confusion',
  'tokens.cut-signature',
  'tokens.flipped-bits',
  'tokens.changed-claims',
  'tokens.own-key',
];

const DELEGATION = [
  'tokens.wider-scope',
  'tokens.foreign-parent',
  'tokens.sibling-parent',
  'tokens.unknown-parent',
  'tokens.root-by-token',
];

/** The token that a text claims to be. */
function claimedToken(bearer: string, { tokens }: Memory): string | undefined {
  return tokens.get(partOf(bearer, 1).jti);
}

export const TOKEN_WEAKNESSES: readonly Weakness[] = [
  {
    name: 'signatures are not verified',
    breaks: FORGERY,
    beside: ['tokens.wrong-proof', 'tokens.other-artefact'],
    request: (passed, memory) => {
      const token = claimedToken(bearerOf(passed), memory);
      return token === undefined ? passed : withBearer(passed, token);
    },
  },
  {
    name: 'the algorithm "none" is accepted',
    breaks: ['tokens.unsigned'],
    beside: FORGERY,
    request: (passed, memory) => {
      const bearer = bearerOf(passed);
      const isNone = /^none$/i.test(partOf(bearer, 0).alg ?? '');
      return isNone ? withBearer(passed, claimedToken(bearer, memory) ?? bearer) : passed;
    },
  },
  {
    name: 'keys of the header are believed',
    breaks: ['tokens.own-key'],
    beside: FORGERY,
    request: (passed, memory) => {
      const bearer = bearerOf(passed);
      return partOf(bearer, 0).jwk
        ? withBearer(passed, claimedToken(bearer, memory) ?? bearer)
        : passed;
    },
  },
  {
    name: 'a bootstrap credential passes for a token',
    breaks: ['tokens.wrong-proof'],
    beside: ['tokens.stranger'],
    request: (passed, { tokens }) => {
      const isMisused = bearerOf(passed) === ALICE && passed.path === '/svc/permissions';
      return isMisused ? withBearer(passed, [...tokens.values()].at(-1) ?? '') : passed;
    },
  },
  {
    name: 'the key set has a private key',
    breaks: ['tokens.private-keys'],
    beside: ['log.checkpoint-signature'],
    answer: (answered, { path }) => {
      if (path !== '/.well-known/jwks.json') return answered;
      const { keys } = jsonOf(answered.body);
      return withJson(answered, { keys: keys.map((key: object) => ({ ...key, d: 'x' })) });
    },
  },
  {
    name: 'a revocation is answered and forgotten',
    breaks: ['tokens.revoked', 'tokens.revoked-parent'],
    beside: ['tokens.foreign-revocation'],
    request: (passed) =>
      passed.path === '/svc/tokens/revoke' ? answerWith(200, { revoked: true }) : passed,
  },
  {
    name: 'anyone revokes any token',
    breaks: ['tokens.foreign-revocation'],
    beside: ['tokens.revoked'],
    request: (passed) =>
      passed.path === '/svc/tokens/revoke' ? withBearer(passed, OPERATOR) : passed,
  },
  {
    name: 'tokens live longer than they say',
    breaks: ['tokens.expired'],
    request: (passed) => {
      const json = jsonOf(passed.body);
      return json.ttl_hours < 0.01 ? withJson(passed, { ...json, ttl_hours: 1 }) : passed;
    },
    answer: (answered, passed) => {
      if (!(jsonOf(passed.body).ttl_hours < 0.01)) return answered;
      return withJson(answered, {
        ...jsonOf(answered.body),
        expires_at: new Date(Date.now() + 1_000).toISOString(),
      });
    },
  },
  {
    name: 'a token asks for root tokens',
    breaks: ['tokens.root-by-token'],
    beside: DELEGATION,
    request: (passed) => {
      const isRoot =
        passed.path === '/svc/tokens' && jsonOf(passed.body).parent_token === undefined;
      return isRoot && bearerOf(passed).startsWith('ey') ? withBearer(passed, ALICE) : passed;
    },
  },
  {
    name: 'a child has every scope it asks for',
    breaks: ['tokens.wider-scope', 'approvals.approver-scope'],
    beside: DELEGATION,
    request: (passed) => {
      const child = childRequest(passed);
      if (!child || !Array.isArray(child.scope)) return passed;
      return withJson(passed, {
        ...child,
        scope: partOf(bearerOf(passed), 1).scope ?? child.scope,
      });
    },
    answer: (answered, passed) => {
      const child = childRequest(passed);
      if (!child || answered.status !== 200) return answered;
      return withJson(answered, { ...jsonOf(answered.body), scope: child.scope });
    },
  },
  {
    name: 'a token delegates from any other token',
    breaks: ['tokens.foreign-parent', 'tokens.sibling-parent'],
    beside: DELEGATION,
    request: (passed, { tokens }) => {
      const parent = tokens.get(childRequest(passed)?.parent_token);
      return parent ? withBearer(passed, parent) : passed;
    },
  },
  {
    name: 'the task of a call is not compared',
    breaks: ['tokens.task-at-invoke', 'tokens.task-escape'],
    beside: ['tokens.scope-at-invoke', 'tokens.capability-at-invoke', 'tokens.capability-escape'],
    request: (passed) => {
      if (!passed.path.startsWith('/svc/invoke/')) return passed;
      const { task_id: _, ...rest } = jsonOf(passed.body);
      return withJson(passed, rest);
    },
  },
  {
    name: 'the scope of a call is not compared',
    breaks: ['tokens.scope-at-invoke'],
    beside: ['tokens.task-at-invoke'],
    async request(passed, { forward }) {
      if (!passed.path.startsWith('/svc/invoke/')) return passed;
      const { purpose, capability } = partOf(bearerOf(passed), 1);
      const asked = {
        scope: ['travel.search', 'travel.read'],
        ...(purpose && { purpose_parameters: purpose }),
        ...(capability && { capability }),
      };
      const headers = ['Host', 'desk', 'Content-Type', 'application/json'];
      const issue = withBearer(
        { method: 'POST', path: '/svc/tokens', headers, body: Buffer.from(JSON.stringify(asked)) },
        ALICE,
      );
      return withBearer(passed, jsonOf((await forward(issue)).body).token);
    },
  },
  {
    name: 'the binding of a token to a capability is dropped',
    breaks: ['tokens.capability-at-invoke', 'tokens.capability-escape'],
    beside: ['tokens.scope-at-invoke', 'tokens.task-at-invoke'],
    request: (passed) => {
      if (passed.path !== '/svc/tokens') return passed;
      const { capability: _, ...rest } = jsonOf(passed.body);
      return withJson(passed, rest);
    },
  },
  {
    name: 'issuance refuses nothing',
    breaks: [
      'tokens.stranger',
      'tokens.root-by-token',
      'tokens.lifetime-values',
      ...DELEGATION.filter((id) => id !== 'tokens.root-by-token'),
      'tokens.omitted-scope',
      'tokens.capability-escape',
      'tokens.task-escape',
      'tokens.exclusive-escape',
      'tokens.human-name',
      'tokens.depth',
      'budgets.strange-amounts',
      'surface.malformed-bodies',
    ],
    beside: ['tokens.wrong-proof'],
    async request(passed, { forward }) {
      if (passed.path !== '/svc/tokens') return passed;
      const answered = await forward(passed);
      // What the agent may have is not attacked: it stays another principal.
      const isAgent = bearerOf(passed) === AGENT && !childRequest(passed);
      if (answered.status === 200 || isAgent) return answered;
      const asked = { scope: ['travel.search', 'travel.read'] };
      const headers = ['Host', 'desk', 'Content-Type', 'application/json'];
      const body = Buffer.from(JSON.stringify(asked));
      return forward(withBearer({ method: 'POST', path: '/svc/tokens', headers, body }, ALICE));
    },
  },
  {
    name: 'everything that the service signed is a token',
    breaks: ['tokens.other-artefact'],
    beside: ['tokens.wrong-proof'],
    request: (passed, { tokens }) =>
      partOf(bearerOf(passed), 0).typ === 'svc-checkpoint+jws'
        ? withBearer(passed, [...tokens.values()].at(-1) ?? '')
        : passed,
  },
  {
    name: 'a child outlives its parent',
    breaks: ['tokens.longer-life'],
    beside: ['tokens.exclusive-escape'],
    answer: (answered, passed) => {
      if (childRequest(passed)?.ttl_hours !== 48 || answered.status !== 200) return answered;
      const expires_at = new Date(Date.now() + 48 * 3_600_000).toISOString();
      return withJson(answered, { ...jsonOf(answered.body), expires_at });
    },
  },
  {
    name: 'permissions withholds what invoking allows',
    breaks: ['tokens.agreement', 'tokens.scope-at-invoke'],
    beside: ['tokens.task-at-invoke'],
    answer: (answered) => {
      const { failure } = jsonOf(answered.body);
      return failure?.type === 'scope_insufficient' ? answerWith(200, { success: true }) : answered;
    },
  },
  {
    name: 'the second scope of a request counts too',
    breaks: ['tokens.polluted-request'],
    beside: ['tokens.wider-scope'],
    request: (passed) => {
      if (passed.path !== '/svc/tokens' || !passed.body.includes('"__proto__"')) return passed;
      const { ['__proto__']: _, ...rest } = jsonOf(passed.body);
      return withJson(passed, rest);
    },
    answer: (answered, { body }) => {
      if (answered.status !== 200 || !body.includes('"__proto__"')) return answered;
      return withJson(answered, { ...jsonOf(answered.body), scope: ['operator:*'] });
    },
  },
];

/**
 * Delegation: a child that asks for more than its parent has, in every constraint and in every spelling.
 *
 * @module
 */

import type { Case } from '../case.ts';
import { field, textAt, textsAt } from '../target/fields.ts';
import { jwtClaims } from '../target/jwt.ts';
import {
  type Attempt,
  broken,
  eachAttempt,
  held,
  isSuccess,
  noneAccepted,
  notApplicable,
} from '../target/outcome.ts';
import { isHarmless } from '../target/service.ts';
import {
  answerSummary,
  childOf,
  delegate,
  hasRun,
  invoke,
  issueAs,
  ONE_HOUR,
  readCall,
  readToken,
  rootRequest,
  type Token,
  tokenBoundElsewhere,
  tokenIn,
  tokenOf,
  type World,
} from '../target/world.ts';

/** Scopes that look like the one that the parent has, or cover everything. */
function greedyScopes(scope: string, world: World): readonly string[] {
  const prefix = scope.slice(0, -1);
  const others = world.service.capabilities.flatMap(({ scopes }) => scopes);
  return [
    '*',
    `${scope}.*`,
    `${scope}*`,
    `${prefix}*`,
    prefix,
    `${scope}.admin`,
    scope.toUpperCase(),
    'operator:*',
    'approver:*',
    'admin',
    `${scope} operator:*`,
    `${scope}\u200b`,
    `${scope}\t`,
    ...[...new Set(others)].filter((each) => each !== scope).slice(0, 8),
  ].filter((each) => each !== scope && each !== '');
}

/** A child that carries a scope which its parent lacks. Shortening the request instead of refusing it is allowed. */
function isWider({ scope }: Token, child: Token | undefined): boolean {
  return child?.scope.some((each) => !scope.includes(each)) ?? false;
}

async function children(
  world: World,
  parent: Token,
  requests: readonly (readonly [what: string, request: Readonly<Record<string, unknown>>])[],
): Promise<Attempt[]> {
  return eachAttempt(requests, async ([what, request]) => ({
    what,
    answer: await delegate(world, parent, request),
  }));
}

/** Levels below a root token that are tried. */
const DEPTH_TRIED = 32;

export const delegationCases: readonly Case[] = [
  {
    id: 'tokens.wider-scope',
    tries:
      'A child with a scope that its parent lacks: wildcards, prefixes, look-alikes, scopes of other capabilities.',
    holds: 'No child carries a scope that its parent lacks.',
    basis: 'Tokens rule 3: scope only narrows',
    async run(world) {
      const parent = await tokenOf(world, world.self);
      const [scope = ''] = parent.scope;
      const requests = greedyScopes(scope, world).map(
        (greedy) =>
          [`the scope ${JSON.stringify(greedy)}`, { scope: [...parent.scope, greedy] }] as const,
      );
      return noneAccepted(await children(world, parent, requests), (answer) =>
        isWider(parent, tokenIn(answer)),
      );
    },
  },
  {
    id: 'tokens.omitted-scope',
    tries: 'A child whose request leaves its scope out, or has null, a text or an object there.',
    holds: 'Nothing is inferred: the service refuses it, or gives a token without scope.',
    basis: 'POST /svc/tokens: scope is required; rule 7: scope is never inferred',
    async run(world) {
      const parent = await tokenOf(world, world.self);
      const values = [undefined, null, {}, { length: 1, 0: '*' }, 1, [null], [[parent.scope[0]]]];
      const requests = values.map(
        (scope) => [`scope ${JSON.stringify(scope) ?? 'left out'}`, { scope }] as const,
      );
      const attempts = await children(world, parent, requests);
      return noneAccepted(attempts, (answer) => (tokenIn(answer)?.scope.length ?? 0) > 0);
    },
  },
  {
    id: 'tokens.foreign-parent',
    tries:
      'A child of a token of another principal: with the token, and with the credential, of a stranger.',
    holds: 'The service issues nothing: only the subject of a token delegates from it.',
    basis: 'Tokens rule 2: the existing delegation JWT plus parent_token',
    async run(world) {
      const victim = await tokenOf(world, world.self);
      const thief = await tokenOf(world, world.other);
      const request = {
        scope: victim.scope,
        subject: 'agent:writ-attack',
        parent_token: victim.id,
        ...ONE_HOUR,
      };
      const bearers = [
        ['the token', thief.jwt],
        ['the credential', world.other.credential],
      ] as const;
      const attempts = await eachAttempt(bearers, async ([what, bearer]) => ({
        what: `${what} of ${world.other.name}`,
        answer: await issueAs(world, bearer, request),
      }));
      return noneAccepted(attempts);
    },
  },
  {
    id: 'tokens.unknown-parent',
    tries: 'A child of a parent that does not exist, or that is named in a wrong form.',
    holds: 'The service issues nothing, and no root token in its place.',
    basis: 'POST /svc/tokens: parent_token is the id of a stored token, not a JWT',
    async run(world) {
      const token = await tokenOf(world, world.self);
      const ids = [
        ['unknown', 'tok_00000000000000000000000000'],
        ['nonsense', 'nonsense'],
        ['"__proto__"', '__proto__'],
        ['a number', 1],
        ['an id with a space', `${token.id} `],
        ['a JWT', token.jwt],
        ['a list', [token.id]],
        ['an object', { token_id: token.id }],
      ] as const;
      const attempts: Attempt[] = [];
      for (const bearer of [token.jwt, world.self.credential]) {
        const more = await eachAttempt(ids, async ([what, parent_token]) => ({
          what: `a parent that is ${what}`,
          answer: await issueAs(world, bearer, {
            scope: token.scope,
            subject: 'agent:writ-attack',
            parent_token,
            ...ONE_HOUR,
          }),
        }));
        attempts.push(...more);
      }
      // A service that reads the id out of another form has issued a child, and nothing wider.
      return noneAccepted(attempts, (answer) => {
        const issued = tokenIn(answer);
        return issued !== undefined && jwtClaims(issued.jwt).parent_token_id !== token.id;
      });
    },
  },
  {
    id: 'tokens.sibling-parent',
    tries: 'A child of the parent, and of a sibling, of the presented token.',
    holds: 'The service issues nothing wider than the presented token.',
    basis: 'Tokens rules 2 and 3: narrowing against the stored parent of the presented token',
    async run(world) {
      const [first, second] = world.self.scopes;
      if (first === undefined || second === undefined) {
        return notApplicable(`${world.self.name} has fewer than two scopes`);
      }
      const parent = await tokenOf(world, world.self, { scope: [first, second] });
      const narrow = await childOf(world, parent, { scope: [first] });
      const sibling = await childOf(world, parent, { scope: [second] });
      const targets = [
        ['parent', parent.id],
        ['sibling', sibling.id],
      ] as const;
      const attempts = await eachAttempt(targets, async ([what, parent_token]) => ({
        what: `the scope "${second}" by way of the ${what}`,
        answer: await issueAs(world, narrow.jwt, {
          scope: [second],
          subject: 'agent:writ-attack',
          parent_token,
          ...ONE_HOUR,
        }),
      }));
      return noneAccepted(attempts);
    },
  },
  {
    id: 'tokens.capability-escape',
    tries: 'A child of a token that is bound to a capability: bound to another, or to none.',
    holds: 'No child is bound to another capability, and no child invokes another one.',
    basis: 'Tokens rule 5: capability binding only narrows',
    async run(world) {
      const call = readCall(world);
      const { token: parent, bound } = await tokenBoundElsewhere(world, call);
      const requests = [call.capability, '*', '', undefined, null].map((capability) => ({
        capability,
      }));
      for (const request of requests) {
        const child = tokenIn(await delegate(world, parent, request));
        if (!child) continue;
        const what = `a child with the capability ${JSON.stringify(request.capability) ?? 'left out'}`;
        if (hasRun(await invoke(world, child, call)))
          return broken(`${what} invoked "${call.capability}"`);
      }
      return held(`no child of a token for "${bound}" invoked "${call.capability}"`);
    },
  },
  {
    id: 'tokens.task-escape',
    tries: 'A child of a token with a task: for another task, or for none.',
    holds: 'No child acts for another task.',
    basis: 'Tokens rule 6: purpose and task constraints only narrow',
    async run(world) {
      const call = readCall(world);
      const task_id = world.unique('task');
      const parent = await tokenOf(world, world.self, {
        scope: call.scopes,
        purpose_parameters: { task_id },
      });
      const purposes = [
        { task_id: 'another' },
        { task_id: null },
        { task_id: '' },
        {},
        null,
        undefined,
      ];
      for (const purpose_parameters of purposes) {
        const child = tokenIn(await delegate(world, parent, { purpose_parameters }));
        if (!child) continue;
        const answer = await invoke(world, child, call, { task_id: 'another' });
        const what = `a child with the purpose ${JSON.stringify(purpose_parameters) ?? 'left out'}`;
        if (hasRun(answer)) return broken(`${what} acted for another task`);
      }
      return held(`${purposes.length} children, none acted for another task`);
    },
  },
  {
    id: 'tokens.longer-life',
    tries: 'A child that lives longer than its parent.',
    holds: 'The service refuses it, or shortens it.',
    basis: 'practice: expires is a time bound of delegated authority, which only narrows',
    async run(world) {
      const parent = await tokenOf(world, world.self);
      const child = tokenIn(await delegate(world, parent, { ttl_hours: 48 }));
      if (!child) return held('refused');
      const [ends, bound] = [child, parent].map(({ answer }) =>
        Date.parse(textAt(answer, 'expires_at') ?? ''),
      );
      if (!(Number(ends) > 0) || !(Number(bound) > 0))
        return notApplicable('the answers have no expires_at');
      return Number(ends) > Number(bound)
        ? broken(
            `the child ends ${Math.round((Number(ends) - Number(bound)) / 60_000)} minutes after its parent`,
          )
        : held('the child ends with its parent');
    },
  },
  {
    id: 'tokens.exclusive-escape',
    tries: 'A child of an exclusive token that asks for concurrent branches.',
    holds: 'The service refuses it, or the child stays exclusive.',
    basis: 'Delegation token: concurrent_branches; practice: constraints only narrow',
    async run(world) {
      const parent = await tokenOf(world, world.self, { concurrent_branches: 'exclusive' });
      const child = tokenIn(await delegate(world, parent, { concurrent_branches: 'allowed' }));
      if (!child) return held('refused');
      const claimed = jwtClaims(child.jwt).concurrent_branches;
      if (claimed === undefined)
        return notApplicable('the token does not say whether it is exclusive');
      return claimed === 'exclusive'
        ? held('the child is exclusive')
        : broken(`the child is "${String(claimed)}"`);
    },
  },
  {
    id: 'tokens.human-name',
    tries: 'A token of an agent that delegates to a person: "human:…".',
    holds: 'The service issues nothing: a capability for people would be open to every agent.',
    basis: 'Principal: a capability may require human: and deny every agent:; practice',
    async run(world) {
      const parent = await tokenOf(world, world.self);
      const agent = await childOf(world, parent, { subject: 'agent:writ-attack' });
      const subjects = [
        'human:writ-attack',
        textAt(jwtClaims(parent.jwt), 'root_principal') ?? 'human:root',
      ];
      const people = subjects.filter((subject) => subject.startsWith('human:'));
      const requests = people.map((subject) => [`the subject "${subject}"`, { subject }] as const);
      return noneAccepted(await children(world, agent, requests));
    },
  },
  {
    id: 'tokens.depth',
    tries: `Delegating ${DEPTH_TRIED} levels deep.`,
    holds: 'The service ends it at some depth.',
    basis:
      'Delegation token validation 7: delegation depth; practice: the maximum is not specified',
    async run(world) {
      let token = await tokenOf(world, world.self);
      for (let depth = 1; depth <= DEPTH_TRIED; depth++) {
        const answer = await delegate(world, token, { subject: `agent:writ-attack-${depth}` });
        const child = tokenIn(answer);
        if (!child) return held(`refused at depth ${depth} (${answerSummary(answer)})`);
        token = child;
      }
      return broken(`the service issued ${DEPTH_TRIED} levels`);
    },
  },
  {
    id: 'tokens.agreement',
    tries: 'Invoking the reads that permissions does not list as available.',
    holds: 'The service refuses what it says that the token may not do.',
    basis: 'POST /svc/permissions: available, restricted, denied',
    async run(world) {
      const { token } = await readToken(world);
      const path = world.service.endpoints.get('permissions') ?? '';
      const { json } = await world.wire.ask({ path, bearer: token.jwt, body: {} });
      const names = ['restricted', 'denied'].flatMap((bucket) => {
        const found = field(json, bucket);
        return Array.isArray(found) ? found.map((each) => textAt(each, 'capability')) : [];
      });
      const reads = world.service.capabilities.filter(
        (declared) => names.includes(declared.name) && isHarmless(declared),
      );
      if (reads.length === 0) return notApplicable('permissions withholds no free read');
      const attempts = await eachAttempt(reads.slice(0, 6), async ({ name }) => ({
        what: `"${name}"`,
        answer: await invoke(world, token, { capability: name, scopes: [], parameters: {} }),
      }));
      return noneAccepted(attempts, hasRun);
    },
  },
  {
    id: 'tokens.polluted-request',
    tries: 'A request for a token with "__proto__", "constructor" and a second scope in one body.',
    holds: 'The token has no scope that the request does not name once, and plainly.',
    basis: 'Tokens rule 3; practice: two readers of one body must not see two requests',
    async run(world) {
      const parent = await tokenOf(world, world.self);
      const plain = JSON.stringify(rootRequest(world.self, parent.scope));
      const rest = plain.slice(1);
      const greedy = '["operator:*","approver:*","*"]';
      const bodies = [
        `{"__proto__":{"scope":${greedy}},${rest}`,
        `{"constructor":{"prototype":{"scope":${greedy}}},${rest}`,
        `{"scope":${greedy},${rest}`,
        `{"Scope":${greedy},${rest}`,
        `{"scope\\u0000":${greedy},${rest}`,
      ];
      const attempts = await eachAttempt(bodies, async (body) => ({
        what: body.slice(0, 20),
        answer: await issueAs(world, world.self.credential, body),
      }));
      const wide = attempts.find(
        ({ answer }) =>
          isSuccess(answer) &&
          textsAt(answer.json, 'scope').some((each) => !parent.scope.includes(each)),
      );
      return wide
        ? broken(`a body that begins with ${wide.what} gave a wider token`)
        : held(`${bodies.length} bodies, no wider token`);
    },
  },
];

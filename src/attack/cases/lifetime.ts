/**
 * The life of a token: who gets one, when it ends, and what has ended with it.
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Case } from '../case.ts';
import { textAt } from '../target/fields.ts';
import { jwtClaims, jwtParts } from '../target/jwt.ts';
import {
  broken,
  eachAttempt,
  held,
  isSuccess,
  NotApplicable,
  noneAccepted,
  notApplicable,
} from '../target/outcome.ts';
import {
  acceptedToken,
  answerSummary,
  childOf,
  delegate,
  hasRun,
  invoke,
  issueAs,
  mustAccept,
  ONE_HOUR,
  operationPath,
  permissionsAs,
  readCall,
  rootRequest,
  type Token,
  tokenBoundElsewhere,
  tokenIn,
  tokenOf,
  type World,
} from '../target/world.ts';

/** About a second, in hours. */
const SHORT_TTL_HOURS = 0.0003;

/** In milliseconds, on top of the lifetime: times in tokens and headers have whole seconds. */
const EXPIRY_MARGIN_MS = 2_500;

/** In milliseconds: a service may round a lifetime up. Longer is not waited for. */
const EXPIRY_WAIT_MAX_MS = 15_000;

async function revoke(world: World, token: Token): Promise<void> {
  const path = operationPath(world, 'tokens_revoke');
  const { credential } = world.self;
  const answer = await world.wire.ask({ path, bearer: credential, body: { token_id: token.id } });
  if (!isSuccess(answer))
    throw new NotApplicable(`the service does not revoke it (${answerSummary(answer)})`);
}

/** Other spellings of the bytes of a token: a service that keys on text may not know them as revoked. */
function spellings(jwt: string): (readonly [string, string])[] {
  const { spelt } = jwtParts(jwt);
  const [header, claims, signature] = spelt;
  const padded = spelt.map((part) => part.padEnd(Math.ceil(part.length / 4) * 4, '=')).join('.');
  const standard = spelt.map((part) => part.replaceAll('-', '+').replaceAll('_', '/')).join('.');
  const last = signature.at(-1) ?? 'A';
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const next = letters[(letters.indexOf(last) ^ 1) % 64] ?? 'A';
  return [
    ['as it was', jwt],
    ['with padding', padded],
    ['in the other alphabet', standard],
    ['with unused bits', `${header}.${claims}.${signature.slice(0, -1)}${next}`],
  ];
}

/** What a request for a token without a good credential presents. */
const STRANGERS: readonly (readonly [string, string | undefined])[] = [
  ['no credential', undefined],
  ['an empty credential', ''],
  ['a made-up credential', 'writ-attack-not-a-key'],
  ['the word "undefined"', 'undefined'],
  ['a name of the language', '__proto__'],
  ['a quotation mark', "' OR ''='"],
];

export const lifetimeCases: readonly Case[] = [
  {
    id: 'tokens.stranger',
    tries: 'Asking for a root token without a credential, or with one that is made up.',
    holds: 'The service issues nothing.',
    basis:
      'Bootstrap authentication 2: missing or invalid credentials fail at the transport boundary',
    async run(world) {
      const scope = (await tokenOf(world, world.self)).scope;
      const body = { scope, subject: 'human:writ-attack', ...ONE_HOUR };
      const attempts = await eachAttempt(STRANGERS, async ([what, bearer]) => ({
        what,
        answer: await issueAs(world, bearer, body),
      }));
      return noneAccepted(attempts);
    },
  },
  {
    id: 'tokens.root-by-token',
    tries: 'Asking for a root token with a delegation token and no parent.',
    holds: 'The service issues nothing: a root token takes a bootstrap credential.',
    basis: 'Tokens rule 1: root issuance, bootstrap credential, no parent_token',
    async run(world) {
      const token = await tokenOf(world, world.self);
      const subject = textAt(jwtClaims(token.jwt), 'sub') ?? 'agent:writ-attack';
      const bodies = [{ subject }, { subject, parent_token: null }, { subject, parent_token: '' }];
      // A service that takes null and "" as the presented token itself has issued a child, not a root token.
      const attempts = await eachAttempt(bodies, async (more) => ({
        what: `parent_token ${JSON.stringify(more.parent_token ?? null)}`,
        answer: await issueAs(world, token.jwt, { scope: token.scope, ...ONE_HOUR, ...more }),
      }));
      return noneAccepted(attempts, (answer) => {
        const issued = tokenIn(answer);
        return issued !== undefined && !textAt(jwtClaims(issued.jwt), 'parent_token_id');
      });
    },
  },
  {
    id: 'tokens.lifetime-values',
    tries: 'Root tokens with a lifetime of zero, less than zero, or a word.',
    holds: 'The service issues nothing that lives.',
    basis: 'POST /svc/tokens: ttl_hours is a number; Delegation token validation 4: not expired',
    async run(world) {
      const { scope } = await tokenOf(world, world.self);
      const values = [0, -1, -0.5, 'forever', true, []];
      for (const ttl_hours of values) {
        const request = rootRequest(world.self, scope, { ttl_hours });
        const token = tokenIn(await issueAs(world, world.self.credential, request));
        if (!token) continue;
        const lives = isSuccess(await permissionsAs(world, token.jwt));
        // A number in a text, or a true read as 1, is lenient. A lifetime that ends before it begins must not live.
        const isOver = typeof ttl_hours === 'number' || ttl_hours === 'forever';
        if (lives && isOver)
          return broken(`a token with ttl_hours ${JSON.stringify(ttl_hours)} lives`);
      }
      return held(`${values.length} lifetimes, no living token`);
    },
  },
  {
    id: 'tokens.expired',
    tries: 'Using a token of one second after its end.',
    holds: 'The service refuses it.',
    basis: 'Delegation token validation 4: not expired',
    async run(world) {
      const { scope } = await acceptedToken(world);
      const request = rootRequest(world.self, scope, { ttl_hours: SHORT_TTL_HOURS });
      const answer = await issueAs(world, world.self.credential, request);
      const token = tokenIn(answer);
      if (!token)
        return notApplicable(`the service gives no token for seconds (${answerSummary(answer)})`);
      const answered = textAt(token.answer, 'expires_at') ?? textAt(token.answer, 'expires');
      const ends = Date.parse(answered ?? '');
      // By the clock of the service, where it shows it: ours may be another.
      const shown = Date.parse(answer.headers.date ?? '');
      const wait = ends - (shown || world.now().getTime()) + EXPIRY_MARGIN_MS;
      if (Number.isNaN(ends)) return notApplicable('the answer does not say when the token ends');
      if (wait > EXPIRY_WAIT_MAX_MS) return notApplicable('the service gives no token for seconds');
      await pause(Math.max(0, wait));
      return noneAccepted([
        { what: 'a token after its end', answer: await permissionsAs(world, token.jwt) },
      ]);
    },
  },
  {
    id: 'tokens.revoked',
    tries: 'Using a revoked token, also in other spellings of the same bytes.',
    holds: 'The service refuses it in every spelling.',
    basis: 'Delegation token validation 3: exists in storage, not revoked',
    async run(world) {
      const token = await acceptedToken(world);
      const attempts = spellings(token.jwt);
      await revoke(world, token);
      return noneAccepted(
        await eachAttempt(attempts, async ([what, bearer]) => ({
          what: `a revoked token ${what}`,
          answer: await permissionsAs(world, bearer),
        })),
      );
    },
  },
  {
    id: 'tokens.revoked-parent',
    tries: 'Using, invoking and delegating with a child and a grandchild of a revoked token.',
    holds: 'The service refuses all of them.',
    basis: 'practice: a token lives only while every token above it does',
    async run(world) {
      const parent = await tokenOf(world, world.self);
      const child = await childOf(world, parent);
      const grandchild = await childOf(world, child);
      const [call] = world.reads;
      for (const token of [child, grandchild]) await mustAccept(world, token);
      await revoke(world, parent);
      const attempts = [
        { what: 'the child', answer: await permissionsAs(world, child.jwt) },
        { what: 'the grandchild', answer: await permissionsAs(world, grandchild.jwt) },
        { what: 'a new child of the child', answer: await delegate(world, child) },
        ...(call
          ? [
              {
                what: 'an invocation by the grandchild',
                answer: await invoke(world, grandchild, call),
              },
            ]
          : []),
      ];
      return noneAccepted(attempts);
    },
  },
  {
    id: 'tokens.foreign-revocation',
    tries: 'Revoking a token of another root principal.',
    holds: 'The token lives on.',
    basis: 'practice: an unrelated principal cannot end a delegation',
    async run(world) {
      const path = operationPath(world, 'tokens_revoke');
      const token = await tokenOf(world, world.self);
      const stranger = await tokenOf(world, world.other);
      for (const bearer of [stranger.jwt, world.other.credential]) {
        await world.wire.ask({ path, bearer, body: { token_id: token.id } });
      }
      const answer = await permissionsAs(world, token.jwt);
      return isSuccess(answer)
        ? held(`the token of ${world.self.name} lives after ${world.other.name} tried twice`)
        : broken(
            `${world.other.name} ended a token of ${world.self.name} (${answerSummary(answer)})`,
          );
    },
  },
  {
    id: 'tokens.scope-at-invoke',
    tries: 'Invoking a capability with a token that lacks its scope.',
    holds: 'The service refuses it before the handler.',
    basis: 'Delegation token validation 5: scope covers minimum_scope',
    async run(world) {
      const call = readCall(world);
      const lacking = world.self.scopes.find((scope) => !call.scopes.includes(scope));
      if (call.scopes.length === 0 || lacking === undefined) {
        return notApplicable(
          `${world.self.name} has no scope besides that of "${call.capability}"`,
        );
      }
      const token = await tokenOf(world, world.self, { scope: [lacking] });
      const answer = await invoke(world, token, call);
      return noneAccepted(
        [{ what: `"${call.capability}" with the scope "${lacking}"`, answer }],
        hasRun,
      );
    },
  },
  {
    id: 'tokens.capability-at-invoke',
    tries: 'Invoking another capability than the one that the token is bound to.',
    holds: 'The service refuses it, although the scope would cover it.',
    basis: 'Delegation token validation 6: the binding equals the requested capability',
    async run(world) {
      const call = readCall(world);
      const { token, bound } = await tokenBoundElsewhere(world, call);
      const answer = await invoke(world, token, call);
      return noneAccepted(
        [{ what: `"${call.capability}" with a token bound to "${bound}"`, answer }],
        hasRun,
      );
    },
  },
  {
    id: 'tokens.task-at-invoke',
    tries: 'Invoking for another task than the purpose of the token names, in several spellings.',
    holds: 'The service refuses each.',
    basis: 'Tokens rule 6: the invocation task_id must match or be omitted',
    async run(world) {
      const call = readCall(world);
      const task = world.unique('task');
      const purpose_parameters = { task_id: task };
      const token = await tokenOf(world, world.self, { scope: call.scopes, purpose_parameters });
      const others = [`${task}-2`, task.toUpperCase(), ` ${task}`, `${task}\u200b`, 'x'];
      const attempts = await eachAttempt(others, async (task_id) => ({
        what: `the task ${JSON.stringify(task_id.slice(-8))}`,
        answer: await invoke(world, token, call, { task_id }),
      }));
      return noneAccepted(attempts, hasRun);
    },
  },
];

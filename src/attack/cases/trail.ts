/**
 * The audit trail: what is missing from it, what a caller can forge in it, and what it shows to others.
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Case } from '../case.ts';
import { field, textAt } from '../target/fields.ts';
import {
  broken,
  count,
  eachAttempt,
  held,
  isBusy,
  isSuccess,
  NotApplicable,
  noneAccepted,
  noStranger,
  notApplicable,
} from '../target/outcome.ts';
import {
  answerSummary,
  askHealthy,
  auditAs,
  invoke,
  operationPath,
  permissionsAs,
  readCall,
  readToken,
  type Token,
  tokenOf,
  trailOf,
  type World,
} from '../target/world.ts';

const OWN_TRAIL = 'POST /svc/audit: a principal sees only its own trail';

/** A call whose ids no other call has. */
interface Marked {
  readonly token: Token;
  readonly invocationId: string;
  readonly reference: string;
  readonly task: string;
  readonly parent: string;
}

async function marked(world: World): Promise<Marked> {
  const { call, token } = await readToken(world);
  const [reference, task] = [world.unique('reference'), world.unique('task')];
  const parent = `inv-${world
    .unique('')
    .replaceAll(/[^0-9a-f]/g, '')
    .padEnd(12, '0')
    .slice(0, 12)}`;
  const ids = { client_reference_id: reference, task_id: task, parent_invocation_id: parent };
  const answer = await invoke(world, token, call, ids);
  const invocationId = textAt(answer.json, 'invocation_id');
  if (invocationId === undefined)
    throw new NotApplicable(`the call has no invocation_id (${answerSummary(answer)})`);
  return { token, invocationId, reference, task, parent };
}

/** The specification does not say that an entry is there before its answer. */
const ENTRY_TRIES = 5;
const ENTRY_WAIT_MS = 300;

/** An entry of a call, found by its owner. */
async function entryOf(
  world: World,
  { token, invocationId }: Pick<Marked, 'token' | 'invocationId'>,
): Promise<unknown> {
  for (let tries = 1; ; tries++) {
    const entries = await trailOf(world, token.jwt, { invocation_id: invocationId });
    const found = entries.find((entry) => textAt(entry, 'invocation_id') === invocationId);
    if (found !== undefined || tries === ENTRY_TRIES) return found;
    await pause(ENTRY_WAIT_MS);
  }
}

/** Whether entries contain the call of somebody else. */
function shows(entries: readonly unknown[], { invocationId, token }: Marked): boolean {
  return entries.some(
    (entry) =>
      textAt(entry, 'invocation_id') === invocationId || textAt(entry, 'token_id') === token.id,
  );
}

/** A call that its owner finds. Otherwise it means nothing that others do not find it. */
async function findable(world: World): Promise<Marked> {
  const call = await marked(world);
  if ((await entryOf(world, call)) !== undefined) return call;
  throw new NotApplicable('the owner does not find the entry either');
}

/** Queries of a stranger for the call of another principal. */
function queriesFor({ invocationId, reference, task, parent }: Marked, world: World) {
  return [
    {},
    { limit: '1000' },
    { invocation_id: invocationId },
    { client_reference_id: reference },
    { task_id: task },
    { parent_invocation_id: parent },
    { capability: readCall(world).capability },
    { since: '2000-01-01T00:00:00Z' },
  ] as Record<string, string>[];
}

/** Filters that no specification has, and texts that a careless query would read as more than a value. */
const TRICKS: readonly string[] = [
  'root_principal=VICTIM',
  'actor_key=VICTIM',
  'principal=VICTIM',
  'all=true',
  'scope=all',
  'invocation_id=%25',
  'invocation_id=*',
  'invocation_id[]=',
  'invocation_id[$ne]=x',
  "client_reference_id=x'%20OR%20'1'%3D'1",
  'limit=999999',
  'limit=-1',
  'limit=NaN',
  'limit=1e9',
  'cursor=0',
  'capability=&capability=',
  '__proto__[root_principal]=VICTIM',
];

/** An id of the same form that no token has. */
function unknownIdLike(id: string): string {
  return `${id.slice(0, -4)}${id.endsWith('0') ? '1111' : '0000'}`;
}

export const trailCases: readonly Case[] = [
  {
    id: 'log.entry-of-a-call',
    tries: 'Looking for the entry of a call that was just answered.',
    holds: 'The entry is there, with the ids of the call, and says that it succeeded.',
    basis: 'What the service does: invocations are audited; Audit entry',
    async run(world) {
      const call = await marked(world);
      const entry = await entryOf(world, call);
      if (entry === undefined)
        return broken(`the answered call "${call.invocationId}" has no entry`);
      const wrong = Object.entries({
        token_id: call.token.id,
        client_reference_id: call.reference,
        task_id: call.task,
        parent_invocation_id: call.parent,
        success: true,
      }).find(([name, value]) => field(entry, name) !== value);
      return wrong
        ? broken(`the entry has another "${wrong[0]}" than the call`)
        : held('the entry has the ids of the call');
    },
  },
  {
    id: 'log.entry-of-a-refusal',
    tries: 'Looking for the entry of an authenticated call that was refused.',
    holds: 'The entry is there, and says that it failed.',
    basis: 'Events: low_risk_failure and high_risk_failure; every invocation is recorded',
    async run(world) {
      const call = readCall(world);
      const token = await tokenOf(world, world.self, {
        scope: call.scopes,
        purpose_parameters: { task_id: 'one' },
      });
      const answer = await invoke(world, token, call, { task_id: 'another' });
      const invocation_id = textAt(answer.json, 'invocation_id');
      if (isSuccess(answer) || invocation_id === undefined) {
        return notApplicable(
          `the call was not refused with an invocation_id (${answerSummary(answer)})`,
        );
      }
      const entry = await entryOf(world, { token, invocationId: invocation_id });
      if (entry === undefined) return broken(`the refused call "${invocation_id}" has no entry`);
      return field(entry, 'success') === false
        ? held('the refusal has an entry')
        : broken('the entry of a refused call says that it succeeded');
    },
  },
  {
    id: 'log.foreign-entries',
    tries:
      'Finding a call of another principal: without a filter, and by every filter of the specification.',
    holds: 'No answer shows it.',
    basis: OWN_TRAIL,
    async run(world) {
      const call = await findable(world);
      const stranger = await tokenOf(world, world.other);
      const queries = queriesFor(call, world);
      for (const query of queries) {
        const [name = 'no filter'] = Object.keys(query);
        const entries = await trailOf(world, stranger.jwt, query);
        if (shows(entries, call))
          return broken(`${world.other.name} sees a call of ${world.self.name} by "${name}"`);
      }
      return held(
        `${count(queries.length, 'query').replace('querys', 'queries')}, none shows the call`,
      );
    },
  },
  {
    id: 'log.filter-tricks',
    tries:
      'Widening an audit query: unknown filters, wildcards, operators, repeated names, impossible limits.',
    holds: 'No answer shows a call of another principal.',
    basis: OWN_TRAIL,
    async run(world) {
      const call = await findable(world);
      const stranger = await tokenOf(world, world.other);
      const path = operationPath(world, 'audit');
      const victim = encodeURIComponent(world.self.name);
      let answered = 0;
      for (const trick of TRICKS) {
        const asked = { path: `${path}?${trick.replace('VICTIM', victim)}`, bearer: stranger.jwt };
        for (const body of [undefined, { root_principal: world.self.name, all: true }]) {
          const answer = await world.wire.ask({ ...asked, body });
          if (answer.status > 0 && !isBusy(answer)) answered += 1;
          const entries = field(answer.json, 'entries');
          if (Array.isArray(entries) && shows(entries, call))
            return broken(`the query "${trick}" shows the call`);
        }
      }
      return answered === 0
        ? notApplicable('the service answered no query')
        : held(`${answered} queries, none shows the call`);
    },
  },
  {
    id: 'log.foreign-token',
    tries: 'Reading the stored token of another principal by its id.',
    holds: 'The service does not show it to others, and its answer is that for an unknown id.',
    basis: 'practice: foreign ids are indistinguishable from absent ones',
    async run(world) {
      const path = operationPath(world, 'token');
      const victim = await tokenOf(world, world.self);
      const stranger = await tokenOf(world, world.other);
      const at = (id: string) => path.replace(/\{[^}]*\}/, id);
      const read = (id: string, { jwt }: Token) =>
        askHealthy(world, { method: 'GET', path: at(id), bearer: jwt });
      const own = await read(victim.id, victim);
      if (!isSuccess(own))
        return notApplicable(`its owner does not read it either (${answerSummary(own)})`);
      const foreign = await read(victim.id, stranger);
      const absent = await read(unknownIdLike(victim.id), stranger);
      if (isSuccess(foreign))
        return broken(`${world.other.name} reads a token of ${world.self.name}`);
      const [one, other] = [foreign, absent].map(
        (answer) => `${answer.status} ${textAt(answer.json, 'failure', 'type') ?? ''}`,
      );
      return one === other
        ? held(`both answers are ${one}`)
        : broken(`a foreign id answers ${one}, an unknown one ${other}`);
    },
  },
  {
    id: 'log.stranger',
    tries: 'Reading the log without a credential, and with a made-up one.',
    holds: 'The service shows nothing.',
    basis: 'POST /svc/audit: delegation JWT or audit credential',
    run: (world) => noStranger((bearer) => auditAs(world, bearer)),
  },
  {
    id: 'log.forged-fields',
    tries:
      'A call whose body names its own invocation_id, actor, root principal, time and success.',
    holds: 'The entry has none of them.',
    basis: 'Audit entry: written by the service',
    async run(world) {
      const { call, token } = await readToken(world);
      const forged = {
        invocation_id: 'inv-ffffffffffff',
        actor_key: 'human:writ-attack',
        root_principal: 'human:writ-attack',
        token_id: 'tok_writ-attack',
        timestamp: '2001-01-01T00:00:00.000Z',
        event_class: 'low_risk_failure',
        approval_grant_id: 'gnt_writ-attack',
      };
      const answer = await invoke(world, token, call, forged);
      const invocation_id = textAt(answer.json, 'invocation_id');
      if (invocation_id === undefined) return held(`refused (${answerSummary(answer)})`);
      if (invocation_id === forged.invocation_id)
        return broken('the caller chose the id of the invocation');
      const [entry] = await trailOf(world, token.jwt, { invocation_id });
      const names = Object.entries(forged).filter(([name, value]) => field(entry, name) === value);
      if (entry === undefined) return notApplicable('the owner does not find the entry');
      // The class of a failed call may be the one that was forged.
      const found = names.find(
        ([name]) => name !== 'event_class' || field(entry, 'success') === true,
      );
      return found
        ? broken(`the entry has the forged "${found[0]}"`)
        : held('the entry has none of the forged values');
    },
  },
  {
    id: 'log.secrets',
    tries: 'Looking for tokens and credentials in the own trail.',
    holds: 'No entry has one.',
    basis: 'practice: a log is read by more people than a credential is for',
    async run(world) {
      const token = await tokenOf(world, world.self);
      await permissionsAs(world, token.jwt);
      const answer = await auditAs(world, token.jwt, { limit: '200' });
      if (!isSuccess(answer))
        return notApplicable(`the trail cannot be read (${answerSummary(answer)})`);
      const secrets = [
        world.self.credential,
        world.other.credential,
        token.jwt,
        token.jwt.split('.')[2] ?? token.jwt,
      ];
      return secrets.some((secret) => answer.text.includes(secret))
        ? broken('an entry of the trail has a credential or a token')
        : held('no entry has a token or a credential of this run');
    },
  },
  {
    id: 'log.rewriting',
    tries: 'Deleting, replacing and changing entries and checkpoints by the methods of HTTP.',
    holds: 'The service has no such operation.',
    basis: 'Endpoints: the log can be read only',
    hasEffects: true,
    async run(world) {
      const { token, invocationId } = await marked(world);
      const paths = [
        operationPath(world, 'audit'),
        world.service.endpoints.get('checkpoints') ?? '/svc/checkpoints',
      ];
      const methods = ['DELETE', 'PUT', 'PATCH'];
      const tries = paths.flatMap((path) => methods.map((method) => ({ method, path })));
      const attempts = await eachAttempt(tries, async ({ method, path }) => ({
        what: `${method} ${path}`,
        answer: await world.wire.ask({
          method,
          path: `${path}?invocation_id=${invocationId}`,
          bearer: token.jwt,
          body: {},
        }),
      }));
      return noneAccepted(attempts);
    },
  },
];

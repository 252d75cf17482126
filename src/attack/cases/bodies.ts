/**
 * Bodies and names: what a service reads before it knows anything.
 *
 * @module
 */

import type { Case } from '../case.ts';
import { field, textAt } from '../target/fields.ts';
import {
  type Attempt,
  broken,
  count,
  eachAttempt,
  held,
  noneAccepted,
  notApplicable,
} from '../target/outcome.ts';
import type { Answer } from '../target/wire.ts';
import {
  hasRun,
  invoke,
  invokePath,
  isAnswering,
  operationPath,
  permissionsAs,
  readCall,
  readToken,
  tokenOf,
  type World,
} from '../target/world.ts';

/** Bytes of a body that no request of this protocol needs. */
const HUGE_BYTES = 4 * 1024 * 1024;

/** Their bodies have less than 256 KiB, so that a bound on bytes does not hide a missing one. */
const DEPTH = 30_000;
const KEYS = 20_000;

/** Not JSON, or not an object: nothing here is a request. */
const MALFORMED: readonly (readonly [what: string, body: string | Uint8Array])[] = [
  ['nothing', ''],
  ['half of an object', '{"scope":["a"'],
  ['a text', '"scope"'],
  ['a list', '[]'],
  ['null', 'null'],
  ['a number', '1'],
  ['single quotation marks', "{'scope':['a']}"],
  ['NaN', '{"scope":NaN}'],
  ['a comment', '{/* a */"scope":["a"]}'],
  ['two objects', '{}{}'],
  ['XML', '<scope>a</scope>'],
  ['bytes that are no UTF-8', Uint8Array.of(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d)],
  ['a zero byte', '{"scope":["a"]}\u0000'],
];

const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '',
  '.',
  '..',
  '%00',
  'writ-attack',
];

/** Sends bodies to issuance and permissions. What matters is that the service answers afterwards. */
async function survives(world: World, bodies: readonly (readonly [string, string | Uint8Array])[]) {
  const attempts: Attempt[] = [];
  const { jwt } = await tokenOf(world, world.self);
  for (const [what, body] of bodies) {
    const headers = { 'content-type': 'application/json' };
    const paths = [
      { path: operationPath(world, 'tokens'), bearer: world.self.credential },
      { path: operationPath(world, 'permissions'), bearer: jwt },
      { path: operationPath(world, 'tokens'), bearer: undefined },
    ];
    for (const at of paths)
      attempts.push({ what, answer: await world.wire.ask({ ...at, body, headers }) });
    if (!(await isAnswering(world))) return broken(`the service no longer answers after ${what}`);
  }
  const answered = attempts.map(({ answer }) => answer.status || 'closed');
  return held(
    `the service answers after ${count(attempts.length, 'body').replace('bodys', 'bodies')} (${[...new Set(answered)].join(', ')})`,
  );
}

/** An id that is one character longer than the specification allows. */
const LONG_ID = 'x'.repeat(257);

export const bodyCases: readonly Case[] = [
  {
    id: 'surface.malformed-bodies',
    tries: 'Requests for a token whose body is not a JSON object.',
    holds: 'The service issues nothing.',
    basis: 'Endpoints: bodies are JSON; POST /svc/tokens: scope is required',
    async run(world) {
      const path = operationPath(world, 'tokens');
      const bearer = world.self.credential;
      const headers = { 'content-type': 'application/json' };
      return noneAccepted(
        await eachAttempt(MALFORMED, async ([what, body]) => ({
          what,
          answer: await world.wire.ask({ path, bearer, body, headers }),
        })),
      );
    },
  },
  {
    id: 'surface.deep-bodies',
    tries: `Lists and objects in each other, ${DEPTH} deep.`,
    holds: 'The service goes on answering.',
    basis: 'practice: a body must not end a process',
    run: (world) =>
      survives(world, [
        ['deep lists', '['.repeat(DEPTH) + ']'.repeat(DEPTH)],
        ['deep objects', `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`],
        ['deep lists without an end', '['.repeat(DEPTH)],
      ]),
  },
  {
    id: 'surface.wide-bodies',
    tries: `An object with ${KEYS} names, and a list of ${KEYS} scopes.`,
    holds: 'The service goes on answering.',
    basis: 'practice: a body must not end a process',
    run: (world) =>
      survives(world, [
        ['many names', `{${Array.from({ length: KEYS }, (_, n) => `"k${n}":1`).join(',')}}`],
        ['many scopes', JSON.stringify({ scope: Array.from({ length: KEYS }, (_, n) => `s${n}`) })],
      ]),
  },
  {
    id: 'surface.huge-bodies',
    tries: `A body of ${HUGE_BYTES / 1024 / 1024} MiB.`,
    holds: 'The service goes on answering.',
    basis: 'practice: a body must not end a process',
    run: (world) => survives(world, [['a huge body', `{"scope":["${'x'.repeat(HUGE_BYTES)}"]}`]]),
  },
  {
    id: 'surface.inherited-names',
    tries:
      'Capabilities that no service declares: "__proto__", "constructor", "toString", empty names, paths.',
    holds: 'Nothing runs.',
    basis: 'POST /svc/invoke/{capability}: a declared capability',
    async run(world) {
      const { jwt } = await tokenOf(world, world.self);
      const names = NAMES.filter(
        (name) => !world.service.capabilities.some((each) => each.name === name),
      );
      const base = invokePath(world, '');
      const attempts = await eachAttempt(names, async (name) => ({
        what: `the capability "${name}"`,
        answer: await world.wire.ask({ path: base + name, bearer: jwt, body: { parameters: {} } }),
      }));
      return noneAccepted(attempts, hasRun);
    },
  },
  {
    id: 'surface.inherited-parameters',
    tries:
      'A call with "__proto__", "constructor" and "toString" among its parameters and beside them.',
    holds: 'The service answers the next honest call as before.',
    basis: 'practice: one request must not change another',
    async run(world) {
      const { call, token } = await readToken(world);
      const own = JSON.stringify(call.parameters).slice(1);
      const more = own === '}' ? '}' : `,${own}`;
      const planted =
        '"__proto__":{"polluted":true,"success":false},"constructor":{"prototype":{"polluted":true}}';
      const bodies = [
        `{"parameters":{${planted}${more}}`,
        `{${planted},"parameters":${JSON.stringify(call.parameters)}}`,
      ];
      for (const body of bodies)
        await world.wire.ask({ path: invokePath(world, call.capability), bearer: token.jwt, body });
      const answer = await invoke(world, token, call);
      if (!hasRun(answer)) return broken('an honest call is refused afterwards');
      return answer.text.includes('polluted')
        ? broken('an honest answer has the planted member')
        : held('the next call is answered as before');
    },
  },
  {
    id: 'surface.long-ids',
    tries:
      'A call with a reference and a task of 257 characters, and a parent that is no invocation id.',
    holds: 'The service refuses each.',
    basis:
      'Limits: client_reference_id and task_id max 256 chars; parent_invocation_id has the format inv-<hex12>',
    async run(world) {
      const { call, token } = await readToken(world);
      const ids = [
        { client_reference_id: LONG_ID },
        { task_id: LONG_ID },
        { parent_invocation_id: 'inv-xyz' },
        { parent_invocation_id: 'inv-0123456789ab0' },
        { parent_invocation_id: "inv-' OR '1'='1" },
      ];
      const attempts = await eachAttempt(ids, async (id) => {
        const [name = '', value = ''] = Object.entries(id)[0] ?? [];
        return {
          what: `${name} of ${value.length} characters`,
          answer: await invoke(world, token, call, id),
        };
      });
      return noneAccepted(attempts, hasRun);
    },
  },
  {
    id: 'surface.wrong-types',
    tries:
      'A call whose parameters are a list, a text, null or missing, and whose ids are objects.',
    holds: 'Nothing runs.',
    basis: 'POST /svc/invoke: parameters is an object, required',
    async run(world) {
      const { call, token } = await readToken(world);
      const bodies: readonly object[] = [
        {},
        { parameters: null },
        { parameters: [] },
        { parameters: 'x' },
        { parameters: call.parameters, client_reference_id: { a: 1 } },
        { parameters: call.parameters, task_id: ['a'] },
      ];
      const path = invokePath(world, call.capability);
      const attempts = await eachAttempt(bodies, async (body) => ({
        what: JSON.stringify(body).slice(0, 40),
        answer: await world.wire.ask({ path, bearer: token.jwt, body }),
      }));
      return noneAccepted(attempts, hasRun);
    },
  },
  {
    id: 'surface.failure-form',
    tries: 'Reading the refusals of invocations for what a caller needs.',
    holds: 'Each says type, detail, retry, action and recovery class; "terminal" is never retried.',
    basis: 'Failure object; Errors: terminal is always paired with retry=false',
    async run(world) {
      const call = readCall(world);
      const task = { purpose_parameters: { task_id: 'one' } };
      const token = await tokenOf(world, world.self, { scope: call.scopes, ...task });
      const answers = [
        await invoke(world, token, call, { task_id: 'another' }),
        await invoke(world, token, { ...call, capability: 'writ-attack' }),
        await invoke(world, token, { ...call, parameters: { 'writ-attack': {} } }),
      ].filter((answer) => !hasRun(answer));
      if (answers.length === 0) return notApplicable('no call was refused');
      const fault = answers.map(formFault).find((each) => each !== undefined);
      return fault === undefined
        ? held(`${count(answers.length, 'refusal')} with advice`)
        : broken(fault);
    },
  },
  {
    id: 'surface.foreign-text',
    tries:
      'Markup in ids and paths, which a browser would run if the answer said that it is a page.',
    holds: 'No answer shows it as HTML.',
    basis: 'Endpoints: bodies are JSON',
    async run(world) {
      const { call, token } = await readToken(world);
      const markup = '<script>alert(1)</script>';
      const answers = [
        await invoke(world, token, call, { client_reference_id: markup }),
        await world.wire.ask({ method: 'GET', path: `/svc/${encodeURIComponent(markup)}` }),
        await world.wire.ask({
          method: 'GET',
          path: `/${encodeURIComponent(markup)}?x=${encodeURIComponent(markup)}`,
        }),
        await permissionsAs(world, encodeURIComponent(markup)),
      ];
      const page = answers.find(
        ({ headers, text }) =>
          /html/i.test(String(headers['content-type'])) && text.includes(markup),
      );
      return page
        ? broken('an answer shows the markup as HTML')
        : held(`${answers.length} answers, none is a page with the markup`);
    },
  },
  {
    id: 'surface.host-header',
    tries: 'Asking for the public documents under another host name.',
    holds: 'No document names that host: it would send verifiers there.',
    basis: 'practice: jwks_uri and addresses are the service’s own',
    async run(world) {
      const host = 'writ-attack.invalid';
      const paths = ['/.well-known/svc', operationPath(world, 'manifest')];
      const headers = { host, 'x-forwarded-host': host, forwarded: `host=${host}` };
      for (const path of paths) {
        const { text } = await world.wire.ask({ method: 'GET', path, headers });
        if (text.includes(host)) return broken(`${path} names the host of the request`);
      }
      return held(`${paths.length} documents, none names the host`);
    },
  },
];

function formFault({ json, status }: Answer): string | undefined {
  const failure = field(json, 'failure');
  const type = textAt(failure, 'type') ?? 'a refusal';
  if (field(json, 'success') !== false || failure === undefined)
    return `an answer with the status ${status} has no failure`;
  const texts = [['detail'], ['resolution', 'action'], ['resolution', 'recovery_class']];
  const missing = texts.find((path) => textAt(failure, ...path) === undefined);
  if (missing) return `"${type}" has no ${missing.join('.')}`;
  if (typeof field(failure, 'retry') !== 'boolean')
    return `"${type}" does not say whether to retry`;
  const isTerminal = textAt(failure, 'resolution', 'recovery_class') === 'terminal';
  return isTerminal && field(failure, 'retry') === true
    ? `"${type}" is terminal and says retry`
    : undefined;
}

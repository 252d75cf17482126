/**
 * A service whose handlers use accounts of people at another service, and people who connect theirs.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { type HandlerContext, HandlerFailure } from '../../src/service/author/handler.ts';
import { type Person, personAt } from '../sign-in/browser.ts';
import { type Reply, type TestOptions, type TestService, testService } from '../support/world.ts';
import { type OtherService, openOtherService } from './other-service.ts';

export const ANN = 'key-of-ann';
export const BOB = 'key-of-bob';
export const ROBOT = 'key-of-robot';

const IDENTITIES = [
  { key: ANN, principal: 'human:ann@example.com', scopes: ['issues.use'] },
  { key: BOB, principal: 'human:bob@example.com', scopes: ['issues.use'] },
  { key: ROBOT, principal: 'service:robot', scopes: ['issues.use'] },
];

/** What the handlers of the desk got. */
export interface Desk {
  readonly other: OtherService;
  readonly service: TestService;
  /** The tokens that handlers got, the newest last. */
  readonly lent: string[];
}

/** What a handler does with its token, and must not do, except the last. */
const MANNERS = {
  return: (token) => ({ header: `Bearer ${token}` }),
  nest: (token) => ({ list: [{ [token]: 1 }] }),
  throw(token) {
    throw new Error('it broke', { cause: new Error(`sent ${token}`) });
  },
  fail(token) {
    throw new HandlerFailure(`It said ${token}`, 'outcome_unknown');
  },
  log(token, { log }) {
    log.warn({ sent: token, err: new Error(token) }, `sent ${token}`);
  },
  bind(token, { issueBinding }) {
    issueBinding({ type: 'b', capability: 'use_tracker', data: { token } });
  },
  progress: (token, { progress }) => progress({ token }),
  async twice(token, { account }) {
    assert.equal(await account('tracker'), token);
  },
} as const satisfies Record<string, (token: string, context: HandlerContext) => unknown>;

type Manner = keyof typeof MANNERS;
const CARELESS = Object.keys(MANNERS);

export async function openDesk(
  options: TestOptions & { readonly other?: OtherService } = {},
): Promise<Desk> {
  const { other = await openOtherService(), ...rest } = options;
  const lent: string[] = [];
  const use = defineCapability({
    name: 'use_tracker',
    description: 'Use the tracker',
    side_effect: 'read',
    minimum_scope: ['issues.use'],
    async handler(_, context) {
      const token = await context.account('tracker');
      lent.push(token);
      return { isValid: other.isValid(token) };
    },
  });
  const careless = defineCapability({
    name: 'careless',
    description: 'Hand the token over',
    inputs: [{ name: 'manner', type: 'string', required: true, allowed_values: CARELESS }],
    side_effect: 'write',
    minimum_scope: ['issues.use'],
    response_modes: ['unary', 'streaming'],
    async handler({ manner }, context) {
      const token = await context.account('tracker');
      lent.push(token);
      return (await MANNERS[manner as Manner](token, context)) ?? { done: true };
    },
  });
  const definition = createService({
    id: 'desk',
    capabilities: [use, careless],
    accounts: { tracker: other.account, second: { ...other.account, title: 'Second' } },
  });
  const settings = { identities: IDENTITIES, rate_limits: 'off', ...(rest.settings ?? {}) };
  const service = await testService({ definition, ...rest, settings });
  return { other, service, lent };
}

/** A root token of a person, as a program of the person has it. */
export async function tokenOf({ service }: Desk, key = ANN): Promise<string> {
  const { token } = await service.issue(key, { scope: ['issues.use'] });
  return token;
}

export async function signedIn({ service }: Pick<Desk, 'service'>, key = ANN): Promise<Person> {
  const person = personAt(service);
  assert.equal((await person.signIn(key)).status, 303);
  return person;
}

/** Begins to connect: where the browser is sent. */
export async function begun(person: Person, name = 'tracker'): Promise<string> {
  const page = await person.open(`/accounts/${name}`);
  assert.equal(page.status, 200, page.text);
  const reply = await person.send(page, `/accounts/${name}/connect`);
  return leadingTo(reply);
}

/** Where a page leads the browser by itself. */
export function leadingTo({ status, headers, text }: Reply): string {
  assert.equal(status, 200, text);
  const [, location] = /^0; url=(.+)$/.exec(String(headers.refresh)) ?? [];
  return location ?? assert.fail(text);
}

/** Comes back from the other service. */
export function back(person: Person, to: URL): Promise<Reply> {
  return person.open(`${to.pathname}${to.search}`);
}

/** The whole way of a person who agrees. */
export async function connect({ other }: Desk, person: Person, name = 'tracker'): Promise<Reply> {
  const reply = await back(person, other.agree(await begun(person, name)));
  assert.equal(reply.status, 303, reply.text);
  return reply;
}

export async function use(desk: Desk, token: string): Promise<Reply> {
  return desk.service.invoke(token, 'use_tracker');
}

/** What the entries about accounts say, oldest first. */
export async function accountEntries({ service }: Desk): Promise<unknown[]> {
  const entries = await service.entriesBy({ entryType: 'session' });
  return entries
    .filter(({ detail }) => String(detail?.verb).startsWith('account_'))
    .map(({ detail, root_principal }) => `${detail?.verb} ${detail?.account} ${root_principal}`);
}

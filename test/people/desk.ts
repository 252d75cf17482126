/**
 * A desk whose people have no identity provider: an operator invites them, and each has software authenticators in place of
 * devices. Their browsers keep cookies and fill in forms; what the script of the pages does, `device` does.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createLog } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import { PersonInvite } from '../../src/protocol/console/people.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import type { IdentityParts } from '../../src/service/authority/stored-identities.ts';
import { createAlarms } from '../../src/service/operations/alarms.ts';
import { newInvitation, storeInvitation } from '../../src/service/people/invitations.ts';
import { openRowLogs } from '../../src/service/rows/row-check.ts';
import { serviceStore } from '../../src/service/rows/service-store.ts';
import { type Oddities, type SoftwareKey, softwareKey } from '../../src/testing/authenticator.ts';
import { type ConsolePerson, openConsole } from '../console/person.ts';
import { type Person, personAt } from '../sign-in/browser.ts';
import { temporaryFolder } from '../support/ends.ts';
import type { SqlPlace } from '../support/sql-places.ts';
import { type Reply, type TestOptions, type TestService, testService } from '../support/world.ts';

export const BASE = 'https://desk.example.com';
export const [ANN, BOB, CAROL] = [
  'human:ann@example.com',
  'human:bob@example.com',
  'human:carol@example.com',
];
const AGENT_KEY = 'agent-key';
export const HOUR = 3_600_000;

/** Whom a person may name, and so invite. */
const SUBJECTS = ['agent:*', 'human:*'];

const GRANT_POLICY = {
  allowed_grant_types: ['one_time' as const],
  default_grant_type: 'one_time' as const,
  expires_in_seconds: 900,
  max_uses: 1,
};

export const definition = createService({
  id: 'people-desk',
  capabilities: [
    defineCapability({
      name: 'pay',
      description: 'Pays',
      minimum_scope: ['travel.pay'],
      side_effect: 'irreversible' as const,
      approval: { when: 'always' as const, grant_policy: GRANT_POLICY },
      handler: () => ({ done: true }),
    }),
  ],
});

export interface Invitation {
  readonly invitation_id: string;
  /** The secret of the link. */
  readonly link: string;
  readonly code: string;
}

export interface PeopleDesk {
  readonly service: TestService;
  readonly replica: TestService;
  /** As the command at the store invites. */
  invite(principal: string, ...scopes: string[]): Promise<Invitation>;
  /** Somebody who is new, enrolled. */
  newcomer(principal: string, ...scopes: string[]): Promise<Enrolled>;
  /** A request of an agent that waits for an approval. */
  asked(): Promise<string>;
}

interface Enrolled {
  readonly key: SoftwareKey;
  readonly browser: Browser;
}

const IDENTITIES = [
  { key: AGENT_KEY, principal: 'agent:payer', scopes: ['travel.*'], subjects: ['agent:*'] },
];

export async function openDesk(
  { url }: Pick<SqlPlace, 'url'>,
  options: TestOptions = {},
): Promise<PeopleDesk> {
  const given: TestOptions = {
    keys: temporaryFolder(),
    definition,
    baseUrl: () => BASE,
    ...options,
    store: url,
  };
  const settings = { identities: IDENTITIES, public_url: BASE, ...options.settings };
  const service = await testService({ ...given, settings });
  const replica = await testService({ ...given, settings });
  const invite: PeopleDesk['invite'] = (principal, ...scopes) =>
    invitedAtStore(service, {
      principal,
      ...(scopes.length > 0 && { scopes, subjects: SUBJECTS }),
    });
  return {
    service,
    replica,
    invite,
    async newcomer(principal, ...scopes) {
      const browser = browserAt(service);
      const key = softwareKey();
      const reply = await browser.enrol(await invite(principal, ...scopes), key);
      assert.equal(reply.status, 303, reply.text);
      return { key, browser };
    },
    async asked() {
      const { token } = await service.issue(AGENT_KEY, { scope: ['travel.pay'] });
      const { body } = await service.invoke(token, 'pay', {});
      assert.equal(body.failure?.type, 'approval_required', JSON.stringify(body));
      return body.failure.approval_request_id;
    },
  };
}

/** Invites as the command at the store does, which may give every scope. */
export async function invitedAtStore(service: TestService, request: object): Promise<Invitation> {
  const log = createLog('silent');
  const logs = await openRowLogs(service.store);
  const authority = { rows: service.rows, alarms: createAlarms(log), logs };
  const parts: IdentityParts = {
    store: serviceStore(service.store, authority),
    platform: system,
  };
  const maker = { principal: 'service:store-command', caller_class: 'default' };
  const made = await newInvitation(parts, PersonInvite.parse(request), maker);
  const by = { principal: maker.principal, root_principal: maker.principal };
  await storeInvitation(parts, made.record, by);
  return { invitation_id: made.record.invitation_id, link: made.secret, code: made.code };
}

/** What a device is asked by a page, and how it departs from an honest one. */
interface Odd extends Oddities {
  readonly origin?: string;
  readonly rpId?: string;
}

export interface Browser extends Person {
  /** Types the code on the page of a link. */
  type(invitation: Pick<Invitation, 'link' | 'code'>): Promise<Reply>;
  /** Makes a passkey on the page that the code opened. */
  make(page: Reply, key: SoftwareKey, odd?: Odd): Promise<Reply>;
  /** Both. */
  enrol(invitation: Invitation, key: SoftwareKey): Promise<Reply>;
  /** The fields that the script puts into the form of the sign-in page. */
  answer(page: Reply, key: SoftwareKey, odd?: Odd): Record<string, string>;
  /** Signs in with a passkey. */
  use(key: SoftwareKey, odd?: Odd, path?: string): Promise<Reply>;
  console(): Promise<ConsolePerson>;
}

export function browserAt(service: TestService, pages = BASE): Browser {
  const person = personAt(service, pages);
  const type: Browser['type'] = async ({ link, code }) =>
    person.send(await person.open('/enrol'), '/enrol', { link, code });
  const make: Browser['make'] = (page, key, odd = {}) =>
    person.send(page, '/enrol/passkey', {
      ...key.register(askedBy(page, pages, odd), odd),
      label: 'Phone',
    });
  const answer: Browser['answer'] = (page, key, odd = {}) => ({
    ...key.assert(askedBy(page, pages, odd), odd),
  });
  return {
    ...person,
    type,
    make,
    enrol: async (invitation, key) => make(await type(invitation), key),
    answer,
    async use(key, odd = {}, path = '/sign-in') {
      const page = await person.open(path);
      return person.send(page, '/sign-in/passkey', answer(page, key, odd));
    },
    console: () => openConsole(service, person, pages),
  };
}

/** What the script of a page reads from its form. */
function askedBy({ text = '' }: Reply, pages: string, { origin, rpId }: Odd) {
  const [, challenge] = /data-challenge="([^"]+)"/.exec(text) ?? [];
  const [, id] = /data-rp-id="([^"]+)"/.exec(text) ?? [];
  assert.ok(challenge && id, `the page asks for no passkey: ${text.slice(0, 2_000)}`);
  return {
    challenge: Buffer.from(challenge, 'base64url'),
    rpId: rpId ?? id,
    origin: origin ?? pages,
  };
}

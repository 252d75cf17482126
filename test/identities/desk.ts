/**
 * A service with an operator whose identities a test adds, and a second replica on the same store and keys.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createLog } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import type { StoredIdentity } from '../../src/protocol/identity.ts';
import type { IdentityParts } from '../../src/service/authority/stored-identities.ts';
import { newIdentity, storeIdentity } from '../../src/service/authority/stored-identities.ts';
import { createAlarms } from '../../src/service/operations/alarms.ts';
import { openRowLogs } from '../../src/service/rows/row-check.ts';
import { serviceStore } from '../../src/service/rows/service-store.ts';
import { temporaryFolder } from '../support/ends.ts';
import { person } from '../support/person.ts';
import { SQL_PLACES, type SqlPlace } from '../support/sql-places.ts';
import { type Reply, type TestOptions, type TestService, testService } from '../support/world.ts';

export const CHIEF = 'chief-key';
export const MINOR = 'minor-key';
export const READER = 'reader-key';
/** Operates and approves. */
export const BOTH = 'both-key';

/** The chief may give agents and people much, the minor operator nothing but its own power. Two people approve. */
export const IDENTITIES = [
  person(CHIEF, 'human:chief', ['operator:*', 'travel.*'], {
    subjects: ['agent:*', 'human:*@example.com'],
    caller_classes: ['partner'],
  }),
  { key: MINOR, principal: 'service:minor', scopes: ['operator:identities'] },
  { key: READER, principal: 'service:reader', scopes: ['operator:read'] },
  person(BOTH, 'human:both', ['operator:*', 'approver:*'], { subjects: ['agent:*'] }),
  { key: 'judge-key', principal: 'human:judge@example.com', scopes: ['approver:*'] },
];

export interface Made extends StoredIdentity {
  readonly key: string;
}

export interface IdentityDesk {
  readonly place: SqlPlace;
  readonly service: TestService;
  readonly replica: TestService;
  add(request?: object, bearer?: string): Promise<Reply>;
  /** An identity that was added, with its key. */
  made(request?: object): Promise<Made>;
  remove(identityId: string, bearer?: string): Promise<Reply>;
  list(query?: string, bearer?: string): Promise<Reply>;
  /** How a request with this credential is answered at each replica. */
  seen(key: string): Promise<number[]>;
}

export function newKey(): { key: string; key_sha256: string } {
  const key = `wk_${randomBytes(32).toString('base64url')}`;
  return { key, key_sha256: createHash('sha256').update(key).digest('hex') };
}

const PATH = '/svc/operator/identities';

export async function openDesk(
  open: () => Promise<SqlPlace>,
  options: TestOptions = {},
): Promise<IdentityDesk> {
  const place = await open();
  const given: TestOptions = { keys: temporaryFolder(), ...options, store: place.url };
  const settings = { identities: IDENTITIES, ...options.settings };
  const service = await testService({ ...given, settings });
  const replica = await testService({ ...given, settings });
  const add: IdentityDesk['add'] = (request = {}, bearer = CHIEF) => {
    const { key_sha256 } = newKey();
    const body = { principal: 'agent:worker', key_sha256, scopes: ['travel.search'], ...request };
    return service.ask('POST', PATH, { bearer, body });
  };
  return {
    place,
    service,
    replica,
    add,
    async made(request) {
      const { key, key_sha256 } = newKey();
      const { status, body, text } = await add({ key_sha256, ...request });
      assert.equal(status, 200, text);
      return { ...body, key };
    },
    remove: (identity_id, bearer = CHIEF) =>
      service.ask('POST', `${PATH}/remove`, { bearer, body: { identity_id } }),
    list: (query = '', bearer = CHIEF) => service.ask('GET', `${PATH}${query}`, { bearer }),
    async seen(bearer) {
      const body = { scope: ['travel.search'] };
      const asked = [service, replica].map((each) =>
        each.ask('POST', '/svc/tokens', { bearer, body }),
      );
      return (await Promise.all(asked)).map(({ status }) => status);
    },
  };
}

/** Adds an identity as the command at the store does, which may give every scope. */
export async function madeAtStore(service: TestService, request: object): Promise<Made> {
  const { key, key_sha256 } = newKey();
  const log = createLog('silent');
  const logs = await openRowLogs(service.store);
  const authority = { rows: service.rows, alarms: createAlarms(log), logs };
  const parts: IdentityParts = {
    store: serviceStore(service.store, authority),
    platform: system,
  };
  const asked = { principal: 'human:ann@example.com', key_sha256, ...request };
  const maker = { principal: 'service:store-command', caller_class: 'default' };
  const identity = newIdentity(parts, asked as never, maker);
  const by = { principal: maker.principal, root_principal: maker.principal };
  assert.equal(await storeIdentity(parts, identity, by), undefined);
  return { ...(identity as unknown as StoredIdentity), key };
}

export function onSqlPlaces(body: (open: () => Promise<SqlPlace>, name: string) => void): void {
  for (const { name, open } of SQL_PLACES) body(open, name);
}

/**
 * Persons who lose their rights, their credential or their name: what was given in their name follows.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { DEMO_IDENTITIES } from '../../examples/travel/service.ts';
import { temporaryFolder } from '../support/ends.ts';
import { SQL_PLACES } from '../support/sql-places.ts';
import { ALICE, OPERATOR, type TestService, testService } from '../support/world.ts';
import {
  codeFor,
  cookieLine,
  get,
  isAlive,
  READS,
  redeem,
  refresh,
  SEARCH,
  signedIn,
} from './attacker.ts';
import { delegation } from './browser.ts';

const [HUMAN, ...OTHERS] = DEMO_IDENTITIES;

for (const { name, open } of SQL_PLACES) {
  describe(name, () => {
    /** Two lives of one service; the second has other identities. */
    async function lives<Kept>(
      first: (service: TestService) => Promise<Kept>,
      identities: readonly object[],
      second: (service: TestService, kept: Kept) => Promise<void>,
    ): Promise<void> {
      const { url: store } = await open();
      const keys = temporaryFolder();
      const before = await testService({ store, keys });
      const kept = await first(before);
      await before.close();
      const after = await testService({ store, keys, settings: { identities } });
      await second(after, kept);
    }

    test('a person whose entitlement shrinks: the next refresh has only what is left', async () => {
      await lives(
        (service) => delegation(service, READS),
        [{ ...HUMAN, scopes: ['travel.search'] }, ...OTHERS],
        async (service, given) => {
          const { status, body } = await refresh(service, given.refresh);
          assert.equal(status, 200);
          assert.equal(body.scope, 'travel.search');
          const call = await service.invoke(body.access_token, 'get_booking', { booking: 'B-1' });
          assert.equal(call.body.failure.type, 'scope_insufficient');
          const wider = await refresh(service, body.refresh_token, { scope: 'travel.read' });
          assert.equal(wider.status, 400);
        },
      );
    });

    test('a person who is entitled to nothing that was given: no refresh', async () => {
      await lives(
        (service) => delegation(service, READS),
        [{ ...HUMAN, scopes: ['travel.book'] }, ...OTHERS],
        async (service, given) => {
          assert.equal((await refresh(service, given.refresh)).body.error, 'invalid_grant');
        },
      );
    });

    test('a credential that is no longer configured: refresh, code and session are over', async () => {
      await lives(
        async (service) => {
          const person = await signedIn(service);
          const coded = await codeFor(person);
          return { given: await delegation(service, READS, { person }), coded, person };
        },
        OTHERS,
        async (service, { given, coded, person }) => {
          assert.equal((await refresh(service, given.refresh)).body.error, 'invalid_grant');
          assert.equal(await isAlive(service, given.access), false);
          assert.equal((await redeem(service, coded)).body.error, 'invalid_grant');
          const page = await get(service, '/agents', { cookie: cookieLine(person) });
          assert.equal(page.status, 303, 'a session without an account');
        },
      );
    });

    test('a key that is now of another person gives nothing in the name of the first', async () => {
      const bob = { ...HUMAN, principal: 'human:bobby@example.com' };
      await lives(
        async (service) => {
          const person = await signedIn(service);
          return { given: await delegation(service, READS, { person }), person };
        },
        [bob, ...OTHERS],
        async (service, { given, person }) => {
          // The new owner signs in, so that the account has the new name.
          await signedIn(service, ALICE);
          assert.equal((await refresh(service, given.refresh)).body.error, 'invalid_grant');
          assert.equal(await isAlive(service, given.access), false);
          const page = await get(service, '/agents', { cookie: cookieLine(person) });
          assert.equal(page.status, 303, 'the session of the first person');
        },
      );
    });

    test('a frozen person gives nothing and refreshes nothing, and goes on afterwards', async () => {
      const { url: store } = await open();
      const service = await testService({ store });
      const person = await signedIn(service);
      const given = await delegation(service, READS, { person });
      const coded = await codeFor(person);
      const freeze = (path: string) =>
        service.ask('POST', path, {
          bearer: OPERATOR,
          body: { what: 'root_principal', target: 'human:alice@example.com', reason: 'test' },
        });
      const frozen = await freeze('/svc/operator/freeze');
      assert.equal(frozen.status, 200, frozen.text);

      assert.equal((await refresh(service, given.refresh)).status, 503);
      assert.equal((await redeem(service, coded)).status, 503);
      assert.equal((await service.invoke(given.access, 'search_flights', SEARCH)).status, 403);
      await assert.rejects(codeFor(person));
      assert.equal((await freeze('/svc/operator/unfreeze')).status, 200);
      assert.equal((await refresh(service, given.refresh)).status, 200);
    });
  });
}

/**
 * Stored identities as approvers: they decide like configured ones, and a removal ends what they approved.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { DEMO_IDENTITIES } from '../../examples/travel/service.ts';
import { temporaryFolder } from '../support/ends.ts';
import { SQL_PLACES } from '../support/sql-places.ts';
import { ALICE, OPERATOR, type Reply, type TestService, testService } from '../support/world.ts';
import { madeAtStore } from './desk.ts';

/** The desk without its approvers. */
const identities = DEMO_IDENTITIES.filter(({ scopes }) => !scopes.includes('approver:*'));
const jet = (day: number) => ({ route: 'SEA-SFO', date: `2026-12-0${day}` });

async function askedJet(service: TestService, token: string, day: number): Promise<string> {
  const { body, text } = await service.invoke(token, 'charter_jet', jet(day));
  assert.equal(body.failure?.type, 'approval_required', text);
  return body.failure.approval_request_id;
}

function approve(service: TestService, bearer: string, approval_request_id: string) {
  const body = { approval_request_id, grant_type: 'one_time' };
  return service.ask('POST', '/svc/approval_grants', { bearer, body });
}

for (const { name, open } of SQL_PLACES) {
  describe(name, () => {
    test('a stored approver decides, by its key and by its token; its removal voids the grant', async () => {
      const place = await open();
      const service = await testService({
        settings: { identities },
        store: place.url,
        keys: temporaryFolder(),
      });
      const scopes = ['approver:*'];
      const [ann, ben] = [
        await madeAtStore(service, { scopes }),
        await madeAtStore(service, { principal: 'human:ben@example.com', scopes }),
      ];
      const budget = { currency: 'USD', max_amount: 90_000 };
      const asked = { subject: 'agent:planner', scope: ['travel.charter'], budget };
      const { token } = await service.issue(ALICE, asked);
      const bens = await service.issue(ben.key, { scope: scopes });
      const requests = [await askedJet(service, token, 1), await askedJet(service, token, 2)];

      const listed = await service.ask('GET', '/svc/approval_requests', { bearer: bens.token });
      const byKey = await approve(service, ann.key, requests[0] ?? '');
      const byToken = await approve(service, bens.token, requests[1] ?? '');
      const { identity_id } = ben;
      const removed = await service.ask('POST', '/svc/operator/identities/remove', {
        bearer: OPERATOR,
        body: { identity_id },
      });
      const [first, second] = [
        await service.invoke(token, 'charter_jet', jet(1), granted(byKey)),
        await service.invoke(token, 'charter_jet', jet(2), granted(byToken)),
      ];
      const again = await approve(service, bens.token, await askedJet(service, token, 3));

      assert.equal(listed.body.approval_requests.length, 2, listed.text);
      assert.equal(removed.body.removed, true, removed.text);
      assert.equal(first.body.success, true, first.text);
      assert.equal(second.body.failure?.type, 'approval_grant_invalid', second.text);
      assert.equal(again.body.failure?.type, 'not_found', again.text);
    });
  });
}

function granted({ body, text }: Reply) {
  assert.match(String(body.grant_id), /^gnt_/, text);
  return { fields: { approval_grant: body.grant_id } };
}

/**
 * Approval requests, votes and grants, changed behind the service's back: none gives anything, each
 * raises an alarm. Asked over a real socket.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { onInspectedStores } from '../authority/support.ts';
import {
  alarms,
  type Dialect,
  isFile,
  issue,
  refusedAs,
  type Sent,
  send,
  update,
} from '../authority/tampering.ts';
import { ALICE, BOB } from '../support/world.ts';

const CAROL = 'demo-approver2-key';

const later = (column: string): Dialect => ({
  file: `${column} = ${column} + 3600000`,
  database: `${column} = ${column} + interval '1 hour'`,
});
const list = (column: string, name: string): Dialect => ({
  file: `${column} = '["${name}"]'`,
  database: `${column} = ARRAY['${name}']`,
});

const REQUEST_EDITS: readonly [name: string, set: Dialect][] = [
  ['capability', "capability = 'charter_jet'"],
  ['contract_version', "contract_version = '9.9.9'"],
  ['scope', list('scope', 'operator:*')],
  ['subject', "subject = 'agent:evil'"],
  ['root_principal', "root_principal = 'human:carol@example.com'"],
  ['chain', "chain = 'sha256:00'"],
  ['requested_through', list('requested_through', 'agent:nobody')],
  ['session_id', "session_id = 's-9'"],
  ['invocation_id', "invocation_id = 'inv-000000000000'"],
  ['parameters', `parameters = '{"route":"SEA-SFO","date":"2030-01-01","jets":9}'`],
  ['parameters, to no object', { file: "parameters = '{'", database: "parameters = '9'" }],
  ['parameters_digest', "parameters_digest = 'sha256:00'"],
  ['preview', `preview = '{"price":"nothing"}'`],
  ['preview_digest', "preview_digest = 'sha256:00'"],
  [
    'grant_policy',
    `grant_policy = '{"allowed_grant_types":["one_time"],"default_grant_type":"one_time","expires_in_seconds":86400,"max_uses":99}'`,
  ],
  ['approvals_required', 'approvals_required = 1'],
  ['created_at', later('created_at')],
  ['expires_at', later('expires_at')],
  [
    'decided_at, to no time',
    { file: 'decided_at = 9000000000000000000', database: "decided_at = 'infinity'" },
  ],
  ['mac', 'mac = NULL'],
];

const VOTE_EDITS: readonly [name: string, set: Dialect][] = [
  ['approver', "approver = 'human:mallory@example.com'"],
  ['place', 'place = 1'],
  ['approved_at', later('approved_at')],
  [
    'terms',
    `terms = '{"grant_type":"one_time","session_id":null,"expires_in_seconds":9,"max_uses":1}'`,
  ],
  ['terms, to none', { file: "terms = 'x'", database: "terms = '9'" }],
  ['mac', 'mac = NULL'],
];

const GRANT_EDITS: readonly [name: string, set: Dialect][] = [
  ['capability', "capability = 'charter_fleet'"],
  ['contract_version', "contract_version = '9.9.9'"],
  ['scope', list('scope', 'operator:*')],
  ['subject', "subject = 'agent:evil'"],
  ['root_principal', "root_principal = 'human:carol@example.com'"],
  ['chain', "chain = 'sha256:00'"],
  ['parameters', `parameters = '{"route":"SEA-SFO","date":"2031-01-01"}'`],
  ['parameters, to no object', { file: "parameters = '{'", database: "parameters = '9'" }],
  ['parameters_digest', "parameters_digest = 'sha256:00'"],
  ['preview_digest', "preview_digest = 'sha256:00'"],
  ['grant_type', "grant_type = 'session_bound'"],
  ['session_id', "session_id = 's-9'"],
  ['approved_by', list('approved_by', 'human:carol@example.com')],
  ['approved_through', list('approved_through', 'human:carol@example.com')],
  ['issued_at', later('issued_at')],
  ['expires_at', later('expires_at')],
  ['max_uses', 'max_uses = 99'],
  ['signature', "signature = 'x..y'"],
  ['mac', 'mac = NULL'],
];

onInspectedStores((rig) => {
  let day = 0;

  /** A token, and a question that nobody asked before. */
  async function ask(capability: 'charter_jet' | 'charter_fleet') {
    const token: IssueAnswer = await issue(rig(), ALICE, {
      subject: 'agent:planner',
      scope: ['travel.charter'],
      capability,
      budget: { currency: 'USD', max_amount: 500_000 },
    });
    day += 1;
    const date = new Date(Date.UTC(2030, 0, day)).toISOString().slice(0, 10);
    const jets = capability === 'charter_fleet' ? { jets: 2 } : {};
    const parameters = { route: 'SEA-SFO', date, ...jets };
    const call = (fields: object = {}): Promise<Sent> =>
      send(rig(), token.token, `/svc/invoke/${capability}`, { parameters, ...fields });
    const asked = await call();
    refusedAs(asked, 'approval_required');
    return { token, call, id: asked.body.failure.approval_request_id as string };
  }

  const approve = (bearer: string, approval_request_id: string) =>
    send(rig(), bearer, '/svc/approval_grants', { approval_request_id, grant_type: 'one_time' });

  async function assertUndecidable(id: string, token: string): Promise<void> {
    for (const bearer of [BOB, CAROL]) refusedAs(await approve(bearer, id), 'not_found');
    for (const bearer of [BOB, token]) {
      refusedAs(await send(rig(), bearer, `/svc/approval_requests/${id}`), 'not_found');
    }
    const denied = await send(rig(), BOB, `/svc/approval_requests/${id}/deny`, { reason: 'no' });
    refusedAs(denied, 'not_found');
    const { body } = await send(rig(), BOB, '/svc/approval_requests');
    assert.ok(!JSON.stringify(body).includes(id));
  }

  describe('an approval request', () => {
    for (const [name, set] of REQUEST_EDITS) {
      test(`is unknown after its ${name} was edited`, async () => {
        const { token, id } = await ask('charter_fleet');
        await update(rig(), 'approval_requests', set, `approval_request_id = '${id}'`);

        await assertUndecidable(id, token.token);

        assert.equal(alarms(rig(), 'approval', id), 1);
      });
    }

    test('that was edited is not reused for an equal call', async () => {
      const { call, id } = await ask('charter_fleet');
      await update(
        rig(),
        'approval_requests',
        'approvals_required = 1',
        `approval_request_id = '${id}'`,
      );

      refusedAs(await call(), 'service_unavailable');
    });
  });

  describe('a vote', () => {
    for (const [name, set] of VOTE_EDITS) {
      test(`does not count after its ${name} was edited`, async () => {
        const { token, id } = await ask('charter_fleet');
        assert.equal((await approve(BOB, id)).status, 202);

        await update(rig(), 'approvals', set, `approval_request_id = '${id}'`);

        await assertUndecidable(id, token.token);
        assert.ok(rig().log.some((line) => line.includes(`"kind":"vote","id":"${id} `)));
      });
    }

    test('that was inserted completes no quorum', async () => {
      const { token, id } = await ask('charter_fleet');
      const at = isFile(rig()) ? '1' : 'now()';
      await rig().place.alter(
        `INSERT INTO approvals (approval_request_id, place, approver, approved_at)
         VALUES ('${id}', 0, 'human:mallory@example.com', ${at})`,
      );

      await assertUndecidable(id, token.token);
      assert.equal(alarms(rig(), 'vote', `${id} human:mallory@example.com`), 1);
    });
  });

  describe('a grant', () => {
    for (const [name, set] of GRANT_EDITS) {
      test(`is unknown after its ${name} was edited`, async () => {
        const { token, call, id } = await ask('charter_jet');
        const { body } = await approve(BOB, id);
        const grant: string = body.grant_id;
        const unknown = await call({ approval_grant: `gnt_${'0'.repeat(32)}` });

        await update(rig(), 'grants', set, `grant_id = '${grant}'`);
        const refused = await call({ approval_grant: grant });

        const words = (sent: Sent) => sent.body.failure.detail.replace(/gnt_\w+/, 'ID');
        assert.deepEqual([refused.status, words(refused)], [unknown.status, words(unknown)]);
        assert.equal(alarms(rig(), 'grant', grant), 1);
        const seen = await send(rig(), ALICE, `/svc/tokens/${token.token_id}`);
        assert.deepEqual([seen.body.budget_spent, seen.body.budget_reserved], [0, 0]);
      });
    }

    test('that is intact is used', async () => {
      const { call, id } = await ask('charter_jet');
      const { body } = await approve(BOB, id);

      const used = await call({ approval_grant: body.grant_id });

      assert.equal(used.body.success, true, JSON.stringify(used.body));
    });
  });
});

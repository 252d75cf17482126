/**
 * MCP over HTTP, tried with the official client in both versions of the protocol.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { openDesk, TRIP } from '../client/desk.ts';
import { closedAtEnd } from '../support/ends.ts';
import { group } from '../support/missing.ts';
import { ALICE, BOB, STORES } from '../support/world.ts';
import { call, connectAgent, type Person, VERSIONS } from './agent.ts';

const BUDGET = { currency: 'USD', max_amount: 60_000 };
const JET = { route: 'SEA-SFO', date: '2026-12-01' };

for (const { name: store, open } of STORES) {
  for (const version of VERSIONS) {
    group(`${store}, ${version.version}`, async () => {
      const { url } = await open();
      const desk = await openDesk({ store: url });

      async function agent(scope: string[], more: { token?: object; person?: Person } = {}) {
        const asked = { scope, subject: 'agent:planner', caller_class: 'automated_agent' };
        const { token } = await desk.service.issue(ALICE, { ...asked, ...more.token });
        const { person } = more;
        const asking = { version, url: desk.url, token, ...(person && { person }) };
        return closedAtEnd(await connectAgent(asking));
      }

      test('tools/list shows exactly the capabilities that the token may use', async () => {
        const client = await agent(['travel.search', 'travel.extras']);

        const { tools } = await client.listTools();

        assert.deepEqual(tools.map(({ name }) => name).sort(), [
          'buy_lounge_pass',
          'request_taxi',
          'search_flights',
        ]);
        assert.equal(client.getNegotiatedProtocolVersion(), version.version);
      });

      test('tools/call returns the result as structured content and as text', async () => {
        const client = await agent(['travel.search']);
        await client.listTools();

        const { isError, answer, text } = await call(client, 'search_flights', TRIP);

        assert.equal(isError, false);
        assert.equal(answer.success, true);
        assert.deepEqual(JSON.parse(text), answer.result);
        assert.match(answer.audit.leaf_hash, /^[0-9a-f]{64}$/);
      });

      test('tools/call returns a refusal with its guidance, and records it', async () => {
        const client = await agent(['travel.search'], {
          token: { purpose_parameters: { task_id: `refused-${version.version}` } },
        });

        const { isError, answer, text } = await call(client, 'buy_lounge_pass');

        assert.equal(isError, true);
        assert.equal(answer.failure.type, 'scope_insufficient');
        assert.match(
          text,
          /^scope_insufficient: .*\nWhat to do: ask for a token with the missing scope/,
        );
        assert.match(text, /Can be granted by: human:alice@example.com/);
        const { body } = await desk.service.ask(
          'POST',
          `/svc/audit?task_id=refused-${version.version}`,
          { bearer: ALICE },
        );
        assert.deepEqual(
          body.entries.map(({ invocation_id }: { invocation_id: string }) => invocation_id),
          [answer.invocation_id],
        );
      });

      test('tools/call continues after an approval with svc_approval_grant', async () => {
        const client = await agent(['travel.charter'], { token: { budget: BUDGET } });

        const asked = await call(client, 'charter_jet', JET);
        const { failure } = asked.answer;
        const { grant_id } = await grant(failure.approval_request_id);
        const done = await call(client, 'charter_jet', { ...JET, svc_approval_grant: grant_id });
        const again = await call(client, 'charter_jet', { ...JET, svc_approval_grant: grant_id });

        assert.equal(asked.isError, true);
        assert.equal(failure.type, 'approval_required');
        const page = `http://localhost/console/approvals/${failure.approval_request_id}`;
        assert.equal(failure.decision_url, page);
        assert.ok(asked.text.split('\n').includes(`Page where an approver decides: ${page}`));
        assert.equal(done.answer.cost_actual.amount, 18_500);
        assert.equal(again.answer.failure.type, 'approval_grant_invalid');
        assert.match(
          again.text,
          /What to do: where you sent `svc_approval_grant`, call the tool again .* without it/,
        );
        const anew = await call(client, 'charter_jet', JET);
        assert.equal(anew.answer.failure.type, 'approval_required');
      });

      test('tools/call sends progress to a client that asks for it', async () => {
        const client = await agent(['travel.read']);
        const told: { progress: number; message?: string | undefined }[] = [];

        const { answer } = await call(
          client,
          'export_report',
          { months: 3 },
          { onprogress: (progress) => void told.push(progress) },
        );

        assert.equal(answer.result.months, 3);
        assert.equal(answer.stream_summary.events_emitted, 5);
        assert.deepEqual(
          told.map(({ progress, message }) => [progress, message]),
          [1, 2, 3].map((month) => [month, `Month ${month} of 3.`]),
        );
      });

      test('tools/call answers in one piece when the client does not ask for progress', async () => {
        const client = await agent(['travel.read']);

        const { answer } = await call(client, 'export_report', { months: 1 });

        assert.equal(answer.success, true);
        assert.equal(answer.stream_summary, undefined);
      });

      for (const name of ['svc_price', 'svc_', 'svc_approval_grant_id']) {
        test(`tools/call refuses the reserved name ${name}, and nothing runs`, async () => {
          const client = await agent(['travel.extras'], { token: { budget: BUDGET } });

          const { isError, answer } = await call(client, 'buy_lounge_pass', { [name]: 'x' });

          assert.equal(isError, true);
          assert.equal(answer.failure.type, 'invalid_parameters');
          assert.match(answer.failure.detail, new RegExp(`it has no input "${name}"`));
        });
      }

      test('tools/call refuses a reserved parameter of the wrong form', async () => {
        const client = await agent(['travel.extras'], { token: { budget: BUDGET } });

        const { answer } = await call(client, 'buy_lounge_pass', { svc_idempotency_key: 7 });

        assert.equal(answer.failure.type, 'invalid_parameters');
      });

      test('tools/call with the same svc_idempotency_key runs once', async () => {
        const client = await agent(['travel.extras'], { token: { budget: BUDGET } });
        const args = { svc_idempotency_key: 'lounge-1' };

        const first = await call(client, 'buy_lounge_pass', args);
        const second = await call(client, 'buy_lounge_pass', args);

        assert.deepEqual(second.answer, first.answer);
      });

      test('tools/call of an unknown tool is a structured failure', async () => {
        const client = await agent(['travel.search']);

        const { answer } = await call(client, 'no_such_tool');

        assert.equal(answer.failure.type, 'unknown_capability');
      });

      test('connect is refused with a foreign token', async () => {
        const attempt = connectAgent({ version, url: desk.url, token: 'nobody' });

        await assert.rejects(attempt, /401|invalid_token|Unauthorized/i);
      });

      test('tools/call asks the user to get approval, and continues, when the client supports it', async () => {
        const asked: string[] = [];
        const person: Person = async (message) => {
          asked.push(message);
          await grant(/apr_[0-9a-f]{32}/.exec(message)?.[0] ?? '');
          return 'accept';
        };
        const day = { ...JET, date: '2026-12-24' };
        const client = await agent(['travel.charter'], { token: { budget: BUDGET }, person });

        const { answer } = await call(client, 'charter_jet', day);

        // Without a session the older protocol has no way back to the user.
        const canAsk = version.version === '2026-07-28';
        assert.equal(asked.length, canAsk ? 1 : 0);
        for (const message of asked) {
          assert.match(
            message,
            / decides at http:\/\/localhost\/console\/approvals\/apr_[0-9a-f]{32}$/,
          );
        }
        assert.equal(answer.success, canAsk);
        assert.equal(answer.failure?.type, canAsk ? undefined : 'approval_required');
      });

      test('tools/call returns the plain failure when the user declines to wait', async () => {
        const client = await agent(['travel.charter'], {
          token: { budget: BUDGET },
          person: async () => 'decline',
        });

        const { answer } = await call(client, 'charter_jet', { ...JET, date: '2026-12-25' });

        assert.equal(answer.failure.type, 'approval_required');
      });

      async function grant(approval_request_id: string) {
        const { status, body } = await desk.service.ask('POST', '/svc/approval_grants', {
          bearer: BOB,
          body: { approval_request_id, grant_type: 'one_time' },
        });
        assert.equal(status, 200);
        return body;
      }
    });
  }
}

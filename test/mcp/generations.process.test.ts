/**
 * Both generations of the official client through the same scenarios, over HTTP and as a command.
 *
 * Every client lists the tools first, as hosts do: from then on it holds each result against the
 * output schema that it was shown.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { openDesk, TRIP } from '../client/desk.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE, BOB } from '../support/world.ts';
import { GENERATIONS, type GenerationClient, type ListedTool } from './generations.ts';

const SLOW = 60_000;

const desk = await openDesk();

interface Talk {
  readonly client: GenerationClient;
  readonly tools: readonly ListedTool[];
  /** Differs from client to client, so that none continues what another one began. */
  readonly route: string;
}

const SCENARIOS: Readonly<Record<string, (talk: Talk) => Promise<void>>> = {
  'lists what the token may do, and what each output has, field by field': async ({ tools }) => {
    assert.deepEqual(tools.map(({ name }) => name).sort(), [
      'buy_lounge_pass',
      'charter_jet',
      'export_report',
      'find_traveler',
      'get_booking',
      'search_flights',
    ]);
    const { result } = toolNamed(tools, 'charter_jet').outputSchema.properties;
    // A manifest is canonical JSON, whose keys are sorted.
    assert.deepEqual(Object.keys(result.properties), ['charter_id', 'date', 'route']);
    assert.deepEqual(result.required, ['charter_id', 'route', 'date']);
    assert.equal(result.title, 'charter');
  },

  'calls a tool, and gets its result structured and in words': async ({ client }) => {
    const { isError, answer, text } = await client.call({
      name: 'search_flights',
      arguments: TRIP,
    });

    assert.equal(isError, false);
    assert.equal(answer.success, true);
    assert.deepEqual(JSON.parse(text), answer.result);
  },

  'gets the refusal of a listed tool, with advice to read': async ({ client }) => {
    const { isError, answer, text } = await client.call({
      name: 'search_flights',
      arguments: { ...TRIP, origin: 7 },
    });

    assert.equal(isError, true);
    assert.equal(answer.failure.type, 'invalid_parameters');
    assert.match(text, /^invalid_parameters: Cannot .*\nWhat to do: correct the arguments/);
  },

  'gets the refusal of a tool that is not listed': async ({ client }) => {
    const { isError, answer } = await client.call({ name: 'issue_refund', arguments: {} });

    assert.equal(isError, true);
    assert.equal(answer.failure.type, 'scope_insufficient');
  },

  'calls again after the approval, and continues once': async ({ client, route }) => {
    const jet = { name: 'charter_jet', arguments: { route, date: '2026-12-01' } };
    const asked = await client.call(jet);
    const pending = await client.call(jet);
    const id = asked.answer.failure.approval_request_id;
    await decide('/svc/approval_grants', { approval_request_id: id, grant_type: 'one_time' });
    const done = await client.call(jet);
    const next = await client.call(jet);

    assert.equal(asked.answer.failure.type, 'approval_required');
    assert.match(
      asked.text,
      /What to do: tell the user that a person .* with the same arguments\./,
    );
    assert.equal(pending.answer.failure.approval_request_id, id);
    assert.equal(done.isError, false, done.text);
    assert.equal(done.answer.cost_actual.amount, 18_500);
    assert.notEqual(next.answer.failure.approval_request_id, id);
  },

  'hears that the approval was denied, and makes no second request': async ({ client, route }) => {
    const jet = { name: 'charter_jet', arguments: { route, date: '2026-12-02' } };
    const id = (await client.call(jet)).answer.failure.approval_request_id;
    await decide(`/svc/approval_requests/${id}/deny`, { reason: 'take the train' });
    const told = await client.call(jet);

    assert.equal(told.answer.failure.type, 'approval_request_decided');
    assert.match(told.text, /What to do: stop and tell the user: the approval was denied/);
    assert.match(told.text, /take the train/);
  },

  'hears of progress in sentences': async ({ client }) => {
    const told: string[] = [];
    const { answer } = await client.call(
      { name: 'export_report', arguments: { months: 3 } },
      (message) => void told.push(message),
    );

    assert.equal(answer.result.months, 3);
    // Sdk 1.x forgets its listener when the answer comes in the same read as the last message.
    const sentences = ['Month 1 of 3.', 'Month 2 of 3.', 'Month 3 of 3.'];
    assert.ok(told.length >= 2, told.join(' '));
    assert.deepEqual(told, sentences.slice(0, told.length));
  },

  'says in _meta where a call belongs, and finds it in the trail': async ({ client, route }) => {
    const ids = {
      task_id: `task of ${route}`,
      client_reference_id: 'order-7',
      parent_invocation_id: 'inv-0123456789ab',
      upstream_service: 'hotel-desk',
    };
    const _meta = Object.fromEntries(Object.entries(ids).map(([name, id]) => [`svc/${name}`, id]));
    const { answer } = await client.call({ name: 'search_flights', arguments: TRIP, _meta });

    assert.deepEqual({ ...answer, ...ids }, answer);
    const query = `task_id=${encodeURIComponent(ids.task_id)}`;
    const { body } = await desk.service.ask('POST', `/svc/audit?${query}`, { bearer: ALICE });
    assert.equal(body.entries.length, 1);
    assert.deepEqual({ ...body.entries[0], ...ids }, body.entries[0]);
  },

  'is refused what _meta must not say, and nothing runs': async ({ client }) => {
    const wrong: [meta: object, why: RegExp][] = [
      [{ 'svc/task_id': 7 }, /task_id/],
      [{ 'svc/client_reference_id': { a: 1 } }, /client_reference_id/],
      [{ 'svc/parent_invocation_id': 'inv' }, /parent_invocation_id/],
      [{ 'svc/upstream_service': 'x'.repeat(5_000) }, /upstream_service/],
      [{ 'svc/price': 1 }, /it has no input "svc\/price"/],
    ];
    for (const [_meta, why] of wrong) {
      const { isError, answer } = await client.call({
        name: 'search_flights',
        arguments: TRIP,
        _meta: { ..._meta },
      });
      assert.equal(isError, true);
      assert.equal(answer.failure.type, 'invalid_parameters');
      assert.match(answer.failure.detail, why);
    }
  },
};

const SCOPE = ['travel.search', 'travel.extras', 'travel.charter', 'travel.read'];

for (const { name, overHttp, overPipes } of GENERATIONS) {
  for (const [transport, connect] of Object.entries({ HTTP: overHttp, stdio: overPipes })) {
    describe(`${name} over ${transport}`, async () => {
      const { token } = await desk.service.issue(ALICE, {
        scope: SCOPE,
        subject: 'agent:planner',
        budget: { currency: 'USD', max_amount: 60_000 },
      });
      const client = await connect({ url: desk.url, token });
      const talk = { client, tools: await client.list(), route: `${name}, ${transport}` };
      atEnd(() => talk?.client.close());

      for (const [sentence, tell] of Object.entries(SCENARIOS)) {
        test(sentence, { timeout: SLOW }, () => tell(talk));
      }
    });
  }
}

function toolNamed(tools: readonly ListedTool[], wanted: string): ListedTool {
  const tool = tools.find(({ name }) => name === wanted);
  assert.ok(tool, wanted);
  return tool;
}

async function decide(path: string, body: object): Promise<void> {
  const { status } = await desk.service.ask('POST', path, { bearer: BOB, body });
  assert.equal(status, 200);
}

/**
 * The pair of tools that searches and calls, with the official clients of both generations.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createService, defineCapability } from '../../src/index.ts';
import { openDesk, TRIP } from '../client/desk.ts';
import { closedAtEnd } from '../support/ends.ts';
import { ALICE, BOB } from '../support/world.ts';
import { connectAgent, type Person, VERSIONS } from './agent.ts';
import { GENERATIONS, type Generation } from './generations.ts';

const BUDGET = { currency: 'USD', max_amount: 60_000 };
const SCOPE = ['travel.search', 'travel.extras', 'travel.charter', 'travel.read'];
const ACCEPT = { accept: 'application/json, text/event-stream' };

const FIRST = GENERATIONS[0] as Generation;

const desk = await openDesk({ settings: { mcp_tools: 'search' } });

function issued(more: object = {}) {
  const asked = { scope: SCOPE, subject: 'agent:planner', caller_class: 'automated_agent' };
  return desk.service.issue(ALICE, { ...asked, budget: BUDGET, ...more });
}

/** Every client lists the tools first: from then on it validates each result by the output schema. */
for (const { name: generation, overHttp } of GENERATIONS) {
  describe(generation, async () => {
    const { token } = await issued();
    const client = closedAtEnd(await overHttp({ url: desk.url, token }));
    const tools = await client.list();
    const search = (args: Record<string, unknown>) =>
      client.call({ name: 'search_capabilities', arguments: args });
    const called = (name: string, args: object, more: object = {}) =>
      client.call({ name: 'call_capability', arguments: { name, arguments: args, ...more } });

    test('tools/list has exactly the pair', () => {
      const hints = tools.map(({ name, annotations }) => [name, annotations?.destructiveHint]);

      assert.deepEqual(hints, [
        ['search_capabilities', false],
        ['call_capability', true],
      ]);
    });

    test('search_capabilities finds what the token may call, with all that a call needs', async () => {
      const { isError, answer, text } = await search({ query: 'charter a jet' });

      assert.equal(isError, false);
      const [jet] = answer.capabilities;
      assert.equal(jet.name, 'charter_jet');
      assert.match(jet.description, /^May need the approval of a person/m);
      assert.deepEqual(jet.input_schema.required, ['route', 'date']);
      assert.equal(jet.side_effect, 'irreversible');
      assert.equal(jet.cost.financial.currency, 'USD');
      assert.deepEqual(JSON.parse(text.split('\n')[0] ?? ''), answer.capabilities);
    });

    test('search_capabilities lists the first by name without words, and how many there are', async () => {
      const { answer, text } = await search({ query: '', limit: 2 });

      const names = answer.capabilities.map(({ name }: { name: string }) => name);
      assert.deepEqual(names, ['buy_lounge_pass', 'charter_jet']);
      assert.ok(answer.more > 0);
      assert.ok(text.endsWith(`\nAnd ${answer.more} more: search with other words to see them.`));
    });

    test('search_capabilities shows nothing that the token may not call', async () => {
      const { answer, text } = await search({ query: 'issue_refund', limit: 20 });

      const names = answer.capabilities.map(({ name }: { name: string }) => name);
      assert.ok(!names.includes('issue_refund'), names.join());
      const none = await search({ query: 'zeppelin' });
      assert.deepEqual([none.answer.capabilities, none.answer.more], [[], 0]);
      assert.match(none.text, /Nothing that you may call matches/);
      assert.doesNotMatch(text, /issue_refund/);
    });

    test('search_capabilities refuses arguments that it does not take', async () => {
      const wrong: [args: Record<string, unknown>, why: RegExp][] = [
        [{}, /"query" is not a text/],
        [{ query: 7 }, /"query" is not a text/],
        [{ query: 'x'.repeat(501) }, /"query" is not a text of at most 500 characters/],
        [{ query: 'x', limit: 0 }, /"limit" is not a whole number from 1 to 20/],
        [{ query: 'x', limit: '3' }, /"limit" is not/],
        [{ query: 'x', limit: 21 }, /"limit" is not/],
        [{ query: 'x', page: 2 }, /it has no argument "page"/],
      ];
      for (const [args, why] of wrong) {
        const { isError, answer } = await search(args);
        assert.equal(isError, true);
        assert.equal(answer.failure.type, 'invalid_parameters');
        assert.match(answer.failure.detail, why);
      }
    });

    test('call_capability does what the tool does, and its entry names the capability', async () => {
      const own = await client.call({ name: 'search_flights', arguments: TRIP });
      const { isError, answer, text } = await called('search_flights', TRIP);

      assert.equal(isError, false);
      assert.deepEqual(Object.keys(answer.result), Object.keys(own.answer.result));
      assert.deepEqual(JSON.parse(text), answer.result);
      const [entry] = await desk.service.entriesBy({ invocationId: answer.invocation_id });
      assert.equal(entry?.capability, 'search_flights');
      assert.equal(entry?.success, true);
    });

    test('call_capability carries the key, and runs once', async () => {
      const more = { svc_idempotency_key: `pass of ${generation}`.replaceAll(' ', '-') };
      const first = await called('buy_lounge_pass', {}, more);
      const second = await called('buy_lounge_pass', {}, more);

      assert.equal(first.answer.success, true, first.text);
      assert.deepEqual(second.answer, first.answer);
    });

    test('call_capability carries _meta, and is refused what _meta must not say', async () => {
      const _meta = { 'svc/task_id': `task of ${generation}` };
      const call = { name: 'search_flights', arguments: TRIP };
      const done = await client.call({ name: 'call_capability', arguments: call, _meta });
      const wrong = await client.call({
        name: 'call_capability',
        arguments: call,
        _meta: { 'svc/price': 1 },
      });

      assert.equal(done.answer.task_id, `task of ${generation}`);
      assert.equal(wrong.answer.failure.type, 'invalid_parameters');
      assert.match(wrong.text, /What to do: correct "svc\/price" in "_meta"/);
    });

    test('call_capability sends progress', async () => {
      const told: string[] = [];
      const { answer } = await client.call(
        {
          name: 'call_capability',
          arguments: { name: 'export_report', arguments: { months: 2 } },
        },
        (message) => void told.push(message),
      );

      assert.equal(answer.result.months, 2);
      assert.deepEqual(told, ['Month 1 of 2.', 'Month 2 of 2.']);
    });

    test('call_capability continues after the approval', async () => {
      const jet = { route: generation, date: '2026-12-01' };
      const asked = await called('charter_jet', jet);
      const { approval_request_id } = asked.answer.failure;
      const body = { approval_request_id, grant_type: 'one_time' };
      const { status } = await desk.service.ask('POST', '/svc/approval_grants', {
        bearer: BOB,
        body,
      });
      const done = await called('charter_jet', jet);

      assert.equal(asked.answer.failure.type, 'approval_required');
      assert.equal(status, 200);
      assert.equal(done.answer.cost_actual.amount, 18_500);
    });

    /** Each failure is that of the tool by its own name, and leaves an entry. */
    const REFUSED: [what: string, args: Record<string, unknown>, type: string, why: RegExp][] = [
      ['an unknown name', { name: 'fly_to_moon' }, 'unknown_capability', /"fly_to_moon"/],
      ['a name that objects have', { name: 'constructor' }, 'unknown_capability', /"constructor"/],
      ['itself', { name: 'call_capability' }, 'unknown_capability', /"call_capability"/],
      ['no name', {}, 'invalid_parameters', /capability: /],
      ['a name that is an object', { name: { toString: 1 } }, 'invalid_parameters', /capability: /],
      [
        'what the token may not call',
        { name: 'issue_refund' },
        'scope_insufficient',
        /lacks scope/,
      ],
      [
        'arguments that are a text',
        { name: 'search_flights', arguments: JSON.stringify(TRIP) },
        'invalid_parameters',
        /parameters: /,
      ],
      [
        'parameters beside the arguments',
        { name: 'search_flights', ...TRIP },
        'invalid_parameters',
        /it has no input "origin beside "arguments"", "destination beside "arguments""/,
      ],
    ];
    for (const [what, args, type, why] of REFUSED) {
      test(`call_capability refuses ${what}`, async () => {
        const { isError, answer } = await client.call({ name: 'call_capability', arguments: args });

        assert.equal(isError, true);
        assert.equal(answer.failure.type, type);
        assert.match(answer.failure.detail, why);
        const entries = await desk.service.entriesBy({ invocationId: answer.invocation_id });
        assert.equal(entries.length, 1);
      });
    }
  });
}

for (const version of VERSIONS) {
  test(`call_capability asks the user to get approval in ${version.version}, where the client can`, async () => {
    const person: Person = async (message) => {
      const [approval_request_id] = /apr_[0-9a-f]{32}/.exec(message) ?? [];
      const body = { approval_request_id, grant_type: 'one_time' };
      await desk.service.ask('POST', '/svc/approval_grants', { bearer: BOB, body });
      return 'accept';
    };
    const { token } = await issued();
    const client = closedAtEnd(await connectAgent({ version, url: desk.url, token, person }));
    const jet = { route: `asked in ${version.version}`, date: '2026-12-24' };

    const { structuredContent } = await client.callTool({
      name: 'call_capability',
      arguments: { name: 'charter_jet', arguments: jet },
    });

    const { success } = structuredContent as { success: boolean };
    // Without a session the older protocol has no way back to the user.
    assert.equal(success, version.version === '2026-07-28');
  });
}

test('search_capabilities with a token that has ended is 401, so that a client renews it', async () => {
  const { token, token_id } = await issued();
  await desk.service.ask('POST', '/svc/tokens/revoke', { bearer: ALICE, body: { token_id } });
  const params = { name: 'search_capabilities', arguments: { query: '' } };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };

  const { status, headers } = await desk.service.ask('POST', '/mcp', {
    bearer: token,
    body,
    headers: ACCEPT,
  });

  assert.equal(status, 401);
  assert.match(String(headers['www-authenticate']), /^Bearer error="invalid_token"/);
});

/** A catalog as large as that of a big API, with schemas as long as some have. */
function bigService(count: number, words: number) {
  const capabilities = Array.from({ length: count }, (_, each) =>
    defineCapability({
      name: `operation_${String(each).padStart(3, '0')}`,
      description: `Does number ${each}. ${'many words '.repeat(words)}`,
      side_effect: 'read',
      minimum_scope: ['travel.search'],
      inputs: [{ name: `field_${each}`, type: 'string', required: false }],
      handler: () => ({ each }),
    }),
  );
  const named = ['search_capabilities', 'call_capability'].map((name) =>
    defineCapability({
      name,
      description: 'Has the name of a tool',
      side_effect: 'read',
      minimum_scope: ['travel.search'],
      handler: () => ({ own: name }),
    }),
  );
  return createService({ id: 'big', capabilities: [...capabilities, ...named] });
}

describe('a service with 500 capabilities', async () => {
  const big = await openDesk({
    definition: bigService(500, 2_000),
    settings: { mcp_tools: 'search' },
  });
  const asked = { scope: ['travel.search'], subject: 'agent:planner' };
  const { token } = await big.service.issue(ALICE, asked);
  const client = closedAtEnd(await FIRST.overHttp({ url: big.url, token }));
  await client.list();

  test('search_capabilities finds one among them by its input', async () => {
    const { answer } = await client.call({
      name: 'search_capabilities',
      arguments: { query: 'field 417', limit: 1 },
    });

    assert.equal(answer.capabilities[0].name, 'operation_417');
    assert.equal(answer.more, 499);
  });

  test('search_capabilities bounds the length of its answer', async () => {
    const { answer, text } = await client.call({
      name: 'search_capabilities',
      arguments: { query: '', limit: 20 },
    });

    assert.ok(answer.capabilities.length >= 1 && answer.capabilities.length < 20);
    assert.ok(text.length < 101_000);
    assert.equal(answer.more, 502 - answer.capabilities.length);
  });

  test('the names of the pair belong to the pair, and call_capability reaches a capability of that name', async () => {
    for (const name of ['search_capabilities', 'call_capability']) {
      const { answer } = await client.call({
        name: 'call_capability',
        arguments: { name, arguments: {} },
      });
      assert.equal(answer.result.own, name);
    }
  });
});

test('the pair is unknown where all tools are listed', async () => {
  const plain = await openDesk();
  const { token } = await plain.service.issue(ALICE, { scope: SCOPE, subject: 'agent:planner' });
  const client = closedAtEnd(await FIRST.overHttp({ url: plain.url, token }));
  const { answer } = await client.call({ name: 'call_capability', arguments: { name: 'x' } });

  assert.equal(answer.failure.type, 'unknown_capability');
});

/**
 * Streams: what a client is told while a call runs, over the HTTP surface and over real sockets.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { createService, defineCapability, serve } from '../../src/index.ts';
import { createLog } from '../../src/log.ts';
import { StreamEvent } from '../../src/protocol/invocation.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { group } from '../support/missing.ts';
import { ALICE, STORES, testService } from '../support/world.ts';

/** Three steps, and an end that the caller chooses. */
let finished = 0;
const steps = defineCapability({
  name: 'steps',
  description: 'Tells of three steps',
  side_effect: 'write',
  inputs: [
    { name: 'end', type: 'string', required: false, default: 'well' },
    { name: 'text', type: 'string', required: false, default: 'x' },
    { name: 'pause', type: 'integer', required: false, default: 0 },
  ],
  deadline: '2s',
  response_modes: ['unary', 'streaming'],
  minimum_scope: ['travel.read'],
  async handler({ end, text, pause }, context) {
    for (const step of [1, 2, 3]) {
      await context.progress({ step, text });
      if (pause > 0) await sleep(pause);
    }
    if (end === 'badly') throw new Error('canary-inside');
    if (end === 'never') await sleep(60_000, undefined, { signal: context.signal });
    finished += 1;
    return { end };
  },
});
const onlyStream = defineCapability({
  name: 'only_stream',
  description: 'Has no other answer',
  side_effect: 'read',
  response_modes: ['streaming'],
  minimum_scope: ['travel.read'],
  handler: () => ({ ok: true }),
});
const plain = defineCapability({
  name: 'plain',
  description: 'Does not stream',
  side_effect: 'read',
  minimum_scope: ['travel.read'],
  handler: () => ({ ok: true }),
});
const definition = createService({ id: 'streams', capabilities: [steps, onlyStream, plain] });

interface Told {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was told.
  readonly data: any;
}

/** Reads events as the format says: blocks between empty lines, one field a line. */
function toldIn(text: string): Told[] {
  return text
    .split('\n\n')
    .filter((block) => block.startsWith('event: '))
    .map((block) => {
      const [first = '', second = '', ...rest] = block.split('\n');
      assert.deepEqual(rest, []);
      return {
        event: first.slice('event: '.length),
        data: JSON.parse(second.slice('data: '.length)),
      };
    });
}

for (const place of STORES) {
  group(place.name, async () => {
    const opened = await place.open();
    const service = await testService({ store: opened.url, definition });
    const { token } = await service.issue(ALICE, { scope: ['travel.read'] });

    test('invoke() sends start, progress and end events, with the ids on each', async () => {
      const fields = { stream: true, client_reference_id: 'ref-1', task_id: 'task-1' };
      const reply = await service.invoke(token, 'steps', {}, { fields });

      const told = toldIn(reply.body);
      assert.equal(reply.headers['content-type'], 'text/event-stream; charset=utf-8');
      assert.deepEqual(
        told.map(({ event }) => event),
        ['started', 'progress', 'progress', 'progress', 'completed'],
      );
      for (const event of told) {
        StreamEvent.parse(event);
        assert.equal(event.data.client_reference_id, 'ref-1');
        assert.equal(event.data.task_id, 'task-1');
        assert.equal(event.data.invocation_id, told[0]?.data.invocation_id);
      }
      assert.deepEqual(told[2]?.data.progress, { step: 2, text: 'x' });
      assert.deepEqual(told.at(-1)?.data.result, { end: 'well' });
    });

    test('invoke() records the summary of a stream in its entry', async () => {
      const reply = await service.invoke(token, 'steps', {}, { fields: { stream: true } });

      const { invocation_id, stream_summary } = toldIn(reply.body).at(-1)?.data ?? {};
      await service.store.sequence();
      const {
        entries: [entry],
      } = await service.store.queryEntries({ invocationId: invocation_id, limit: 2 });
      const leaf = JSON.parse(new TextDecoder().decode(entry?.leaf));
      assert.deepEqual(leaf.stream_summary, stream_summary);
      const { duration_ms: _, ...counted } = stream_summary;
      assert.deepEqual(counted, {
        response_mode: 'streaming',
        events_emitted: 5,
        events_delivered: 5,
        client_disconnected: false,
      });
    });

    test('invoke() ends a stream whose handler fails with one failed event that discloses nothing', async () => {
      const fields = { stream: true };
      const reply = await service.invoke(token, 'steps', { end: 'badly' }, { fields });

      const told = toldIn(reply.body);
      assert.equal(told.filter(({ event }) => event === 'failed').length, 1);
      assert.equal(told.at(-1)?.data.failure.type, 'internal_error');
      assert.doesNotMatch(reply.body, /canary-inside/);
    });

    test('invoke() ends a stream past its deadline with an unknown outcome', async () => {
      const fields = { stream: true };
      const reply = await service.invoke(token, 'steps', { end: 'never' }, { fields });

      assert.equal(toldIn(reply.body).at(-1)?.data.failure.type, 'outcome_unknown');
    });

    test('invoke() keeps line breaks and event syntax in a value as data', async () => {
      const text = 'one\n\nevent: completed\ndata: {"forged":true}\r\n: \u2028';
      const reply = await service.invoke(token, 'steps', { text }, { fields: { stream: true } });

      const told = toldIn(reply.body);
      assert.equal(told.filter(({ event }) => event === 'completed').length, 1);
      assert.equal(told[1]?.data.progress.text, text);
    });

    test('invoke() replays a streamed call as its last event, and runs nothing', async () => {
      const more = { fields: { stream: true }, headers: { 'idempotency-key': `k-${place.name}` } };
      const first = await service.invoke(token, 'steps', {}, more);
      const before = finished;

      const again = await service.invoke(token, 'steps', {}, more);
      const unary = await service.invoke(token, 'steps', {}, { headers: more.headers });

      const [only, ...others] = toldIn(again.body);
      const { timestamp: _, ...last } = toldIn(first.body).at(-1)?.data ?? {};
      const { timestamp: __, ...replayed } = only?.data ?? {};
      assert.deepEqual(others, []);
      assert.deepEqual(replayed, last);
      assert.equal(again.headers['idempotent-replayed'], 'true');
      assert.deepEqual(unary.body, last);
      assert.equal(finished, before);
    });

    test('invoke() refuses before the handler with a status, not with a stream', async () => {
      const { token: other } = await service.issue(ALICE, { scope: ['travel.search'] });

      const refused = await service.invoke(other, 'steps', {}, { fields: { stream: true } });
      const mode = await service.invoke(token, 'plain', {}, { fields: { stream: true } });
      const required = await service.invoke(token, 'only_stream');

      assert.deepEqual([refused.status, refused.body.failure.type], [403, 'scope_insufficient']);
      assert.deepEqual([mode.status, mode.body.failure.type], [400, 'streaming_not_supported']);
      assert.deepEqual([required.status, required.body.failure.type], [400, 'streaming_required']);
    });
  });
}

interface Summary {
  readonly client_disconnected: boolean;
  readonly events_delivered: number;
}

describe('over real sockets', async () => {
  let token: string;
  let tokenId: string;
  const folder = temporaryFolder();
  const running = await serve(definition, {
    folder,
    environment: { PORT: '0', WRIT_STORE: 'memory:' },
    signals: false,
    log: createLog('silent'),
    settings: {
      identities: [
        { principal: 'human:a@b.c', key: 'k', scopes: ['travel.*'], caller_class: 'internal' },
      ],
    },
  });
  await renewToken();
  atEnd(() => running.close());

  async function renewToken() {
    const response = await fetch(`${running.url}/svc/tokens`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
      body: JSON.stringify({ scope: ['travel.read'] }),
    });
    const issued = (await response.json()) as { token: string; token_id: string };
    ({ token, token_id: tokenId } = issued);
  }

  function ask(parameters: object, reference?: string) {
    const call = request(`${running.url}/svc/invoke/steps`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    call.end(JSON.stringify({ parameters, stream: true, client_reference_id: reference }));
    return call;
  }

  /** As soon as the call has its entry. */
  async function summaryOf(reference: string) {
    for (;;) {
      const query = `client_reference_id=${reference}`;
      const response = await fetch(`${running.url}/svc/audit?${query}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
      });
      const { entries } = (await response.json()) as { entries: { stream_summary: Summary }[] };
      if (entries[0]) return entries[0].stream_summary;
      await sleep(10);
    }
  }

  test('invoke() finishes the handler of a client that left, and records that in the entry', async () => {
    const before = finished;
    const call = ask({ pause: 300 }, 'left');
    const [response] = await once(call, 'response');
    await once(response, 'data');
    call.destroy();

    const summary = await summaryOf('left');

    assert.equal(finished, before + 1);
    assert.equal(summary.client_disconnected, true);
  });

  test('invoke() finishes the handler of a client that never reads, and keeps its summary', async () => {
    const before = finished;
    const call = ask({ text: 'x'.repeat(60_000) }, 'deaf');
    const [response] = await once(call, 'response');
    response.pause();

    const summary = await summaryOf('deaf');
    call.destroy();

    assert.equal(finished, before + 1);
    assert.ok(summary.events_delivered >= 1);
  });

  test('invoke() ends a stream at its deadline with an unknown outcome', async () => {
    const call = ask({ end: 'never' });
    const [response] = await once(call, 'response');
    let text = '';
    for await (const chunk of response) text += chunk;

    const last = toldIn(text).at(-1);
    assert.equal(last?.event, 'failed');
    assert.equal(last?.data.failure.type, 'outcome_unknown');
  });

  test('invoke() finishes a stream whose token is revoked meanwhile, and admits no new call', async () => {
    const call = ask({ pause: 100 });
    const [response] = await once(call, 'response');
    await fetch(`${running.url}/svc/tokens/revoke`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
      body: JSON.stringify({ token_id: tokenId }),
    });
    let text = '';
    for await (const chunk of response) text += chunk;
    const next = ask({});
    const [refused] = await once(next, 'response');
    refused.resume();
    await renewToken();

    assert.equal(toldIn(text).at(-1)?.event, 'completed');
    assert.equal(refused.statusCode, 401);
  });

  test('invoke() serves many streams whose clients leave at random', async () => {
    const before = finished;
    const calls = Array.from({ length: 100 }, async (_, index) => {
      const call = ask({ pause: 5 });
      call.on('error', () => undefined);
      const [response] = await once(call, 'response');
      if (index % 2 === 0) return call.destroy();
      response.resume();
      return once(response, 'end');
    });
    await Promise.all(calls);

    while (finished < before + 100) await sleep(10);
    assert.equal(finished, before + 100);
  });

  test('close() lets a running stream finish', async () => {
    const call = ask({ pause: 100 });
    const [response] = await once(call, 'response');
    const closing = running.close();
    let text = '';
    for await (const chunk of response) text += chunk;
    await closing;

    assert.deepEqual(
      toldIn(text).map(({ event }) => event),
      ['started', 'progress', 'progress', 'progress', 'completed'],
    );
  });
});

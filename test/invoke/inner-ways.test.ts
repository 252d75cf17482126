/**
 * Inner calls on every transport, in traces, metrics and disclosure, and what is left of them when their process dies.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import { test } from 'vitest';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { createTelemetry } from '../../src/telemetry.ts';
import { mortal } from '../compose/mortal.ts';
import { atEnd, closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { group } from '../support/missing.ts';
import { person } from '../support/person.ts';
import type { Script } from '../support/scripts.ts';
import { eventually, STORES } from '../support/world.ts';
import { SURFACES } from '../surfaces/open.ts';
import { createInnerWorld, openInnerDesk } from './inner-desk.ts';
import { ALICE, SETTINGS } from './principals.ts';

const sending: Script = async (_, { invoke }) => ({ answer: await invoke('sms', { to: 'ann' }) });

for (const { name, open } of SURFACES) {
  test(`a handler calls another capability ${name}`, async () => {
    const desk = await openInnerDesk();
    const { surface, end } = await open(desk);
    atEnd(() => end?.());
    const { token } = await desk.token();
    desk.world.script('tell', sending);

    const { body } = await surface.ask('invoke', { capability: 'tell', parameters: {} }, token);

    const { answer } = body.result as { answer: JsonObject };
    assert.deepEqual(answer.result, { sent: true, to: 'ann' });
    assert.equal(answer.parent_invocation_id, body.invocation_id);
    const query = { parent_invocation_id: String(body.invocation_id) };
    const { body: trail } = await (surface.whole ?? surface).ask('audit.query', query, token);
    assert.deepEqual(
      (trail.entries as JsonObject[]).map(({ capability, state }) => [capability, state]),
      [['sms', 'completed']],
    );
  });
}

test('an inner call is a span below the handler that makes it, in the trace of its parent', async () => {
  const exporter = new InMemorySpanExporter();
  const telemetry = closedAtEnd(createTelemetry(exporter, 'inner'));
  const desk = await openInnerDesk({ tracer: telemetry.tracer });

  const body = await desk.run('tell', sending);
  await telemetry.flush();

  const spans = exporter.getFinishedSpans();
  const [inner, outer] = ['sms', 'tell'].map((capability) =>
    spans.find(({ attributes }) => attributes['writ.capability'] === capability),
  );
  const handler = spans.find(
    (span) =>
      span.name === 'handler' && span.parentSpanContext?.spanId === outer?.spanContext().spanId,
  );
  assert.equal(inner?.name, 'invoke');
  assert.equal(inner?.attributes['writ.invocation_id'], body.result.answer.invocation_id);
  assert.equal(inner?.parentSpanContext?.spanId, handler?.spanContext().spanId);
  assert.equal(inner?.spanContext().traceId, outer?.spanContext().traceId);
});

test('an inner call is counted as a call of its capability', async () => {
  const desk = await openInnerDesk();
  const ended: unknown[] = [];
  const ignore = () => undefined;
  const invoked = (each: object) => void ended.push({ ...each, seconds: 0 });
  desk.runtime.watch({ invoked, overran: ignore, undelivered: ignore });

  await desk.run('tell', sending);

  assert.deepEqual(ended, [
    { capability: 'sms', outcome: 'success', seconds: 0 },
    { capability: 'tell', outcome: 'success', seconds: 0 },
  ]);
});

test('an inner failure shows a handler no more than its caller may see', async () => {
  const silent = person(ALICE, 'human:alice', ['w.*'], { caller_classes: ['silent'] });
  const settings = { ...SETTINGS, identities: [silent], disclosure: { silent: 'redacted' } };
  const desk = await openInnerDesk({ settings });
  const token = await desk.token({ caller_class: 'silent' });

  const body = await desk.run(
    'tell',
    async (_, { invoke }) => ({ answer: await invoke('locked', {}) }),
    { token },
  );

  const { failure } = body.result.answer;
  assert.equal(failure.type, 'scope_insufficient');
  assert.doesNotMatch(JSON.stringify(failure), /w\.secret/);
  const [inner] = await desk.inner(body.invocation_id);
  assert.equal(inner?.failure_type, 'scope_insufficient');
});

const KEYS = { keys: temporaryFolder() };
for (const place of STORES) {
  group(place.name, async () => {
    const { url } = await place.open();

    // Without a file both processes need one store, which SQLite in memory is not.
    const store = url === 'memory:' ? `sqlite:${temporaryFolder()}/log.db` : url;
    test('a process dies between an inner call and the end of its parent: the parent is indeterminate, the inner entry says what ran', async () => {
      let died = false;
      const world = createInnerWorld();
      const wrap = mortal({ after: 1, happened: false }, () => {
        died = true;
      });
      const settings = { stop_grace_seconds: 0 };
      const first = await openInnerDesk({ store, wrap, ...KEYS, settings }, world);
      const token = await first.token();
      const body = await first.run('tell', sending, { token });
      await first.close();

      const recovery = { intervalMs: 20, silentMs: 1 };
      const second = await openInnerDesk({ store, recovery, ...KEYS, settings }, world);
      await eventually(async () => (await second.entries(body.invocation_id)).length > 0);
      const [parent, ...more] = await second.entries(body.invocation_id);
      const inner = await second.inner(body.invocation_id);

      assert.equal(died, true);
      assert.deepEqual(more, []);
      assert.equal(body.failure.type, 'outcome_unknown');
      assert.equal(parent?.state, 'indeterminate');
      assert.deepEqual(
        inner.map(({ capability, state }) => [capability, state]),
        [['sms', 'completed']],
      );
      assert.equal(world.ran('sms'), 1);
      assert.deepEqual(await second.spent(token), [0n, 6_00n]);
    });

    test('a call that another process closes while it runs makes its inner calls, and its outcome is recorded late', async () => {
      const first = await openInnerDesk({ store, ...KEYS });
      const token = await first.token();
      let id = '';
      const body = await first.run(
        'tell',
        async (_, { invoke, invocation_id }) => {
          id = invocation_id;
          const recovery = { intervalMs: 20, silentMs: 1 };
          const second = await openInnerDesk({ store, recovery, ...KEYS });
          await eventually(async () => (await second.entries(id)).length > 0);
          await second.close();
          return { answer: await invoke('sms', {}) };
        },
        { token },
      );
      await eventually(async () => (await first.entries(id)).length === 2);

      assert.equal(body.failure.type, 'outcome_unknown');
      assert.equal('budget_remaining' in body.budget_context, false);
      const states = (await first.entries(id)).map(({ entry_type, state }) => [entry_type, state]);
      assert.deepEqual(states, [
        ['invocation', 'indeterminate'],
        ['settlement', 'completed'],
      ]);
      assert.equal((await first.inner(id)).length, 1);
      assert.deepEqual(await first.spent(token), [0n, 6_00n]);
    });

    test('a process dies within an inner call: both calls are indeterminate, and both stay charged', async () => {
      const world = createInnerWorld();
      const wrap = mortal({ after: 0, happened: false }, () => undefined);
      const settings = { stop_grace_seconds: 0 };
      const first = await openInnerDesk({ store, wrap, ...KEYS, settings }, world);
      const token = await first.token({ concurrent_branches: 'exclusive' });
      const body = await first.run('tell', sending, { token });
      await first.close();

      const recovery = { intervalMs: 20, silentMs: 1 };
      const second = await openInnerDesk({ store, recovery, ...KEYS, settings }, world);
      await eventually(async () => (await second.entries(body.invocation_id)).length > 0);
      await eventually(async () => (await second.inner(body.invocation_id)).length > 0);
      const [parent] = await second.entries(body.invocation_id);
      const [inner] = await second.inner(body.invocation_id);

      assert.equal(parent?.state, 'indeterminate');
      assert.equal(inner?.state, 'indeterminate');
      assert.deepEqual(await second.spent(token), [0n, 6_00n]);
      assert.equal((await second.invoke(token.token, 'other')).body.success, true);
    });
  });
}

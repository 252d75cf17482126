/**
 * Traces and metrics of invocations: where a call spent its time, told without its words.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { beforeEach, describe, test, vi } from 'vitest';
import { samplingVariables } from '../../src/config/config.ts';
import { createTelemetry, exportTo } from '../../src/telemetry.ts';
import { closedAtEnd } from '../support/ends.ts';
import { startRig } from './rig.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const headers = { traceparent: `00-${TRACE}-${PARENT}-01` };

describe('spans', async () => {
  const exporter = new InMemorySpanExporter();
  const telemetry = closedAtEnd(createTelemetry(exporter, 'test-world'));
  const rig = await startRig({ tracer: telemetry.tracer });
  beforeEach(() => exporter.reset());

  /** The spans of what was done, by name; closing the batch makes them visible. */
  async function spansOf(): Promise<Map<string, ReadableSpan>> {
    await telemetry.flush();
    return new Map(exporter.getFinishedSpans().map((span) => [span.name, span]));
  }

  test('invoke() makes one span under its caller, with child spans for checks, handler and store', async () => {
    const { token } = await rig.token({ budget: { currency: 'USD', max_amount: 50 } });
    const { body } = await rig.invoke(token, 'pay', {}, { headers });

    const spans = await spansOf();
    assert.deepEqual([...spans.keys()].sort(), [
      'check',
      'handler',
      'invoke',
      'store.admit',
      'store.load',
      'store.settle',
    ]);
    const call = spans.get('invoke') as ReadableSpan;
    assert.equal(call.parentSpanContext?.spanId, PARENT);
    assert.deepEqual(call.attributes, {
      'writ.invocation_id': body.invocation_id,
      'writ.outcome': 'success',
      'writ.capability': 'pay',
    });
    const parentOf = (name: string) => spans.get(name)?.parentSpanContext?.spanId;
    for (const span of spans.values()) assert.equal(span.spanContext().traceId, TRACE);
    assert.equal(parentOf('store.load'), spans.get('check')?.spanContext().spanId);
    for (const name of ['check', 'handler', 'store.admit', 'store.settle']) {
      assert.equal(parentOf(name), call.spanContext().spanId, name);
    }
  });

  test('invoke() records a refusal in a span by its type, without its detail', async () => {
    const { token } = await rig.token();
    await rig.invoke(token, 'touch', { secret_word: 'hush' }, { headers });

    const spans = await spansOf();
    assert.equal(spans.get('invoke')?.attributes['writ.outcome'], 'invalid_parameters');
    assert.equal(spans.get('check')?.attributes['error.type'], 'Refusal');
    const told = JSON.stringify(
      [...spans.values()].map(({ name, attributes }) => [name, attributes]),
    );
    assert.doesNotMatch(told, /secret_word|hush/);
  });

  test('a stream is one span that ends with it', async () => {
    const { token } = await rig.token();
    await rig.invoke(token, 'watch', {}, { fields: { stream: true }, headers });

    const spans = await spansOf();
    assert.equal(spans.get('invoke')?.attributes['writ.outcome'], 'success');
    assert.equal(
      spans.get('handler')?.parentSpanContext?.spanId,
      spans.get('invoke')?.spanContext().spanId,
    );
  });

  test('a caller that does not sample is not traced, and a caller without a trace is', async () => {
    const { token } = await rig.token();
    const unsampled = { traceparent: `00-${TRACE}-${PARENT}-00` };
    await rig.invoke(token, 'look', {}, { headers: unsampled });
    const before = (await spansOf()).size;
    await rig.invoke(token, 'look');

    assert.equal(before, 0);
    assert.ok((await spansOf()).has('invoke'));
  });

  test('a log line inside a call has the ids of its span, and one outside has none', async () => {
    const { token } = await rig.token();
    rig.world.script('look', () => Promise.reject(new Error('of the test')));
    await rig.invoke(token, 'look', {}, { headers });
    rig.world.script('look');

    const lines = rig.log.map((line) => JSON.parse(line));
    const broke = lines.find(({ msg }) => msg === 'a handler broke');
    const spans = [...(await spansOf()).values()].map((span) => span.spanContext().spanId);
    assert.equal(broke?.trace_id, TRACE);
    assert.ok(spans.includes(broke?.span_id), 'the line names one of the spans');
    assert.equal(lines[0]?.trace_id, undefined);
  });

  test('work outside of a call leaves no span', async () => {
    await rig.token();

    assert.equal((await spansOf()).size, 0);
  });
});

test('exportTo() sends spans to a collector, and stops when it is unreachable', async () => {
  const received: string[] = [];
  const collector = createServer((request, response) => {
    received.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => response.end('{}'));
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = collector.address() as AddressInfo;
  const telemetry = exportTo(`http://127.0.0.1:${port}/`, 'test-world');
  telemetry.tracer.call('invoke').end();
  await telemetry.close();
  collector.close();
  const away = exportTo(`http://127.0.0.1:${port}`, 'test-world');
  away.tracer.call('invoke').end();
  await away.close();

  assert.deepEqual(received, ['POST /v1/traces']);
});

test('close() waits one second for an exporter that never answers', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const silent = { export: () => undefined, shutdown: () => new Promise<void>(() => undefined) };
    const telemetry = createTelemetry(silent, 'test-world');
    telemetry.tracer.call('invoke').end();
    let isClosed = false;
    void telemetry.close().then(() => {
      isClosed = true;
    });
    await vi.advanceTimersByTimeAsync(999);
    const early = isClosed;
    await vi.advanceTimersByTimeAsync(1);

    assert.deepEqual([early, isClosed], [false, true]);
  } finally {
    vi.useRealTimers();
  }
});

/** The span of one call under these variables, if it is traced. */
async function spanUnder(
  variables: Record<string, string>,
  isSampled?: boolean,
  sampling: ReturnType<typeof samplingVariables> = samplingVariables({}),
) {
  const exporter = new InMemorySpanExporter();
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const telemetry = createTelemetry(exporter, 'test-world', {
    ...sampling,
    onWarning: (text) => void warnings.push(text),
  });
  vi.unstubAllEnvs();
  const parent = { traceId: TRACE, spanId: PARENT, sampled: isSampled === true };
  telemetry.tracer.call('invoke', isSampled === undefined ? undefined : parent).end();
  await telemetry.flush();
  const [span] = exporter.getFinishedSpans();
  await telemetry.close();
  return { attributes: span?.resource.attributes, isTraced: span !== undefined, warnings };
}

// The names of the specification of OpenTelemetry, and what each does without a parent, below a sampled and an unsampled one.
const samplers: [sampler: string, arg: string, traced: boolean[]][] = [
  ['', '', [true, true, false]],
  ['always_on', '', [true, true, true]],
  ['always_off', '', [false, false, false]],
  ['traceidratio', '0', [false, false, false]],
  ['traceidratio', '1', [true, true, true]],
  ['parentbased_always_on', '', [true, true, false]],
  ['parentbased_always_off', '', [false, true, false]],
  ['parentbased_traceidratio', '0', [false, true, false]],
  ['parentbased_traceidratio', '', [true, true, false]],
  ['xray', '', [true, true, false]],
  ['traceidratio', '1.5', [true, true, false]],
];
for (const [sampler, arg, traced] of samplers) {
  test(`createTelemetry() traces what OTEL_TRACES_SAMPLER=${sampler} (${arg}) says`, async () => {
    const given = samplingVariables({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: arg });
    const found = [];
    for (const parent of [undefined, true, false]) found.push(await spanUnder({}, parent, given));

    assert.deepEqual(
      found.map(({ isTraced }) => isTraced),
      traced,
    );
    const isUnknown = sampler === 'xray' || arg === '1.5';
    assert.deepEqual(found[0]?.warnings.length, isUnknown ? 1 : 0);
  });
}

test('createTelemetry() takes name and attributes of the service from the variables of OpenTelemetry', async () => {
  const plain = await spanUnder({});
  const named = await spanUnder({
    OTEL_SERVICE_NAME: 'desk-eu',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
  });

  assert.deepEqual(plain.attributes, { 'service.name': 'test-world' });
  assert.deepEqual(named.attributes, {
    'service.name': 'desk-eu',
    'deployment.environment.name': 'test',
  });
});

test('metrics count invocations by capability and outcome, with declared names only', async () => {
  const rig = await startRig();
  const { token } = await rig.token({ budget: { currency: 'USD', max_amount: 15 } });
  await rig.invoke(token, 'pay');
  await rig.invoke(token, 'pay');
  await rig.invoke(token, 'made_up_by_the_caller');
  await rig.invoke(token, 'watch', {}, { fields: { stream: true } });

  const { text = '' } = await rig.ask('GET', '/metrics');
  const count = (capability: string, outcome: string) =>
    text.includes(`writ_invocations_total{capability="${capability}",outcome="${outcome}"} 1`);
  assert.ok(count('pay', 'success'));
  assert.ok(count('pay', 'budget_exceeded'));
  assert.ok(count('none', 'unknown_capability'));
  assert.ok(count('watch', 'success'));
  assert.doesNotMatch(text, /made_up_by_the_caller/);
});

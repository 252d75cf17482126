/**
 * Traces and metrics of invocations: where a call spent its time, told without its words.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InMemorySpanExporter, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { beforeEach, describe, test } from 'vitest';
import { createTelemetry, exportTo } from '../../src/telemetry.ts';
import { closedAtEnd } from '../ends.ts';
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

  test('a caller that does not sample is still traced', async () => {
    const { token } = await rig.token();
    const unsampled = { traceparent: `00-${TRACE}-${PARENT}-00` };
    await rig.invoke(token, 'look', {}, { headers: unsampled });

    assert.ok((await spansOf()).has('invoke'));
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

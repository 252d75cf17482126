import assert from 'node:assert/strict';
import * as prometheus from 'prom-client';
import { test } from 'vitest';
import { createCounter, createGauge, createHistogram, metricsText } from './tally.ts';

const BOUNDS = [0.001, 0.25, 1, 30];

test('metricsText() is what the reference client of Prometheus writes', async () => {
  const registry = new prometheus.Registry();
  const registers = [registry];
  const labelNames = ['operation', 'status'];
  const theirs = {
    counter: new prometheus.Counter({ name: 'a_total', help: 'A', labelNames, registers }),
    plain: new prometheus.Counter({ name: 'b_total', help: 'B', registers }),
    histogram: new prometheus.Histogram({
      name: 'c_seconds',
      help: 'C',
      labelNames: ['operation'],
      buckets: BOUNDS,
      registers,
    }),
    gauge: new prometheus.Gauge({ name: 'd', help: 'D', registers }),
  };
  const ours = {
    counter: createCounter('a_total', 'A', labelNames),
    plain: createCounter('b_total', 'B'),
    histogram: createHistogram('c_seconds', 'C', 'operation', BOUNDS),
    gauge: createGauge('d', 'D', () => 4.5),
  };
  theirs.gauge.set(4.5);
  for (const operation of ['invoke', 'manifest', 'invoke', 'a"b\\c\nd']) {
    theirs.counter.inc({ operation, status: '200' });
    ours.counter.inc(operation, '200');
    for (const value of [0.0005, 0.001, 0.0011, 1, 29, 31, 0]) {
      theirs.histogram.observe({ operation }, value);
      ours.histogram.observe(operation, value);
    }
  }

  assert.equal(metricsText(Object.values(ours)), await registry.metrics());
});

test('a counter without labels is there before it has counted', () => {
  const counter = createCounter('b_total', 'B');
  assert.match(counter.text(), /^b_total 0$/m);
  counter.inc();
  assert.match(counter.text(), /^b_total 1$/m);
});

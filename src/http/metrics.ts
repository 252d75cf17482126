/**
 * Metrics of one service, in a registry of its own: two services in a process do not share numbers.
 *
 * @module
 */

import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { EndedInvocation } from '../service/parts.ts';
import type { SealingState } from '../service/sealer.ts';
import type { Load } from './shed.ts';

/** From a refusal in memory to a handler at its default deadline. */
const DURATION_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

export interface Metrics {
  readonly registry: Registry;
  /** Labels are names of ours, never a caller's text: their number is bounded. */
  answered(operation: string, status: number, seconds: number): void;
  shed(): void;
  invoked(invocation: EndedInvocation): void;
}

/** `sealing` tells of the log where it is sealed. */
export function createMetrics(load: Load, sealing: () => SealingState | undefined): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const requests = new Counter({
    name: 'writ_http_requests_total',
    help: 'Answered requests',
    labelNames: ['operation', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'writ_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the end of its answer',
    labelNames: ['operation'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const turnedAway = new Counter({
    name: 'writ_http_requests_shed_total',
    help: 'Requests turned away because of load',
    registers,
  });
  const invocations = new Counter({
    name: 'writ_invocations_total',
    help: 'Invocations by outcome: success, or the type of the failure',
    labelNames: ['capability', 'outcome'],
    registers,
  });
  const invocationDurations = new Histogram({
    name: 'writ_invocation_duration_seconds',
    help: 'Time from the first check to the durable entry, or to the last event of a stream',
    labelNames: ['capability'],
    buckets: DURATION_BUCKETS,
    registers,
  });
  gauge(registers, 'writ_http_requests_in_work', 'Requests in work', load.inWork);
  gauge(registers, 'writ_process_resident_bytes', 'Resident memory', () =>
    process.memoryUsage.rss(),
  );
  gauge(registers, 'writ_process_uptime_seconds', 'Time since the start', () => process.uptime());

  if (sealing()) {
    gauge(registers, 'writ_log_sealed_entries', 'Entries under the last checkpoint', () => {
      return sealing()?.checkpoint?.size ?? 0;
    });
    gauge(
      registers,
      'writ_log_sealing_refused',
      '1 while the log does not extend what was signed',
      () => {
        return sealing()?.refused === undefined ? 0 : 1;
      },
    );
  }

  return {
    registry,
    answered(operation, status, seconds) {
      requests.inc({ operation, status });
      durations.observe({ operation }, seconds);
    },
    shed: () => turnedAway.inc(),
    invoked({ capability = 'none', outcome, seconds }) {
      invocations.inc({ capability, outcome });
      invocationDurations.observe({ capability }, seconds);
    },
  };
}

function gauge(registers: Registry[], name: string, help: string, value: () => number): void {
  new Gauge({
    name,
    help,
    registers,
    collect() {
      this.set(value());
    },
  });
}

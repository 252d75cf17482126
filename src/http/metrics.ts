/**
 * Metrics of one service. Two services in one process keep separate numbers.
 *
 * @module
 */

import type { Figures } from '../service/log/figures.ts';
import type { SealingState } from '../service/log/sealer.ts';
import type { Watcher } from '../service/operations/parts.ts';
import type { Runtime } from '../service/runtime.ts';
import type { Load } from './bounds/shed.ts';
import { createCounter, createGauge, createHistogram, metricsText } from './bounds/tally.ts';

/** From a refusal in memory to a handler at its default deadline. */
const DURATION_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];

export interface Metrics extends Watcher {
  /** All of them, as a scraper reads them. */
  text(): Promise<string>;
  /** Labels are names of ours, never a caller's text: their number is bounded. */
  answered(operation: string, status: number, seconds: number): void;
  shed(): void;
  /** A connection was ended by its bounds. */
  ended(reason: string): void;
  alarmed(alarm: string): void;
}

/** `watched` is the service that runs now. */
export function createMetrics(
  load: Load,
  watched: () => Pick<Runtime, 'sealing' | 'figures'>,
): Metrics {
  const sealing = () => watched().sealing();
  let figures: Figures = { backlog: 0 };
  const counted = counters();
  const all = [
    ...Object.values(counted),
    ...processGauges(load),
    ...figureGauges(() => figures),
    ...(sealing() ? sealingGauges(sealing) : []),
  ];
  return {
    async text() {
      figures = await watched().figures();
      return metricsText(all);
    },
    answered(operation, status, seconds) {
      counted.requests.inc(operation, String(status));
      counted.durations.observe(operation, seconds);
    },
    shed: () => counted.turnedAway.inc(),
    alarmed: (alarm) => counted.alarms.inc(alarm),
    overran: (capability) => counted.overruns.inc(capability),
    undelivered: (state) => counted.undelivered.inc(state),
    ended: (reason) => counted.endedConnections.inc(reason),
    invoked({ capability = 'none', outcome, seconds }) {
      counted.invocations.inc(capability, outcome);
      counted.invocationDurations.observe(capability, seconds);
    },
  };
}

function counters() {
  return {
    requests: createCounter('writ_http_requests_total', 'Answered requests', [
      'operation',
      'status',
    ]),
    durations: createHistogram(
      'writ_http_request_duration_seconds',
      'Time from the first byte of a request to the end of its answer',
      'operation',
      DURATION_BUCKETS,
    ),
    turnedAway: createCounter(
      'writ_http_requests_shed_total',
      'Requests turned away because of load',
    ),
    endedConnections: createCounter(
      'writ_http_connections_ended_total',
      'Connections that were ended by their bounds',
      ['reason'],
    ),
    invocations: createCounter(
      'writ_invocations_total',
      'Invocations by outcome: success, or the type of the failure',
      ['capability', 'outcome'],
    ),
    invocationDurations: createHistogram(
      'writ_invocation_duration_seconds',
      'Time from the first check to the durable entry, or to the last event of a stream',
      'capability',
      DURATION_BUCKETS,
    ),
    alarms: createCounter('writ_alarms_total', 'Events that mean altered data or a defect', [
      'alarm',
    ]),
    overruns: createCounter(
      'writ_cost_overruns_total',
      'Calls whose handler reported a higher cost than was reserved',
      ['capability'],
    ),
    undelivered: createCounter(
      'writ_webhook_failures_total',
      'Failed attempts to send a notification; state: pending is tried again, failed is not',
      ['state'],
    ),
  };
}

function processGauges(load: Load) {
  return [
    createGauge('writ_http_requests_in_work', 'Requests in work', load.inWork),
    createGauge('writ_process_resident_bytes', 'Resident memory', () => process.memoryUsage.rss()),
    createGauge('writ_process_uptime_seconds', 'Time since the start', () => process.uptime()),
    createGauge('writ_event_loop_delay_seconds', 'Median of the last half second', () => {
      return load.delayMs() / 1_000;
    }),
  ];
}

function figureGauges(figures: () => Figures) {
  const store = () => figures().store;
  return [
    createGauge('writ_log_backlog_entries', 'Durable entries without a place in the log', () => {
      return figures().backlog;
    }),
    createGauge('writ_log_checkpoint_age_seconds', 'Time since the last checkpoint', () => {
      return figures().checkpointAgeSeconds;
    }),
    createGauge('writ_store_bytes', 'Size of the store', () => store()?.bytes),
    createGauge('writ_approvals_open', 'Approval requests that wait for a decision', () => {
      return store()?.openApprovals;
    }),
    createGauge('writ_store_connections_used', 'Connections to the database in use', () => {
      return figures().pool?.used;
    }),
    createGauge('writ_store_connections_idle', 'Connections to the database that are idle', () => {
      return figures().pool?.idle;
    }),
    createGauge('writ_store_connections_awaited', 'Calls that wait for a connection', () => {
      return figures().pool?.waiting;
    }),
  ];
}

function sealingGauges(sealing: () => SealingState | undefined) {
  return [
    createGauge('writ_log_sealed_entries', 'Entries under the last checkpoint', () => {
      return sealing()?.checkpoint?.size ?? 0;
    }),
    createGauge(
      'writ_log_sealing_refused',
      '1 while the log does not extend what was signed',
      () => (sealing()?.refused === undefined ? 0 : 1),
    ),
  ];
}

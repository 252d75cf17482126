/**
 * A trip in one call (composed of a search and a hold), and the report that takes its time.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { defineCapability } from 'writ';
import { BOOKINGS, CURRENCY } from './data.ts';

/** A month's figures take about this long to gather. */
const MONTH_MS = 100;

/** A report over more years is a job for the archive. */
const MONTHS_MAX = 36;

export const planTrip = defineCapability({
  name: 'plan_trip',
  description: 'Find the cheapest flight and hold a seat on it',
  kind: 'composed',
  inputs: [
    { name: 'origin', type: 'string' },
    { name: 'destination', type: 'string' },
    { name: 'date', type: 'date' },
  ],
  output: { type: 'trip', fields: ['flight_number', 'hold_id'] },
  side_effect: { type: 'transactional', rollback_window: 'PT24H', compensation: 'release_seat' },
  minimum_scope: ['travel.search', 'travel.hold'],
  cost: { certainty: 'fixed', financial: { currency: CURRENCY, amount: 15 } },
  composition: {
    authority_boundary: 'same_service',
    steps: [
      {
        id: 'search',
        capability: 'search_flights',
        empty_result_source: true,
        empty_result_path: 'flights',
      },
      { id: 'hold', capability: 'hold_seat' },
    ],
    input_mapping: {
      search: {
        origin: '$.input.origin',
        destination: '$.input.destination',
        date: '$.input.date',
      },
      hold: { flight_number: '$.steps.search.output.cheapest_flight.flight_number' },
    },
    output_mapping: {
      flight_number: '$.steps.hold.output.flight_number',
      hold_id: '$.steps.hold.output.hold_id',
    },
    failure_policy: 'compensate',
    empty_result_policy: 'return_success_no_results',
    empty_result_output: { flight_number: null, hold_id: null },
    audit_policy: { record_child_invocations: true, parent_task_lineage: true },
  },
});

export const exportReport = defineCapability({
  name: 'export_report',
  description: 'Bookings and spending, month by month',
  inputs: [
    {
      name: 'months',
      type: 'integer',
      required: false,
      default: 6,
      semantic_type: 'time_window',
      description: `How many months back, at most ${MONTHS_MAX}`,
    },
  ],
  output: { type: 'report', fields: ['months', 'bookings', 'rows'] },
  side_effect: 'read',
  minimum_scope: ['travel.read'],
  cost: { certainty: 'fixed', compute: { expected_duration: 'PT1S', memory: 'small' } },
  response_modes: ['unary', 'streaming'],
  async handler({ months }, context) {
    const count = Math.min(Math.max(0, months), MONTHS_MAX);
    const rows = [];
    for (let month = 1; month <= count; month += 1) {
      await sleep(MONTH_MS, undefined, { signal: context.signal });
      rows.push({ month, bookings: BOOKINGS.size });
      await context.progress({ month, of: count });
    }
    return { months: count, bookings: BOOKINGS.size, rows };
  },
});

/**
 * A trip in one call (composed of a search and a hold), and the report that takes its time.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { defineCapability, usd } from 'writ';
import * as z from 'zod';
import { BOOKINGS } from './data.ts';
import { Route } from './flights.ts';

const planTrip = defineCapability({
  name: 'plan_trip',
  description: 'Find the cheapest flight and hold a seat on it',
  kind: 'composed',
  inputs: Route,
  output: z
    .object({ flight_number: z.string().nullable(), hold_id: z.string().nullable() })
    .meta({ title: 'trip' }),
  side_effect: { type: 'transactional', rollback_window: 'PT24H', compensation: 'release_seat' },
  minimum_scope: ['travel.search', 'travel.hold'],
  cost: usd(15),
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

/** A month's figures take about this long to gather. */
const MONTH_MS = 100;

/** A report over more years is a job for the archive. */
const MONTHS_MAX = 36;

const Row = z.object({ month: z.int(), bookings: z.int() });

const exportReport = defineCapability({
  name: 'export_report',
  description: 'Bookings and spending, month by month',
  inputs: z.object({
    months: z.int().min(0).max(MONTHS_MAX).default(6).describe('How many months back'),
  }),
  input_details: { months: { semantic_type: 'time_window' } },
  output: z
    .object({ months: z.int(), bookings: z.int(), rows: z.array(Row) })
    .meta({ title: 'report' }),
  side_effect: 'read',
  minimum_scope: ['travel.read'],
  cost: { certainty: 'fixed', compute: { expected_duration: 'PT1S', memory: 'small' } },
  response_modes: ['unary', 'streaming'],
  async handler({ months }, context) {
    const rows = [];
    for (let month = 1; month <= months; month += 1) {
      await sleep(MONTH_MS, undefined, { signal: context.signal });
      rows.push({ month, bookings: BOOKINGS.size });
      await context.progress({ month, of: months });
    }
    return { months, bookings: BOOKINGS.size, rows };
  },
});

export const trips = [planTrip, exportReport];

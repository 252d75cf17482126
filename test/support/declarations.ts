/**
 * Declarations that keep every rule of the catalog, and a way to break one of them at a time.
 *
 * The set is small but uses each kind of declaration once: closed and resolved inputs, a binding, a
 * compensation, an approval, a cost, and two compositions.
 *
 * @module
 */

import { createCatalog } from '../../src/domain/catalog/catalog.ts';

export type RawDeclarations = Record<string, unknown>;

export const GRANT_POLICY = {
  allowed_grant_types: ['one_time', 'session_bound'],
  default_grant_type: 'one_time',
  expires_in_seconds: 900,
  max_uses: 3,
};

/** A fresh set, so that a test may change what it likes. */
export function travel(): RawDeclarations {
  // By way of text, so that two places never share one object.
  return JSON.parse(
    JSON.stringify({
      find_flights: FIND_FLIGHTS,
      book_flight: BOOK_FLIGHT,
      cancel_flight: CANCEL_FLIGHT,
      flight_status: FLIGHT_STATUS,
      trip_report: TRIP_REPORT,
      plan_trip: PLAN_TRIP,
    }),
  );
}

/** The smallest declaration there is: a read without inputs. */
export function smallest(): Record<string, unknown> {
  return {
    description: 'Does nothing',
    contract_version: '1.0.0',
    inputs: [],
    output: { type: 'object', fields: [] },
    side_effect: { type: 'read' },
    minimum_scope: [],
  };
}

/** The travel set with one place changed; `undefined` removes it. `a.b.0` is `a["b"][0]`. */
export function travelWith(place: string, value: unknown): RawDeclarations {
  const declarations = travel();
  const keys = place.split('.');
  const last = keys.pop() as string;
  let holder = declarations;
  for (const key of keys) {
    const next = Object.hasOwn(holder, key) ? holder[key] : undefined;
    if (typeof next !== 'object' || next === null) throw new Error(`Cannot change "${place}"`);
    holder = next as RawDeclarations;
  }
  if (value === undefined) delete holder[last];
  else Object.defineProperty(holder, last, { value, enumerable: true, configurable: true });
  return declarations;
}

interface StepOf {
  readonly id: string;
  readonly capability: string;
}

/** A composition "whole" of what "parts" declares, in the order of "steps", without any mapping. */
export function wholeOf(
  steps: readonly StepOf[],
  parts: Readonly<Record<string, object>>,
  changes: object = {},
): RawDeclarations {
  const composition = {
    authority_boundary: 'same_service',
    steps,
    input_mapping: {},
    output_mapping: {},
    failure_policy: 'propagate',
    audit_policy: { record_child_invocations: true, parent_task_lineage: true },
  };
  const declared = Object.entries(parts).map(([name, part]) => [name, { ...smallest(), ...part }]);
  const whole = { ...smallest(), kind: 'composed', composition, ...changes };
  return { ...Object.fromEntries(declared), whole };
}

/**
 * One place changed gives one fault, with these words. It stands at that place, unless the last
 * column says where.
 */
export type FaultRow = [place: string, value: unknown, words: string, at?: string];

/** `a.b.0.c` as a fault names it: `a b[0].c`. */
export function placeOf(place: string): string {
  return place.replace('.', ' ').replace(/\.(\d+)/g, '[$1]');
}

export function faultsOf(declarations: RawDeclarations): [string, string, string][] {
  const result = createCatalog(Object.entries(declarations));
  if ('catalog' in result) return [];
  return result.faults.map(({ capability, field, fault }) => [capability, field, fault]);
}

const FIND_FLIGHTS = {
  description: 'Finds flights and quotes a price',
  contract_version: '1.2.0',
  inputs: [
    {
      name: 'destination',
      type: 'string',
      entity_reference: true,
      catalog_ref: 'catalogs/airports',
      resolution: {
        mode: 'backend_resolved',
        resolver_ref: 'airports.v2',
        on_ambiguous: 'clarify',
      },
    },
    { name: 'day', type: 'date' },
    {
      name: 'cabin',
      type: 'string',
      default: 'economy',
      allowed_values: ['economy', 'business'],
      resolution: { mode: 'closed_values', on_missing: 'use_default' },
    },
  ],
  output: { type: 'object', fields: ['flights', 'quote'] },
  side_effect: { type: 'read' },
  minimum_scope: ['travel.search'],
  cost: { certainty: 'fixed', compute: { expected_duration: 'PT2S', memory: 'small' } },
  response_modes: ['unary', 'streaming'],
  rate_limit: { limit: 10, window: '1m' },
};

const BOOK_FLIGHT = {
  description: 'Books the flight that was quoted',
  contract_version: '2.0.0',
  inputs: [
    { name: 'quote', type: 'string' },
    { name: 'seats', type: 'integer', default: 1 },
  ],
  output: { type: 'object', fields: ['booking_id', 'price'] },
  side_effect: {
    type: 'transactional',
    rollback_window: 'PT24H',
    compensation: 'cancel_flight',
  },
  minimum_scope: ['travel.book'],
  cost: {
    certainty: 'estimated',
    financial: { currency: 'USD', range_min: 50, range_max: 2_000, typical: 300 },
  },
  requires: [{ capability: 'find_flights', reason: 'a quote comes from a search' }],
  requires_binding: [
    { type: 'quote', field: 'quote', source_capability: 'find_flights', max_age: 'PT15M' },
  ],
  control_requirements: [{ type: 'cost_ceiling' }],
  observability: { logged: true, retention: 'P90D', fields_logged: ['seats', 'booking_id'] },
  refresh_via: ['find_flights'],
  verify_via: ['flight_status'],
  principal_classes: ['human', 'agent'],
  approval: { when: { amount_above: 500 }, grant_policy: GRANT_POLICY },
};

const CANCEL_FLIGHT = {
  description: 'Cancels a booking',
  contract_version: '1.0.0',
  inputs: [{ name: 'booking_id', type: 'string' }],
  output: { type: 'object', fields: ['cancelled'] },
  side_effect: { type: 'write' },
  minimum_scope: ['travel.book'],
};

const FLIGHT_STATUS = {
  description: 'Tells the state of a booking',
  contract_version: '1.0.0',
  inputs: [{ name: 'booking_id', type: 'string' }],
  output: { type: 'object', fields: ['state'] },
  side_effect: { type: 'read' },
  minimum_scope: ['travel.search'],
};

const TRIP_REPORT = {
  description: 'Reports on a booking',
  contract_version: '1.0.0',
  inputs: [{ name: 'booking_id', type: 'string' }],
  output: { type: 'object', fields: ['report'] },
  side_effect: { type: 'read' },
  minimum_scope: ['travel.search'],
  kind: 'composed',
  composition: {
    authority_boundary: 'same_service',
    steps: [{ id: 'status', capability: 'flight_status' }],
    input_mapping: { status: { booking_id: '$.input.booking_id' } },
    output_mapping: { report: '$.steps.status.output' },
    failure_policy: 'propagate',
    audit_policy: { record_child_invocations: false, parent_task_lineage: false },
  },
};

const PLAN_TRIP = {
  description: 'Searches, then books',
  contract_version: '1.0.0',
  inputs: [
    { name: 'destination', type: 'string' },
    { name: 'day', type: 'date' },
  ],
  output: { type: 'object', fields: ['booking_id', 'flights'] },
  side_effect: { type: 'transactional' },
  minimum_scope: ['travel.search', 'travel.book'],
  cost: { certainty: 'dynamic', financial: { currency: 'USD', upper_bound: 2_000 } },
  approval: { when: 'always', grant_policy: GRANT_POLICY },
  kind: 'composed',
  composition: {
    authority_boundary: 'same_service',
    steps: [
      {
        id: 'search',
        capability: 'find_flights',
        empty_result_source: true,
        empty_result_path: 'flights',
      },
      { id: 'book', capability: 'book_flight' },
    ],
    input_mapping: {
      search: { destination: '$.input.destination', day: '$.input.day' },
      book: { quote: '$.steps.search.output.quote' },
    },
    output_mapping: {
      booking_id: '$.steps.book.output.booking_id',
      flights: '$.steps.search.output.flights',
    },
    failure_policy: 'compensate',
    empty_result_policy: 'return_success_no_results',
    empty_result_output: { flights: [] },
    audit_policy: { record_child_invocations: true, parent_task_lineage: true },
  },
};

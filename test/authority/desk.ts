/**
 * The travel desk with one capability more, for a rule that none of its own has: a bound on depth.
 *
 * @module
 */

import { approved } from '../../examples/travel/charter.ts';
import { extras } from '../../examples/travel/extras.ts';
import { flights, resolveBooking } from '../../examples/travel/flights.ts';
import { resolveTraveler, travelers } from '../../examples/travel/travelers.ts';
import { trips } from '../../examples/travel/trips.ts';
import { createService, defineCapability } from '../../src/index.ts';

const stampPassport = defineCapability({
  name: 'stamp_passport',
  description: 'Stamp a passport; not for the agent of an agent',
  side_effect: 'write',
  minimum_scope: ['travel.read'],
  max_delegation_depth: 1,
  handler: () => ({ stamped: true }),
});

export const deskAndDepth = createService({
  id: 'travel-desk',
  resolvers: { bookings: resolveBooking, travelers: resolveTraveler },
  capabilities: [...flights, ...extras, ...approved, ...trips, ...travelers, stampPassport],
});

export const CAPABILITIES = [...deskAndDepth.catalog.capabilities.keys()];

/** Parameters with which each capability could be invoked, given a quote of the cheapest flight. */
export function goodParameters(quote: string): Readonly<Record<string, object>> {
  const route = { origin: 'SEA', destination: 'SFO', date: '2030-01-01' };
  const charter = { route: 'SEA-SFO', date: '2030-01-01' };
  return {
    search_flights: route,
    book_flight: { quote, passenger: 'Ann Lee' },
    get_booking: { booking_id: 'BK-1000' },
    hold_seat: { flight_number: 'KX205' },
    release_seat: { hold_id: 'none' },
    request_taxi: { pickup: 'SFO' },
    charter_jet: charter,
    charter_fleet: { ...charter, jets: 1 },
    // The lowest price: permissions cannot know that of another amount.
    issue_refund: { booking_id: 'BK-1000', amount: 0.01, reason: 'late' },
    plan_trip: route,
    // Without a month the report takes no time, and nobody is erased who is there.
    export_report: { months: 0 },
    find_traveler: { traveler: 'Noor' },
    erase_traveler: { traveler_id: 'nobody' },
  };
}

/**
 * Flights: search, book, look up. A search pins each price in a quote, and only a quote can be booked.
 *
 * @module
 */

import { defineCapability, usd } from 'writ';
import * as z from 'zod';
import { BOOKINGS, Booking, FLIGHTS, numbered, Offer, Seat, USD } from './data.ts';

const Airport = z.string().describe('IATA code');
export const Route = z.object({ origin: Airport, destination: Airport, date: z.iso.date() });

const searchFlights = defineCapability({
  name: 'search_flights',
  description: 'Find flights between two airports on a day, each with a quote that can be booked',
  inputs: Route.extend({ max_results: z.int().min(0).default(3) }),
  input_details: {
    origin: { catalog_ref: 'airports' },
    destination: { catalog_ref: 'airports' },
    date: { semantic_type: 'time_window' },
  },
  output: z
    .object({ flights: z.array(Offer), cheapest_flight: Offer.nullable(), count: z.int() })
    .meta({ title: 'flight_list' }),
  side_effect: 'read',
  minimum_scope: ['travel.search'],
  response_modes: ['unary', 'streaming'],
  observability: { logged: true, retention: 'P90D', fields_logged: Object.keys(Route.shape) },
  async handler({ origin, destination, date, max_results }, context) {
    const offers = [];
    for (const flight of FLIGHTS) {
      if (flight.origin !== origin || flight.destination !== destination) continue;
      const { flight_number } = flight;
      const pinned = { price: usd(flight.price), data: { flight_number, date } };
      const quote = context.issueBinding({ type: 'quote', capability: 'book_flight', ...pinned });
      offers.push({ date, quote, ...flight, ...USD });
      await context.progress({ flight_number, found: offers.length });
    }
    const flights = offers.slice(0, max_results);
    // The cheapest of all, also where the list is cut before it.
    const byPrice = offers.toSorted((one, other) => one.price - other.price);
    return { flights, cheapest_flight: byPrice[0] ?? null, count: flights.length };
  },
});

const bookFlight = defineCapability({
  name: 'book_flight',
  description: 'Book a quoted flight for a passenger; tickets cannot be returned',
  inputs: z.object({
    quote: z.string().describe('The quote of a flight found by search_flights'),
    passenger: z.string(),
    seat: Seat.default('any'),
  }),
  input_details: {
    seat: {
      input_meanings: { any: 'whatever is left when the door closes' },
      resolution: { mode: 'closed_values', on_missing: 'use_default', on_unresolved: 'clarify' },
    },
  },
  output: Booking.extend({ currency: z.string() }),
  side_effect: 'irreversible',
  minimum_scope: ['travel.book'],
  cost: {
    certainty: 'estimated',
    financial: { ...USD, range_min: 200, range_max: 600, typical: 380 },
    determined_by: 'the quote',
  },
  requires: [{ capability: 'search_flights', reason: 'a flight is booked by its quote' }],
  requires_binding: [
    { type: 'quote', field: 'quote', source_capability: 'search_flights', max_age: 'PT15M' },
  ],
  business_effects: {
    produces: ['a ticket', 'a charge on the travel account'],
    does_not_produce: ['a hotel reservation'],
  },
  refresh_via: ['search_flights'],
  verify_via: ['get_booking'],
  cross_service: {
    handoff_to: [{ service: 'hotel-desk', capability: 'book_room' }],
    refresh_via: [{ service: 'fare-desk', capability: 'quote_fare' }],
    verify_via: [{ service: 'airline-desk', capability: 'confirm_ticket' }],
    followup_via: [{ service: 'expense-desk', capability: 'file_expense' }],
  },
  handler({ passenger, seat }, context) {
    const { data, price } = context.bindings.quote;
    const booking_id = numbered('BK');
    const flight_number = String(data.flight_number);
    const booking = { booking_id, flight_number, passenger, seat, price: price?.amount ?? 0 };
    BOOKINGS.set(booking_id, booking);
    return { ...booking, ...USD };
  },
});

/** An input that names a booking. */
export const KNOWN_BOOKING = {
  entity_reference: true,
  semantic_type: 'entity_reference',
  resolution: { mode: 'backend_resolved', resolver_ref: 'bookings', on_unresolved: 'deny' },
} as const;

const getBooking = defineCapability({
  name: 'get_booking',
  description: 'Look up a booking',
  inputs: z.object({ booking_id: z.string() }),
  input_details: { booking_id: KNOWN_BOOKING },
  output: Booking.meta({ title: 'booking' }),
  side_effect: 'read',
  minimum_scope: ['travel.read'],
  handler: ({ booking_id }) => BOOKINGS.get(booking_id) as Booking,
});

export const flights = [searchFlights, bookFlight, getBooking];

/** Bookings by their id; there is nothing to guess. */
export function resolveBooking(value: unknown) {
  return BOOKINGS.has(String(value)) ? { value } : { unresolved: true as const };
}

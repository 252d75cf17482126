/**
 * The travel desk's little world: the same flights, people and bookings at every start.
 *
 * @module
 */

import * as z from 'zod';

export const Seat = z.enum(['window', 'aisle', 'any']);

const Flight = z.object({
  flight_number: z.string(),
  origin: z.string(),
  destination: z.string(),
  departs: z.string(),
  price: z.number(),
});
type Flight = z.infer<typeof Flight>;

/** A flight that can be booked by its quote. */
export const Offer = Flight.extend({ date: z.iso.date(), currency: z.string(), quote: z.string() });

export const Booking = z
  .object({
    booking_id: z.string(),
    flight_number: z.string(),
    passenger: z.string(),
    seat: Seat,
    price: z.number(),
  })
  .meta({ title: 'booking' });
export type Booking = z.infer<typeof Booking>;

export const Traveler = z
  .object({ traveler_id: z.string(), name: z.string(), home: z.string() })
  .meta({ title: 'traveler' });
export type Traveler = z.infer<typeof Traveler>;

export const CURRENCY = 'USD';

export const FLIGHTS: readonly Flight[] = [
  flight('KX101', 'SEA', 'SFO', '07:15', 410),
  flight('KX205', 'SEA', 'SFO', '12:40', 365),
  flight('KX318', 'SEA', 'SFO', '21:05', 240),
  flight('KX440', 'SFO', 'JFK', '08:30', 520),
  flight('KX442', 'SFO', 'JFK', '23:10', 310),
  flight('KX512', 'JFK', 'LIS', '19:45', 585),
];

export const TRAVELERS = new Map<string, Traveler>(
  [
    { traveler_id: 'TR-1', name: 'Alex Moreau', home: 'SEA' },
    { traveler_id: 'TR-2', name: 'Alex Tanaka', home: 'SFO' },
    { traveler_id: 'TR-3', name: 'Noor Haddad', home: 'JFK' },
  ].map((traveler) => [traveler.traveler_id, traveler]),
);

export const BOOKINGS = new Map<string, Booking>([
  [
    'BK-1000',
    {
      booking_id: 'BK-1000',
      flight_number: 'KX205',
      passenger: 'Noor Haddad',
      seat: 'aisle',
      price: 365,
    },
  ],
]);

/** Seats that are held, by the id of the hold. */
export const HOLDS = new Map<string, string>();

/** Ids count up from where the desk opened, so that a walk reads the same every time. */
export function numbered(prefix: string): string {
  const next = (counters.get(prefix) ?? 1_000) + 1;
  counters.set(prefix, next);
  return `${prefix}-${next}`;
}

const counters = new Map<string, number>();

function flight(
  flight_number: string,
  origin: string,
  destination: string,
  ...[departs, price]: [departs: string, price: number]
): Flight {
  return { flight_number, origin, destination, departs, price };
}

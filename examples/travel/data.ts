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

/** A flight that can be booked by its quote. */
export const Offer = Flight.extend({ date: z.iso.date(), currency: z.string(), quote: z.string() });

export const Booking = z.object({
  booking_id: z.string(),
  flight_number: z.string(),
  passenger: z.string(),
  seat: Seat,
  price: z.number(),
});
export type Booking = z.infer<typeof Booking>;

export const Traveler = z.object({ traveler_id: z.string(), name: z.string(), home: z.string() });
export type Traveler = z.infer<typeof Traveler>;

export const USD = { currency: 'USD' } as const;

/** A cost that is known when the work is done. */
export const upTo = (upper_bound: number, determined_by: string) =>
  ({ certainty: 'dynamic', financial: { ...USD, upper_bound }, determined_by }) as const;

export const FLIGHTS: readonly z.infer<typeof Flight>[] = [
  { flight_number: 'KX101', origin: 'SEA', destination: 'SFO', departs: '07:15', price: 410 },
  { flight_number: 'KX205', origin: 'SEA', destination: 'SFO', departs: '12:40', price: 365 },
  { flight_number: 'KX318', origin: 'SEA', destination: 'SFO', departs: '21:05', price: 240 },
  { flight_number: 'KX440', origin: 'SFO', destination: 'JFK', departs: '08:30', price: 520 },
  { flight_number: 'KX442', origin: 'SFO', destination: 'JFK', departs: '23:10', price: 310 },
  { flight_number: 'KX512', origin: 'JFK', destination: 'LIS', departs: '19:45', price: 585 },
];

export const TRAVELERS = new Map<string, Traveler>([
  ['TR-1', { traveler_id: 'TR-1', name: 'Alex Moreau', home: 'SEA' }],
  ['TR-2', { traveler_id: 'TR-2', name: 'Alex Tanaka', home: 'SFO' }],
  ['TR-3', { traveler_id: 'TR-3', name: 'Noor Haddad', home: 'JFK' }],
]);

const aisleSeat = { flight_number: 'KX205', seat: 'aisle', price: 365 } as const;
export const BOOKINGS = new Map<string, Booking>([
  ['BK-1000', { booking_id: 'BK-1000', passenger: 'Noor Haddad', ...aisleSeat }],
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

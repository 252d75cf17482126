/**
 * The travel desk's little world: the same flights, people and bookings at every start.
 *
 * @module
 */

export interface Flight {
  readonly flight_number: string;
  readonly origin: string;
  readonly destination: string;
  readonly departs: string;
  readonly price: number;
}

export interface Booking {
  readonly booking_id: string;
  readonly flight_number: string;
  readonly passenger: string;
  readonly seat: string;
  readonly price: number;
}

export interface Traveler {
  readonly traveler_id: string;
  readonly name: string;
  readonly home: string;
}

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

/**
 * Small things with a price: lounge, seat holds, taxis.
 *
 * @module
 */

import { defineCapability, NoEffect, usd } from 'writ';
import * as z from 'zod';
import { FLIGHTS, HOLDS, numbered, USD } from './data.ts';

const buyLoungePass = defineCapability({
  name: 'buy_lounge_pass',
  description: 'Buy a day pass for an airport lounge',
  inputs: z.object({ airport: z.string().default('SFO') }),
  output: z.object({ pass_id: z.string(), airport: z.string() }).meta({ title: 'lounge_pass' }),
  side_effect: 'write',
  minimum_scope: ['travel.extras'],
  cost: usd(25),
  handler: ({ airport }) => ({ pass_id: numbered('LP'), airport }),
});

const holdSeat = defineCapability({
  name: 'hold_seat',
  description: 'Hold a seat for a day; the hold can be released',
  inputs: z.object({ flight_number: z.string() }),
  output: z.object({ hold_id: z.string(), flight_number: z.string() }).meta({ title: 'hold' }),
  side_effect: { type: 'transactional', rollback_window: 'PT24H', compensation: 'release_seat' },
  minimum_scope: ['travel.hold'],
  cost: usd(15),
  handler({ flight_number }) {
    const known = FLIGHTS.some((flight) => flight.flight_number === flight_number);
    if (!known) throw new NoEffect(`Cannot hold a seat: there is no flight "${flight_number}"`);
    const hold_id = numbered('HD');
    HOLDS.set(hold_id, flight_number);
    return { hold_id, flight_number };
  },
});

const releaseSeat = defineCapability({
  name: 'release_seat',
  description: 'Release a held seat; releasing it again changes nothing',
  inputs: z.object({ hold_id: z.string() }),
  output: z.object({ released: z.boolean() }).meta({ title: 'release' }),
  side_effect: 'write',
  minimum_scope: ['travel.hold'],
  handler: ({ hold_id }) => ({ released: HOLDS.delete(hold_id) }),
});

const requestTaxi = defineCapability({
  name: 'request_taxi',
  description: 'Send a taxi; the fare is known when the ride ends',
  inputs: z.object({ pickup: z.string() }),
  output: z.object({ ride_id: z.string(), pickup: z.string() }).meta({ title: 'ride' }),
  side_effect: 'write',
  minimum_scope: ['travel.extras'],
  cost: {
    certainty: 'estimated',
    financial: { ...USD, range_min: 20, range_max: 60 },
    determined_by: 'distance and waiting time',
  },
  handler({ pickup }, context) {
    context.cost(usd(32));
    return { ride_id: numbered('TX'), pickup };
  },
});

export const extras = [buyLoungePass, holdSeat, releaseSeat, requestTaxi];

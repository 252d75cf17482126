/**
 * Small things with a price: lounge, seat holds, taxis.
 *
 * @module
 */

import { defineCapability, NoEffect } from 'writ';
import * as z from 'zod';
import { CURRENCY, FLIGHTS, HOLDS, numbered } from './data.ts';

const LOUNGE_PRICE = { currency: CURRENCY, amount: 25 };
const HOLD_PRICE = { currency: CURRENCY, amount: 15 };

export const buyLoungePass = defineCapability({
  name: 'buy_lounge_pass',
  description: 'Buy a day pass for an airport lounge',
  inputs: z.object({ airport: z.string().default('SFO') }),
  output: z.object({ pass_id: z.string(), airport: z.string() }).meta({ title: 'lounge_pass' }),
  side_effect: 'write',
  minimum_scope: ['travel.extras'],
  cost: LOUNGE_PRICE,
  handler({ airport }, context) {
    context.cost(LOUNGE_PRICE);
    return { pass_id: numbered('LP'), airport };
  },
});

export const holdSeat = defineCapability({
  name: 'hold_seat',
  description: 'Hold a seat for a day; the hold can be released',
  inputs: z.object({ flight_number: z.string() }),
  output: z.object({ hold_id: z.string(), flight_number: z.string() }).meta({ title: 'hold' }),
  side_effect: { type: 'transactional', rollback_window: 'PT24H', compensation: 'release_seat' },
  minimum_scope: ['travel.hold'],
  cost: HOLD_PRICE,
  handler({ flight_number }, context) {
    if (!FLIGHTS.some((flight) => flight.flight_number === flight_number)) {
      throw new NoEffect(`Cannot hold a seat: there is no flight "${flight_number}"`);
    }
    context.cost(HOLD_PRICE);
    const hold_id = numbered('HD');
    HOLDS.set(hold_id, flight_number);
    return { hold_id, flight_number };
  },
});

export const releaseSeat = defineCapability({
  name: 'release_seat',
  description: 'Release a held seat; releasing it again changes nothing',
  inputs: z.object({ hold_id: z.string() }),
  output: z.object({ released: z.boolean() }).meta({ title: 'release' }),
  side_effect: 'write',
  minimum_scope: ['travel.hold'],
  handler: ({ hold_id }) => ({ released: HOLDS.delete(hold_id) }),
});

export const requestTaxi = defineCapability({
  name: 'request_taxi',
  description: 'Send a taxi; the fare is known when the ride ends',
  inputs: z.object({ pickup: z.string() }),
  output: z.object({ ride_id: z.string(), pickup: z.string() }).meta({ title: 'ride' }),
  side_effect: 'write',
  minimum_scope: ['travel.extras'],
  cost: {
    certainty: 'estimated',
    financial: { currency: CURRENCY, range_min: 20, range_max: 60 },
    determined_by: 'distance and waiting time',
  },
  handler({ pickup }, context) {
    context.cost({ currency: CURRENCY, amount: 32 });
    return { ride_id: numbered('TX'), pickup };
  },
});

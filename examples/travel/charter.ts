/**
 * Capabilities that a person must approve first: charters and large refunds.
 *
 * @module
 */

import { defineCapability, round, usd } from 'writ';
import * as z from 'zod';
import { BOOKINGS, numbered, USD, upTo } from './data.ts';
import { KNOWN_BOOKING } from './flights.ts';

const Flown = z.object({ route: z.string().describe('Such as SEA-SFO'), date: z.iso.date() });
const Charter = z.object({ charter_id: z.string(), ...Flown.shape }).meta({ title: 'charter' });

const charterJet = defineCapability({
  name: 'charter_jet',
  title: 'Charter one jet for {route} on {date}',
  description: 'Charter one jet for a route and a day',
  inputs: Flown,
  output: Charter,
  side_effect: 'irreversible',
  minimum_scope: ['travel.charter'],
  cost: upTo(20_000, 'route and season'),
  control_requirements: [{ type: 'cost_ceiling' }],
  approval: {
    when: 'always',
    preview: (flown) => ({ action: 'Charter one jet', ...flown }),
  },
  handler(flown, context) {
    context.cost(usd(18_500));
    return { charter_id: numbered('CH'), ...flown };
  },
});

const charterFleet = defineCapability({
  name: 'charter_fleet',
  title: 'Charter {jets} jets for {route} on {date}',
  description: 'Charter several jets; two people have to agree',
  inputs: Flown.extend({ jets: z.int().positive() }),
  output: Charter.extend({ jets: z.int() }),
  side_effect: 'irreversible',
  minimum_scope: ['travel.charter'],
  cost: upTo(200_000, 'route, season and number of jets'),
  control_requirements: [{ type: 'stronger_delegation_required' }],
  approval: {
    when: 'always',
    approvals_required: 2,
    preview: ({ jets, ...flown }) => ({ action: `Charter ${jets} jets`, ...flown }),
  },
  handler(flown, context) {
    context.cost(usd(Math.min(200_000, 18_500 * flown.jets)));
    return { charter_id: numbered('CH'), ...flown };
  },
});

/** More than a ticket costs is no refund. */
const REFUND_MOST = 1_000;

const Refunded = z.number().min(0.01).max(REFUND_MOST).multipleOf(0.01);
const Refund = z.object({ refund_id: z.string(), booking_id: z.string(), amount: z.number() });

const issueRefund = defineCapability({
  name: 'issue_refund',
  title: 'Refund {amount} to booking {booking_id}',
  description: 'Pay money back for a booking; more than 100 needs approval',
  inputs: z.object({
    booking_id: z.string(),
    amount: Refunded.describe(`In USD, at most ${REFUND_MOST}`),
    reason: z.string(),
  }),
  input_details: { booking_id: KNOWN_BOOKING, amount: { semantic_type: 'money' } },
  output: Refund.extend({ currency: z.string() }).meta({ title: 'refund' }),
  side_effect: 'irreversible',
  minimum_scope: ['travel.refund'],
  cost: {
    certainty: 'estimated',
    financial: { ...USD, range_min: 0.01, range_max: REFUND_MOST },
    determined_by: 'the amount that is refunded',
  },
  // The schema lets the nearest double pass, such as 0.1 + 0.2; money has cents.
  price: ({ amount }) => round(usd(amount), 'nearest'),
  approval: {
    when: { amount_above: 100, input: 'amount' },
    grant_policy: {
      allowed_grant_types: ['one_time', 'session_bound'],
      default_grant_type: 'one_time',
      expires_in_seconds: 900,
      max_uses: 3,
    },
    preview: ({ booking_id, reason }) => {
      const { flight_number, passenger, price } = BOOKINGS.get(booking_id) ?? {};
      return { flight: `${flight_number}, ${passenger}`, paid: `${price?.toFixed(2)} USD`, reason };
    },
  },
  handler: ({ booking_id, amount }) => ({
    refund_id: numbered('RF'),
    booking_id,
    amount,
    ...USD,
  }),
});

export const approved = [charterJet, charterFleet, issueRefund];

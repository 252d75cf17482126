/**
 * Capabilities that a person must approve first: charters and large refunds.
 *
 * @module
 */

import { defineCapability } from 'writ';
import * as z from 'zod';
import { CURRENCY, numbered } from './data.ts';
import { KNOWN_BOOKING } from './flights.ts';

/** More than a ticket costs is no refund. */
const REFUND_MOST = 1_000;

const Refunded = z
  .number()
  .positive()
  .max(REFUND_MOST)
  .multipleOf(0.01)
  .describe(`In USD, at most ${REFUND_MOST}`);

const Flown = z.object({ route: z.string().describe('Such as SEA-SFO'), date: z.iso.date() });
const Charter = z.object({ charter_id: z.string(), ...Flown.shape }).meta({ title: 'charter' });

export const charterJet = defineCapability({
  name: 'charter_jet',
  description: 'Charter one jet for a route and a day',
  inputs: Flown,
  output: Charter,
  side_effect: 'irreversible',
  minimum_scope: ['travel.charter'],
  cost: {
    certainty: 'dynamic',
    financial: { currency: CURRENCY, upper_bound: 20_000 },
    determined_by: 'route and season',
  },
  control_requirements: [{ type: 'cost_ceiling' }],
  approval: {
    when: 'always',
    preview: ({ route, date }) => ({
      action: 'Charter one jet',
      route,
      date,
      at_most: '20000.00 USD',
    }),
  },
  handler({ route, date }, context) {
    context.cost({ currency: CURRENCY, amount: 18_500 });
    return { charter_id: numbered('CH'), route, date };
  },
});

export const charterFleet = defineCapability({
  name: 'charter_fleet',
  description: 'Charter several jets; two people have to agree',
  inputs: Flown.extend({ jets: z.int().positive() }),
  output: Charter.extend({ jets: z.int() }),
  side_effect: 'irreversible',
  minimum_scope: ['travel.charter'],
  cost: {
    certainty: 'dynamic',
    financial: { currency: CURRENCY, upper_bound: 200_000 },
    determined_by: 'route, season and number of jets',
  },
  control_requirements: [{ type: 'stronger_delegation_required' }],
  approval: {
    when: 'always',
    approvals_required: 2,
    preview: ({ route, date, jets }) => ({ action: `Charter ${jets} jets`, route, date }),
  },
  handler({ route, date, jets }, context) {
    context.cost({ currency: CURRENCY, amount: Math.min(200_000, 18_500 * jets) });
    return { charter_id: numbered('CH'), route, date, jets };
  },
});

export const issueRefund = defineCapability({
  name: 'issue_refund',
  description: 'Pay money back for a booking; more than 100 needs approval',
  inputs: z.object({ booking_id: z.string(), amount: Refunded, reason: z.string() }),
  input_details: { booking_id: KNOWN_BOOKING },
  output: z
    .object({
      refund_id: z.string(),
      booking_id: z.string(),
      amount: z.number(),
      currency: z.string(),
    })
    .meta({ title: 'refund' }),
  side_effect: 'irreversible',
  minimum_scope: ['travel.refund'],
  cost: {
    certainty: 'dynamic',
    financial: { currency: CURRENCY, upper_bound: REFUND_MOST },
    determined_by: 'the amount that is refunded',
  },
  approval: {
    when: { amount_above: 100, input: 'amount' },
    grant_policy: {
      allowed_grant_types: ['one_time', 'session_bound'],
      default_grant_type: 'one_time',
      expires_in_seconds: 900,
      max_uses: 3,
    },
    preview: ({ booking_id, amount, reason }) => ({
      action: 'Refund',
      booking_id,
      amount: `${amount.toFixed(2)} ${CURRENCY}`,
      reason,
    }),
  },
  handler({ booking_id, amount }, context) {
    context.cost({ currency: CURRENCY, amount });
    return { refund_id: numbered('RF'), booking_id, amount, currency: CURRENCY };
  },
});

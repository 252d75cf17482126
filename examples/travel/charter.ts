/**
 * Capabilities that a person must approve first: charters and large refunds.
 *
 * @module
 */

import { defineCapability, NoEffect } from 'writ';
import { CURRENCY, numbered } from './data.ts';

/** More than a ticket costs is no refund. */
const REFUND_MOST = 1_000;

export const charterJet = defineCapability({
  name: 'charter_jet',
  description: 'Charter one jet for a route and a day',
  inputs: [
    { name: 'route', type: 'string', description: 'Such as SEA-SFO' },
    { name: 'date', type: 'date' },
  ],
  output: { type: 'charter', fields: ['charter_id', 'route', 'date'] },
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
    grant_policy: {
      allowed_grant_types: ['one_time'],
      default_grant_type: 'one_time',
      expires_in_seconds: 900,
      max_uses: 1,
    },
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
  inputs: [
    { name: 'route', type: 'string' },
    { name: 'date', type: 'date' },
    { name: 'jets', type: 'integer' },
  ],
  output: { type: 'charter', fields: ['charter_id', 'route', 'date', 'jets'] },
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
    grant_policy: {
      allowed_grant_types: ['one_time'],
      default_grant_type: 'one_time',
      expires_in_seconds: 900,
      max_uses: 1,
    },
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
  inputs: [
    {
      name: 'booking_id',
      type: 'string',
      entity_reference: true,
      resolution: { mode: 'backend_resolved', resolver_ref: 'bookings', on_unresolved: 'deny' },
    },
    { name: 'amount', type: 'number', description: 'In USD, at most 1000' },
    { name: 'reason', type: 'string' },
  ],
  output: { type: 'refund', fields: ['refund_id', 'booking_id', 'amount', 'currency'] },
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
    const cents = Math.round(amount * 100);
    if (cents / 100 !== amount || cents < 1 || amount > REFUND_MOST) {
      throw new NoEffect(`Cannot refund ${amount}: expected whole cents, at most ${REFUND_MOST}`);
    }
    context.cost({ currency: CURRENCY, amount });
    return { refund_id: numbered('RF'), booking_id, amount, currency: CURRENCY };
  },
});

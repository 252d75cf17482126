/**
 * The travel desk: fourteen capabilities and the demo identities that may use them.
 *
 * @module
 */

import { createService } from 'writ';
import { charterFleet, charterJet, issueRefund } from './charter.ts';
import { buyLoungePass, holdSeat, releaseSeat, requestTaxi } from './extras.ts';
import { bookFlight, getBooking, resolveBooking, searchFlights } from './flights.ts';
import { eraseTraveler, findTraveler, resolveTraveler } from './travelers.ts';
import { exportReport, planTrip } from './trips.ts';

export const travelDesk = createService({
  id: 'travel-desk',
  trust: { level: 'anchored', anchoring: { cadence: 'PT5S' } },
  resolvers: { bookings: resolveBooking, travelers: resolveTraveler },
  capabilities: [
    searchFlights,
    bookFlight,
    getBooking,
    buyLoungePass,
    holdSeat,
    releaseSeat,
    requestTaxi,
    charterJet,
    charterFleet,
    issueRefund,
    planTrip,
    exportReport,
    findTraveler,
    eraseTraveler,
  ],
});

/** Public, so they are accepted on a loopback address only. */
export const DEMO_IDENTITIES = [
  {
    key: 'demo-human-key',
    principal: 'human:alice@example.com',
    scopes: ['travel.*'],
    subjects: ['agent:*'],
    caller_class: 'internal',
    caller_classes: ['automated_agent', 'partner', 'default'],
  },
  {
    key: 'demo-agent-key',
    principal: 'agent:trip-planner',
    scopes: ['travel.search', 'travel.read'],
    caller_class: 'automated_agent',
  },
  {
    key: 'demo-approver-key',
    principal: 'human:bob@example.com',
    scopes: ['approver:*'],
    caller_class: 'internal',
  },
  {
    key: 'demo-approver2-key',
    principal: 'human:carol@example.com',
    scopes: ['approver:*'],
    caller_class: 'internal',
  },
  {
    key: 'demo-partner-key',
    principal: 'service:partner-portal',
    scopes: ['travel.search'],
    caller_class: 'partner',
  },
  {
    key: 'demo-operator-key',
    principal: 'service:operator',
    scopes: ['operator:*'],
    caller_class: 'internal',
  },
].map((identity) => ({ ...identity, demo: true }));

/** Whoever comes through a configured identity provider may look, and nothing else. */
export const OIDC_ENTITLEMENTS = [
  {
    principals: ['human:*', 'agent:*', 'service:*', 'oidc:*'],
    scopes: ['travel.search', 'travel.read'],
    caller_class: 'default',
  },
];

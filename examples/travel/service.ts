/**
 * The travel desk: fourteen capabilities and the demo identities that may use them.
 *
 * @module
 */

import { createService } from 'writ';
import { approved } from './charter.ts';
import { extras } from './extras.ts';
import { flights, resolveBooking } from './flights.ts';
import { resolveTraveler, travelers } from './travelers.ts';
import { trips } from './trips.ts';

export const travelDesk = createService({
  id: 'travel-desk',
  trust: { level: 'anchored', anchoring: { cadence: 'PT5S' } },
  resolvers: { bookings: resolveBooking, travelers: resolveTraveler },
  capabilities: [...flights, ...extras, ...approved, ...trips, ...travelers],
});

const LOOKS = ['travel.search', 'travel.read'];

/** Public, so they are accepted on a loopback address only. */
export const DEMO_IDENTITIES = [
  {
    ...demo('human', 'human:alice@example.com', 'internal', ['travel.*']),
    subjects: ['agent:*'],
    caller_classes: ['automated_agent', 'partner', 'default'],
  },
  demo('agent', 'agent:trip-planner', 'automated_agent', LOOKS),
  demo('approver', 'human:bob@example.com', 'internal', ['approver:*']),
  demo('approver2', 'human:carol@example.com', 'internal', ['approver:*']),
  demo('partner', 'service:partner-portal', 'partner', ['travel.search']),
  demo('operator', 'service:operator', 'internal', ['operator:*']),
  demo('admin', 'human:dora@example.com', 'internal', ['operator:*']),
];

function demo(name: string, principal: string, caller_class: string, scopes: string[]) {
  return { key: `demo-${name}-key`, principal, scopes, caller_class, demo: true };
}

/**
 * Any MCP client can connect: some register themselves, and a client that names a document about itself
 * needs a service that reaches the internet. Registration stores nothing, and a person decides on each client.
 */
export const DEMO_SIGN_IN = { registration: 'on' } as const;

/** Every principal of a configured identity provider may look, and nothing else. */
export const OIDC_ENTITLEMENTS = [
  {
    principals: ['human:*', 'agent:*', 'service:*', 'oidc:*'],
    scopes: LOOKS,
    caller_class: 'default',
  },
];

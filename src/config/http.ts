/**
 * Settings of what callers may take: connections, calls in a time, and from where they come.
 *
 * @module
 */

import { isIP } from 'node:net';
import * as z from 'zod';
import { openHost, type Reached } from '../domain/values/host.ts';
import { Rate, wholeNumber } from './parts.ts';

const Network = z
  .string()
  .trim()
  .refine(isNetwork, 'expected an address, or a network as 10.0.0.0/8');

/** A list, or its members between commas as a variable carries them. */
const Proxies = z.union(
  [
    z.array(Network),
    z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(Network)),
  ],
  { error: 'expected addresses and networks between commas, or a list of them' },
);

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const bits = isIP(address) === 6 ? 128 : 32;
  if (isIP(address) === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

const Connections = wholeNumber(1, 1_000_000);

export const HttpSettings = {
  rate_limits: z
    .enum(['on', 'off'])
    .default('on')
    .describe(
      '`off` leaves out `principal_rate` and `address_rate`, on a loopback address only; for load tests',
    ),
  principal_rate: Rate.default({ limit: 1_000, window: 'PT10S' }).describe(
    'How fast each root principal may call any operation, with all that act for it: so many at once, and as many again in each such time; counted by each process',
  ),
  address_rate: Rate.default({ limit: 10_000, window: 'PT10S' }).describe(
    'The same for each address (IPv6: each /64) over HTTP, for requests without a credential that is known',
  ),
  trusted_proxies: Proxies.default([]).describe(
    'Addresses and networks of the proxies whose `X-Forwarded-For` says where a request comes from, between commas',
  ),
  max_connections: Connections.default(10_000).describe(
    'How many connections each process keeps open; more are closed at once',
  ),
  max_connections_per_address: Connections.default(1_000).describe(
    'How many of them come from one address (IPv6: one /64) that is no trusted proxy',
  ),
};

export const HTTP_ENVIRONMENT = {
  rate_limits: 'WRIT_RATE_LIMITS',
  principal_rate: 'WRIT_PRINCIPAL_RATE',
  address_rate: 'WRIT_ADDRESS_RATE',
  trusted_proxies: 'WRIT_TRUSTED_PROXIES',
  max_connections: 'WRIT_MAX_CONNECTIONS',
  max_connections_per_address: 'WRIT_MAX_CONNECTIONS_PER_ADDRESS',
} as const;

export function unlimitedFault(
  settings: Reached & { readonly rate_limits: 'on' | 'off' },
): string | undefined {
  const open = openHost(settings);
  if (settings.rate_limits === 'on' || open === undefined) return undefined;
  return `Cannot listen on "${open}" with WRIT_RATE_LIMITS=off: it is accepted on a loopback address only`;
}

/**
 * Settings of HTTP: rate limits, connections, trusted proxies, and the tools that MCP lists.
 *
 * @module
 */

import { isIP } from 'node:net';
import * as z from 'zod';
import { isLoopback, openHost, type Reached } from '../address/host.ts';
import { Rate, wholeNumber } from './parts.ts';

const Network = z
  .string()
  .trim()
  .refine(isNetwork, 'expected an address, or a network such as 10.0.0.0/8');

/** A list, or its members separated by commas, as in an environment variable. */
const Proxies = z.union(
  [
    z.array(Network),
    z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(Network)),
  ],
  { error: 'expected addresses and networks separated by commas, or a list of them' },
);

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const bits = isIP(address) === 6 ? 128 : 32;
  if (isIP(address) === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

/** An origin as a browser sends it, or `*` for every page. */
const Origin = z
  .string()
  .trim()
  .refine(isOrigin, 'expected an origin such as https://app.example without a path, or *');

const Origins = z.union(
  [
    z.array(Origin),
    z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(Origin)),
  ],
  {
    error: 'expected origins such as https://app.example separated by commas, a list of them, or *',
  },
);

function isOrigin(text: string): boolean {
  if (text === '*') return true;
  return /^https?:\/\/[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

const Connections = wholeNumber(1, 1_000_000);

export const HttpSettings = {
  rate_limits: z
    .enum(['on', 'off'])
    .default('on')
    .describe(
      '`off` disables `principal_rate` and `address_rate` for load tests; accepted on a loopback address only',
    ),
  principal_rate: Rate.default({ limit: 1_000, window: 'PT10S' }).describe(
    'How fast each root principal and its delegates may call any operation, as `<calls>/<duration>`: that many calls at once, refilled over each duration; each process counts for itself',
  ),
  address_rate: Rate.default({ limit: 10_000, window: 'PT10S' }).describe(
    'The same for each address (IPv6: each /64) over HTTP, for requests without a known credential',
  ),
  trusted_proxies: Proxies.default([]).describe(
    'Addresses and networks of the proxies whose `X-Forwarded-For` the service believes, separated by commas',
  ),
  cors_origins: Origins.default([]).describe(
    'Origins of the web pages that may call the service from a browser, exact and separated by commas; `*` admits every page; without it no page of another origin may; cookies are never admitted',
  ),
  max_connections: Connections.default(10_000).describe(
    'How many connections each process keeps open; it closes further ones at once',
  ),
  max_connections_per_address: Connections.default(1_000).describe(
    'How many of them may come from one address (IPv6: one /64) that is not a trusted proxy',
  ),
  stop_delay_seconds: wholeNumber(0, 600)
    .optional()
    .describe(
      'How long the port stays open after SIGTERM, while `/readyz` already says that the service stops, so that balancers send requests elsewhere; by default 5, and 0 on a loopback address',
    ),
  mcp_tools: z
    .enum(['all', 'search'])
    .default('all')
    .describe(
      'The tools that MCP lists: `all` capabilities of a token, or with `search` one tool that searches them and one that calls what was found',
    ),
};

export const HTTP_ENVIRONMENT = {
  rate_limits: 'WRIT_RATE_LIMITS',
  principal_rate: 'WRIT_PRINCIPAL_RATE',
  address_rate: 'WRIT_ADDRESS_RATE',
  trusted_proxies: 'WRIT_TRUSTED_PROXIES',
  cors_origins: 'WRIT_CORS_ORIGINS',
  max_connections: 'WRIT_MAX_CONNECTIONS',
  max_connections_per_address: 'WRIT_MAX_CONNECTIONS_PER_ADDRESS',
  stop_delay_seconds: 'WRIT_STOP_DELAY_SECONDS',
  mcp_tools: 'WRIT_MCP_TOOLS',
} as const;

/** Balancers need about so long to learn that an endpoint goes away. */
const STOP_DELAY_SECONDS = 5;

export function stopDelayOf({
  host,
  stop_delay_seconds,
}: {
  readonly host: string;
  readonly stop_delay_seconds?: number | undefined;
}): number {
  return stop_delay_seconds ?? (isLoopback(host) ? 0 : STOP_DELAY_SECONDS);
}

export function unlimitedFault(
  settings: Reached & { readonly rate_limits: 'on' | 'off' },
): string | undefined {
  const open = openHost(settings);
  if (settings.rate_limits === 'on' || open === undefined) return undefined;
  return `Cannot listen on "${open}" with WRIT_RATE_LIMITS=off: it is accepted on a loopback address only`;
}

/**
 * Who may speak to a service of this machine: not a page of another site that a browser has open.
 *
 * A name that an attacker owns may resolve to a loopback address, and then a browser sends to it what
 * the page likes. So on loopback the Host must be a name of this machine, or the service's public
 * one; and a page may only ask from the same names, wherever the service is.
 *
 * @module
 */

import { bareHost, isLoopback } from '../domain/values/host.ts';

export interface Arrival {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The address on which the request came in. */
  readonly localAddress: string | undefined;
  /** Where callers reach the service. */
  readonly publicUrl: string;
}

/** What is wrong with where a request comes from, or nothing. */
export function foreignArrival({ host, origin, ...arrival }: Arrival): string | undefined {
  const own = bareHost(new URL(arrival.publicUrl));
  const named = hostOf(`http://${host ?? ''}`);
  // An address that is not known is taken for the one that needs care.
  const address = arrival.localAddress ?? '127.0.0.1';
  const isLocal = isLoopback(address.replace(/^::ffff:/, ''));
  const isOurs = (name: string | undefined) =>
    name !== undefined && (name === own || (isLocal && isLoopback(name)));

  if (isLocal && !isOurs(named)) return `Host "${host ?? ''}" is no name of this service`;
  if (origin === undefined) return undefined;
  const page = hostOf(origin);
  if (isOurs(page) || (!isLocal && page !== undefined && page === named)) return undefined;
  return `Origin "${origin}" is no page of this service`;
}

function hostOf(text: string): string | undefined {
  return URL.canParse(text) ? bareHost(new URL(text)) || undefined : undefined;
}

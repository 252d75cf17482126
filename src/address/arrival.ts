/**
 * Protects a service on this machine against pages of other sites in a browser.
 *
 * An attacker's host name may resolve to a loopback address; a browser then sends requests of
 * the attacker's page there. So on loopback the Host must be a name of this machine, or the service's
 * public one. The Origin of a page must be one of the same names on every address, or admitted by the
 * configuration.
 *
 * @module
 */

import { bareHost, isLoopback } from './host.ts';

export interface Arrival {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** The local address of the connection. */
  readonly localAddress: string | undefined;
  /** The public URL of the service. */
  readonly publicUrl: string;
  /** Whether the configuration admits pages of the origin. */
  readonly isAdmitted?: boolean;
}

/** The fault of the Host or Origin of a request; `undefined` if there is none. */
export function foreignArrival({ host, origin, ...arrival }: Arrival): string | undefined {
  const own = bareHost(new URL(arrival.publicUrl));
  const named = hostOf(`http://${host ?? ''}`);
  // An unknown address is treated as loopback, the stricter case.
  const address = arrival.localAddress ?? '127.0.0.1';
  const isLocal = isLoopback(address.replace(/^::ffff:/, ''));
  const isOurs = (name: string | undefined) =>
    name !== undefined && (name === own || (isLocal && isLoopback(name)));

  if (isLocal && !isOurs(named)) return `Host "${host ?? ''}" is not a name of this service`;
  if (origin === undefined || arrival.isAdmitted) return undefined;
  const page = hostOf(origin);
  if (isOurs(page) || (!isLocal && page !== undefined && page === named)) return undefined;
  return `Origin "${origin}" is not a page of this service`;
}

function hostOf(text: string): string | undefined {
  return URL.canParse(text) ? bareHost(new URL(text)) || undefined : undefined;
}

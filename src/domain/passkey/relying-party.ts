/**
 * The relying party: the host that passkeys belong to, and the pages that may ask for them.
 *
 * @module
 */

import { bareHost, isLoopback } from '../../address/host.ts';

export interface RelyingParty {
  readonly rpId: string;
  readonly origins: readonly string[];
}

/**
 * Of the service at this address. An IP address cannot be one, so on loopback it is `localhost`, under which the
 * pages are there; for any other IP address there is none.
 */
export function relyingPartyOf(baseUrl: string): RelyingParty | undefined {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  const host = bareHost(url);
  if (isLoopback(host)) url.hostname = 'localhost';
  else if (host.includes(':') || /^\d+(?:\.\d+){3}$/.test(host)) return undefined;
  return { rpId: url.hostname, origins: [url.origin] };
}

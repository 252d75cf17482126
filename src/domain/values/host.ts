/**
 * Hosts: whether a name or an address leads to this machine, without a lookup.
 *
 * @module
 */

/** The host of a URL as a name or an address, without the brackets of IPv6. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** True when only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** How a service is reached: the address it listens on, and the one it publishes. */
export interface Reached {
  readonly host: string;
  readonly public_url?: string | undefined;
}

/** The first name under which other machines reach the service; `undefined` when only this machine does. */
export function openHost({ host, public_url }: Reached): string | undefined {
  const reached = [host, ...(public_url ? [bareHost(new URL(public_url))] : [])];
  return reached.find((name) => !isLoopback(name));
}

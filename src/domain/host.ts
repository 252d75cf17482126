/**
 * Hosts: what a name or an address says about where it leads, without asking anybody.
 *
 * @module
 */

/** The host of a URL as a name or an address, without the brackets of IPv6. */
export function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** Only this machine can reach it. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

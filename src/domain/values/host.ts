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

/** Where a service says that it is reached: the address it listens on, and the one it publishes. */
export interface Reached {
  readonly host: string;
  readonly public_url?: string | undefined;
}

/** The first name under which other machines reach the service; nothing where only this one does. */
export function openHost({ host, public_url }: Reached): string | undefined {
  const reached = [host, ...(public_url ? [bareHost(new URL(public_url))] : [])];
  return reached.find((name) => !isLoopback(name));
}

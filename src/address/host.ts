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

/** True when no other machine reaches the service. A trusted proxy on this machine forwards requests of others. */
export function isReachedHereOnly(
  config: Reached & { readonly trusted_proxies: readonly unknown[] },
): boolean {
  return openHost(config) === undefined && config.trusted_proxies.length === 0;
}

/** The names of this machine that a URL can have. */
const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]'];

/** The addresses under which a service is the same: one, or on loopback one for each name of this machine. */
export function namesOf(baseUrl: string): string[] {
  const url = new URL(baseUrl);
  if (!isLoopback(bareHost(url))) return [baseUrl];
  const others = LOOPBACK_NAMES.map((name) => {
    const other = new URL(baseUrl);
    other.hostname = name;
    return other.href.replace(/\/$/, '');
  });
  return [...new Set([baseUrl, ...others])];
}

/** The address of a service by the name that a request used, where that is one of its own. */
export function namedAs(baseUrl: string, host: string | undefined): string {
  return namesOf(baseUrl).find((name) => new URL(name).host === host) ?? baseUrl;
}

/** The addresses that every machine also calls `localhost`. */
const LOCALHOST = ['127.0.0.1', '[::1]'];

/**
 * The address at which people open the pages of a service. On loopback it has the name `localhost`: a passkey belongs
 * to a name and cannot belong to an IP address, and cookies belong to the name that a browser used.
 */
export function pagesUrl(baseUrl: string): string {
  const url = new URL(baseUrl);
  // With https the certificate is for the name in the address.
  if (url.protocol !== 'http:' || !LOCALHOST.includes(url.hostname)) return baseUrl;
  url.hostname = 'localhost';
  return url.href.replace(/\/$/, '');
}

/** The path of an address of a service; empty at the root of its host. */
export function pathOfBase(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, '');
}

/**
 * Where a mounted service stands: its prefix in the app, and the address at which callers reach it.
 *
 * The address is `public_url`. Without one the service answers for loopback names only, and takes the first
 * such name that it is asked by: a name that a stranger chooses never enters a document.
 *
 * @module
 */

import { bareHost, isLoopback } from '../../address/host.ts';
import { operations } from '../../protocol/operations.ts';
import { RESOURCE_METADATA, SERVER_METADATA } from '../sign-in/oauth-routes.ts';

/** Documents that clients also look for at the root of an app. */
const ROOT_DOCUMENTS: readonly string[] = [operations.discovery.path, operations.jwks.path];

const METADATA: readonly string[] = [SERVER_METADATA, RESOURCE_METADATA];

export interface MountAddress {
  readonly prefix: string;
  /** The path before all paths of the service, as callers see it. */
  readonly basePath: string;
  /** Where callers reach the service. */
  baseUrl(): string;
  /** The own origin of the service for a request to this host. */
  originFor(arrival: Arrival): string;
  /** Why a request to this host is not answered. */
  foreignHost(arrival: Arrival): string | undefined;
}

export interface Arrival {
  readonly host: string | undefined;
  readonly isSecure: boolean;
  /** The local address of the connection, where there is one. */
  readonly localAddress: string | undefined;
}

/** Throws when the prefix cannot be one, or when the public address does not end with it. */
export function mountAddress(prefix: string, publicUrl: string | undefined): MountAddress {
  if (!/^(?:\/[\w~-]+)+$/.test(prefix)) {
    const expected = 'expected a path such as "/desk": it begins with "/" and does not end with it';
    throw new Error(`Cannot mount at ${JSON.stringify(prefix)}: ${expected}`);
  }
  if (publicUrl !== undefined && !new URL(publicUrl).pathname.endsWith(prefix)) {
    const advice = `write the prefix at its end, such as "${new URL(publicUrl).origin}${prefix}"`;
    throw new Error(`Cannot mount at "${prefix}": WRIT_PUBLIC_URL is "${publicUrl}"; ${advice}`);
  }
  let seen: string | undefined;
  return {
    prefix,
    basePath: publicUrl === undefined ? prefix : new URL(publicUrl).pathname,
    baseUrl: () => publicUrl ?? seen ?? `http://localhost${prefix}`,
    originFor: (arrival) => new URL(publicUrl ?? addressOf(arrival)).origin,
    foreignHost(arrival) {
      if (publicUrl !== undefined) return undefined;
      if (!isHere(arrival)) {
        return `without WRIT_PUBLIC_URL the service answers on loopback names only, and the Host is ${JSON.stringify(arrival.host ?? '')}`;
      }
      seen ??= `${new URL(addressOf(arrival)).origin}${prefix}`;
      return undefined;
    },
  };
}

/** Whether the request names this machine, and came over a connection within it where that is known. */
function isHere(arrival: Arrival): boolean {
  const { host = '', localAddress } = arrival;
  const address = addressOf(arrival);
  if (!/^[\w.:[\]-]+$/.test(host) || !URL.canParse(address)) return false;
  if (!isLoopback(bareHost(new URL(address)))) return false;
  return localAddress === undefined || isLoopback(localAddress.replace(/^::ffff:/, ''));
}

function addressOf({ host, isSecure }: Arrival): string {
  return `${isSecure ? 'https' : 'http'}://${host}`;
}

/** The target below the prefix; undefined for a target outside of it. */
export function withinPrefix(prefix: string, target: string): string | undefined {
  if (!target.startsWith(prefix)) return undefined;
  const rest = target.slice(prefix.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : undefined;
}

/**
 * The target below the prefix for a document that clients look for at the root of an app; undefined for any
 * other target. The metadata of a service with a path has that path at its end there (RFC 8414, RFC 9728).
 */
export function rootDocument(
  { basePath }: Pick<MountAddress, 'basePath'>,
  target: string,
): string | undefined {
  const path = target.split('?', 1)[0] as string;
  if (ROOT_DOCUMENTS.includes(path)) return target;
  const metadata = METADATA.find((each) => path.startsWith(`${each}${basePath}`));
  if (metadata === undefined) return undefined;
  const rest = path.slice(metadata.length + basePath.length);
  return rest === '' || rest.startsWith('/') ? `${metadata}${rest}` : undefined;
}

/** A framework may remove the prefix, so a path of the service below it must not begin with it again. */
export function refuseOwnPath(prefix: string, paths: readonly string[]): void {
  const own = paths.find((path) => path === prefix || path.startsWith(`${prefix}/`));
  if (own === undefined) return;
  throw new Error(`Cannot mount at "${prefix}": the service has the path "${own}" of its own`);
}

/**
 * Cookies of the pages: one name for each use and each address of a service, read and written strictly.
 *
 * A browser sends a cookie to every port of a host, and for any path that the cookie admits. So the name contains
 * a digest of the service's address: two services on one host do not read or replace each other's cookies.
 *
 * @module
 */

import { bareHost, isLoopback } from '../../address/host.ts';
import { sha256Hex, utf8 } from '../../domain/wire/hash.ts';
import type { HttpAsk } from '../exchange.ts';

export interface Cookie {
  readonly name: string;
  /** The value that a browser sent; undefined when it sent none, several, or one that was not written here. */
  read(ask: Pick<HttpAsk, 'lines'>): string | undefined;
  /** The `Set-Cookie` header. Without an age the browser drops the cookie when it closes. */
  write(value: string, ageSeconds?: number): string;
  /** The `Set-Cookie` header that removes it. */
  clear(): string;
}

/**
 * The cookie for one use, such as `session`, of the service at this address. Throws for plain http on any host but
 * loopback: the network could read the cookie.
 */
export function cookieFor(baseUrl: string, use: string): Cookie {
  const url = new URL(baseUrl);
  const isSecure = url.protocol === 'https:';
  if (!isSecure && !(url.protocol === 'http:' && isLoopback(bareHost(url)))) {
    throw new Error(`Cannot use cookies at "${baseUrl}": expected https, or http on loopback`);
  }
  const digest = sha256Hex(utf8(url.href)).slice(0, DIGEST_LENGTH);
  const name = `${isSecure ? '__Host-' : ''}writ-${use}-${digest}`;
  // A name with `__Host-` requires exactly this path.
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  const write = (value: string, ageSeconds?: number) => {
    const age = ageSeconds === undefined ? '' : `; Max-Age=${Math.floor(ageSeconds)}`;
    return `${name}=${value}; ${attributes}${age}`;
  };
  return {
    name,
    read: ({ lines }) => valueIn(lines('cookie'), name),
    write(value, ageSeconds) {
      if (!VALUE.test(value)) throw new Error(`Cannot write cookie "${name}": unusable value`);
      return write(value, ageSeconds);
    },
    clear: () => write('', 0),
  };
}

/** In hexadecimal digits: enough to tell the services of one machine apart. */
const DIGEST_LENGTH = 8;

/** In characters. Browsers keep 4,096 bytes of name and value. */
export const COOKIE_LENGTH_MAX = 3_800;

/** Base64url, hexadecimal and dots. */
const VALUE = new RegExp(`^[\\w.~-]{1,${COOKIE_LENGTH_MAX}}$`);

/**
 * A second cookie with the same name comes from another path or host: a page that controls a sibling domain
 * can plant one, and the order of the two is no proof.
 */
function valueIn(lines: readonly string[], name: string): string | undefined {
  const values = lines
    .flatMap((line) => line.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value] = values;
  return values.length === 1 && value !== undefined && VALUE.test(value) ? value : undefined;
}

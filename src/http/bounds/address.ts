/**
 * Addresses: from which network a request comes, behind trusted proxies.
 *
 * A proxy appends the address of its peer to `X-Forwarded-For`. So the list is read from the right, while
 * each address is a trusted proxy; the client wrote what is further left. The header is ignored where the
 * connection itself comes from elsewhere.
 *
 * @module
 */

import { BlockList, isIP } from 'node:net';

export interface Addresses {
  isTrusted(address: string): boolean;
  /** The client's network, from the connection and its header. */
  clientOf(remote: string | undefined, forwarded: string | string[] | undefined): string;
}

/** Hops that are read. A longer chain of trusted proxies is a loop. */
const HOPS_MAX = 16;

export function createAddresses(trustedProxies: readonly string[]): Addresses {
  const trusted = new BlockList();
  for (const each of trustedProxies) {
    const [address = '', prefix] = each.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(prefix), family);
  }
  const isTrusted = (address: string) => {
    if (trustedProxies.length === 0) return false;
    return trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  };
  return {
    isTrusted: (address) => isTrusted(plain(address)),
    clientOf(remote, forwarded) {
      let client = plain(remote ?? '');
      if (forwarded === undefined || !isTrusted(client)) return networkOf(client);
      const hops = String(forwarded).split(',').slice(-HOPS_MAX);
      while (hops.length > 0 && isTrusted(client)) {
        const before = plain(withoutPort((hops.pop() as string).trim()));
        // A trusted proxy that appends something else hides its client: the proxy itself is counted.
        if (isIP(before) === 0) break;
        client = before;
      }
      return networkOf(client);
    },
  };
}

/** What is counted together: an IPv4 address, or an IPv6 /64, the least that one customer has. */
export function networkOf(address: string): string {
  const plainAddress = plain(address);
  if (isIP(plainAddress) !== 6) return plainAddress;
  const [left = '', right] = plainAddress.split('::');
  const before = left === '' ? [] : left.split(':');
  const after = right === undefined || right === '' ? [] : right.split(':');
  const gap = right === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array<string>(gap).fill('0'), ...after].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

/** Without the zone of a link, and as IPv4 where IPv6 only wraps it. */
function plain(address: string): string {
  const bare = address.split('%', 1)[0] as string;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  return mapped ?? bare;
}

/** Some proxies add the port of the connection. */
function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(hop)?.[1];
  return bracketed ?? hop.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
}

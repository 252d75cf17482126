/**
 * Outbound requests: every request of this service to another one goes through here.
 *
 * The address is checked when the connection is made. So a name that resolves to an inside address
 * is refused, whatever it resolved to before. Redirects are not followed. Size and time are
 * bounded.
 *
 * @module
 */

import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { bareHost, isLoopback } from '../../domain/values/host.ts';
import type { Platform } from '../../platform.ts';

export interface OutboundRequest {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly timeoutMs: number;
  readonly bytesMax: number;
  /** Hosts that may have an inside address: an operator named that address or allowed the name. */
  readonly insideHosts: readonly string[];
  /** Resolves names; by default as the system does. */
  readonly resolve?: Resolve | undefined;
}

/** The part of `dns.lookup` that is used. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface OutboundAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** Rejects with a message about the fault, which never contains what the other side sent. */
export async function callOut(
  platform: Pick<Platform, 'after' | 'cancel'>,
  call: OutboundRequest,
): Promise<OutboundAnswer> {
  if (!URL.canParse(call.url)) throw new Error(`Cannot call "${shown(call.url)}": it is not a URL`);
  const url = new URL(call.url);
  const refused = refusedAddress(url, call.insideHosts);
  if (refused) throw new Error(refused);
  return exchange(platform, url, call);
}

/** Sends one request. Resolves with the whole answer, or rejects at the first fault. */
function exchange(
  { after, cancel }: Pick<Platform, 'after' | 'cancel'>,
  url: URL,
  call: OutboundRequest,
): Promise<OutboundAnswer> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((settle, reject) => {
    const fail = (why: string) => {
      cancel(timer);
      request.destroy();
      reject(new Error(`Cannot call ${url.host}: ${why}`));
    };
    const request = send(url, {
      method: call.method ?? 'GET',
      headers: { accept: 'application/json', 'user-agent': 'writ', ...call.headers },
      lookup: guardedLookup(call.insideHosts.includes(bareHost(url)), call.resolve ?? lookup),
      agent: false,
    });
    const timer = after(call.timeoutMs, () => fail(`no answer in ${call.timeoutMs} ms`));
    request.on('error', (error) => {
      cancel(timer);
      reject(new Error(`Cannot call ${url.host}: ${error.message}`, { cause: error }));
    });
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > call.bytesMax) fail(`it answered with more than ${call.bytesMax} bytes`);
        else chunks.push(chunk);
      });
      response.on('error', (error) => fail(error.message));
      response.on('end', () => {
        cancel(timer);
        settle({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) });
      });
    });
    request.end(call.body);
  });
}

/** Whether an address is on this machine, in its network or reserved. */
export function isInside(address: string): boolean {
  const family = isIP(address);
  // An IPv4-mapped IPv6 address (::ffff:0:0/96) is judged by the IPv4 ranges.
  return family === 0 || INSIDE.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

function refusedAddress(url: URL, insideHosts: readonly string[]): string | undefined {
  const host = bareHost(url);
  const allowed = insideHosts.includes(host);
  // Plain HTTP may not leave this machine: others on the path could change it.
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && allowed && isLoopback(host))) {
    return `Cannot call ${url.host || `"${shown(url.href)}"`}: expected https`;
  }
  if (isIP(host) !== 0 && isInside(host) && !allowed) {
    return `Cannot call ${url.host}: it is an inside address`;
  }
  return undefined;
}

/** Shortens text that the other side may have written, for a log line. */
function shown(text: string): string {
  return text.slice(0, SHOWN_LENGTH_MAX);
}
const SHOWN_LENGTH_MAX = 200;

/** Resolves a name, and fails with the code INSIDE_ADDRESS where that leads inside and may not. */
export function guardedLookup(allowed: boolean, resolve: Resolve): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, '', 0);
      const inside = addresses.find(({ address }) => isInside(address));
      if (inside && !allowed) {
        const refused = new Error(`"${hostname}" resolves to an inside address`);
        return done(Object.assign(refused, { code: 'INSIDE_ADDRESS' }), '', 0);
      }
      const [first] = addresses;
      if (options.all) return done(null, addresses);
      return first ? done(null, first.address, first.family) : done(new Error('no address'), '', 0);
    });
  };
}

const INSIDE = insideRanges();

function insideRanges(): BlockList {
  const list = new BlockList();
  const ranges: [address: string, prefix: number, family: 'ipv4' | 'ipv6'][] = [
    ['0.0.0.0', 8, 'ipv4'],
    ['10.0.0.0', 8, 'ipv4'],
    ['100.64.0.0', 10, 'ipv4'],
    ['127.0.0.0', 8, 'ipv4'],
    ['169.254.0.0', 16, 'ipv4'],
    ['172.16.0.0', 12, 'ipv4'],
    ['192.0.0.0', 24, 'ipv4'],
    ['192.168.0.0', 16, 'ipv4'],
    ['198.18.0.0', 15, 'ipv4'],
    ['224.0.0.0', 3, 'ipv4'],
    // The next ranges embed an IPv4 address, so they can lead to any range above.
    ['::', 96, 'ipv6'],
    ['64:ff9b::', 96, 'ipv6'],
    ['64:ff9b:1::', 48, 'ipv6'],
    ['2001::', 32, 'ipv6'],
    ['2002::', 16, 'ipv6'],
    ['fc00::', 7, 'ipv6'],
    ['fe80::', 10, 'ipv6'],
    ['fec0::', 10, 'ipv6'],
    ['ff00::', 8, 'ipv6'],
  ];
  for (const [address, prefix, family] of ranges) list.addSubnet(address, prefix, family);
  return list;
}

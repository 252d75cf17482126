/**
 * Outbound requests: every request of this service to another one goes through here.
 *
 * The address is checked when the connection is made. So a name that resolves to an inside address
 * is refused, whatever it resolved to before. Redirects are not followed. Size and time are
 * bounded. The other files of this room are for APIs behind capabilities:
 *
 * - `route.ts` makes a request from parameters. Its origin and its path cannot be changed by them.
 * - `slots.ts` bounds how many requests to one origin run at once.
 *
 * @module
 */

import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { bareHost, isLoopback } from '../../address/host.ts';
import type { Platform } from '../../platform.ts';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface OutboundRequest {
  readonly url: string;
  readonly method?: Method;
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
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A request that got no whole answer. The message never contains what the other side sent. */
export class OutboundFault extends Error {
  /** False when the connection was never ready, so that not one byte of the request was sent. */
  readonly hasLeft: boolean;
  /** The code of Node, such as `ECONNREFUSED`, or one of ours. */
  readonly code: string;
  /** Where the answer began. */
  readonly status: number | undefined;

  constructor(
    message: string,
    facts: Pick<OutboundFault, 'hasLeft' | 'code' | 'status'>,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.hasLeft = facts.hasLeft;
    this.code = facts.code;
    this.status = facts.status;
  }
}

/** How a service sends a request. Rejects with a message that never contains what the other side sent. */
export type CallOut = (call: OutboundRequest) => Promise<OutboundAnswer>;

/** The network, with the timers of the platform. */
export function callOutBy(platform: Pick<Platform, 'after' | 'cancel'>): CallOut {
  return (call) => callOut(platform, call);
}

/** Rejects with a message about the fault, which never contains what the other side sent. */
export async function callOut(
  { after, cancel }: Pick<Platform, 'after' | 'cancel'>,
  call: OutboundRequest,
): Promise<OutboundAnswer> {
  if (!URL.canParse(call.url))
    throw new Error(`Cannot call "${shortened(call.url)}": it is not a URL`);
  const url = new URL(call.url);
  const refused = refusedAddress(url, call.insideHosts);
  if (refused) throw new Error(refused);
  const late = new AbortController();
  const timer = after(call.timeoutMs, () => late.abort(`no answer in ${call.timeoutMs} ms`));
  const isNamedInside = call.insideHosts.includes(bareHost(url));
  return exchange(url, { ...call, isNamedInside, signal: late.signal }).finally(() =>
    cancel(timer),
  );
}

/** A request to an address that `refusedAddress` or `refusedOrigin` allows. */
export interface Exchange
  extends Pick<OutboundRequest, 'method' | 'headers' | 'body' | 'bytesMax' | 'resolve'> {
  readonly isNamedInside: boolean;
  /** Ends the request. A reason that is a text becomes the message. */
  readonly signal: AbortSignal;
}

/** Sends one request. Resolves with the whole answer, or rejects with `OutboundFault` at the first fault. */
export function exchange(url: URL, call: Exchange): Promise<OutboundAnswer> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((settle, reject) => {
    let hasLeft = false;
    let status: number | undefined;
    const end = (why: string, code: string, cause?: Error) => {
      call.signal.removeEventListener('abort', abort);
      request.destroy();
      const facts = { hasLeft, code, status };
      reject(new OutboundFault(`Cannot call ${url.host}: ${why}`, facts, cause && { cause }));
    };
    const abort = () => {
      const { reason } = call.signal;
      end(typeof reason === 'string' ? reason : 'no answer before the deadline', LATE_ANSWER);
    };
    const request = send(url, {
      method: call.method ?? 'GET',
      headers: { accept: 'application/json', 'user-agent': 'writ', ...call.headers },
      lookup: guardedLookup(call.isNamedInside, call.resolve ?? lookup, url.protocol === 'http:'),
      agent: false,
    });
    request.on('socket', (socket) => {
      // Node writes nothing before this event, and it does not come when the certificate is refused.
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        hasLeft = true;
      });
    });
    const failed = (error: NodeJS.ErrnoException) => end(error.message, error.code ?? '', error);
    request.on('error', failed);
    // A server that switches to another protocol gives neither an answer nor an error.
    request.on('close', () => {
      if (status === undefined) end('the connection ended without an answer', '');
    });
    request.on('response', (response) => {
      status = response.statusCode;
      const body = growingBuffer(call.bytesMax);
      response.on('data', (chunk: Buffer) => {
        if (!body.add(chunk)) end(`it answered with more than ${call.bytesMax} bytes`, LONG_ANSWER);
      });
      response.on('error', failed);
      response.on('end', () => {
        call.signal.removeEventListener('abort', abort);
        settle({ status: status ?? 0, headers: response.headers, body: body.whole() });
      });
    });
    if (call.signal.aborted) return abort();
    call.signal.addEventListener('abort', abort);
    request.end(call.body);
  });
}

export const LATE_ANSWER = 'LATE_ANSWER';
export const LONG_ANSWER = 'LONG_ANSWER';

/** One buffer instead of a list of chunks: an answer in pieces of one byte would need a hundred times its size. */
function growingBuffer(bytesMax: number) {
  let buffer = Buffer.alloc(0);
  let size = 0;
  return {
    /** False, and nothing is added, when the chunk does not fit. */
    add(chunk: Buffer): boolean {
      if (size + chunk.length > bytesMax) return false;
      if (size + chunk.length > buffer.length) {
        const grown = Buffer.alloc(Math.min(bytesMax, 2 * (size + chunk.length)));
        buffer.copy(grown, 0, 0, size);
        buffer = grown;
      }
      size += chunk.copy(buffer, size);
      return true;
    },
    whole: () => buffer.subarray(0, size),
  };
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
  const isPlainHere = url.protocol === 'http:' && allowed && isLoopback(host);
  return refusedProtocol(url, isPlainHere) ?? refusedInside(url, allowed);
}

/**
 * Why an API may not be called. Plain HTTP is for an inside address that its operator named; where it has a
 * name, `exchange` refuses an address that is not inside.
 */
export function refusedOrigin(url: URL, isNamedInside: boolean): string | undefined {
  const host = bareHost(url);
  const mayBeInside = isIP(host) === 0 || isInside(host);
  const isPlainInside = url.protocol === 'http:' && isNamedInside && mayBeInside;
  return refusedProtocol(url, isPlainInside) ?? refusedInside(url, isNamedInside);
}

function refusedProtocol(url: URL, mayBePlain: boolean): string | undefined {
  if (url.protocol === 'https:' || mayBePlain) return undefined;
  return `Cannot call ${url.host || `"${shortened(url.href)}"`}: expected https`;
}

function refusedInside(url: URL, isNamed: boolean): string | undefined {
  const host = bareHost(url);
  if (isNamed || isIP(host) === 0 || !isInside(host)) return undefined;
  return `Cannot call ${url.host}: it is an inside address`;
}

/** Shortens text that the other side may have written, for a log line. */
function shortened(text: string): string {
  return text.slice(0, SHOWN_LENGTH_MAX);
}
const SHOWN_LENGTH_MAX = 200;

/** Resolves a name and refuses its addresses: inside ones unless allowed, and outside ones for plain HTTP. */
export function guardedLookup(allowed: boolean, resolve: Resolve, isPlain = false): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const refused = error ?? misled(hostname, addresses, { allowed, isPlain });
      if (refused) return done(refused, '', 0);
      const [first] = addresses;
      if (options.all) return done(null, addresses);
      return first ? done(null, first.address, first.family) : done(new Error('no address'), '', 0);
    });
  };
}

/** Why a name may not be called at its addresses: one of them is enough. */
function misled(
  hostname: string,
  addresses: readonly LookupAddress[],
  { allowed, isPlain }: { allowed: boolean; isPlain: boolean },
): Error | undefined {
  const inside = addresses.filter(({ address }) => isInside(address)).length;
  const isRefusedInside = inside > 0 && !allowed;
  if (!isRefusedInside && !(isPlain && inside < addresses.length)) return undefined;
  const where = isRefusedInside ? 'an inside address' : 'an address outside, which needs https';
  return Object.assign(new Error(`"${hostname}" resolves to ${where}`), { code: REFUSED_ADDRESS });
}

export const REFUSED_ADDRESS = 'REFUSED_ADDRESS';

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

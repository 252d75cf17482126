/**
 * A client that sends exact bytes and reads answers strictly, over one connection that it keeps.
 *
 * Its reader is written from RFC 9112 and shares nothing with the server: an answer whose end is not where
 * its headers say is a fault.
 *
 * @module
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface Sent {
  readonly method: string;
  readonly target: string;
  readonly version?: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Buffer | undefined;
}

export interface Answered {
  readonly status: number;
  /** By their names in lower case, each as often as it came. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly body: Buffer;
  readonly isLast: boolean;
}

/** What a connection gave instead of an answer. */
export interface Unanswered {
  readonly fault: string;
}

export interface WireClient {
  /** Sends a request and resolves with its answer. A new connection is opened where the last one is over. */
  ask(sent: Sent, patienceMs?: number): Promise<Answered | Unanswered>;
  close(): void;
}

/** A length that the bytes do not have is written by the caller. */
function bytesOf(sent: Sent): Buffer {
  const { method, target, version = '1.1', headers, body } = sent;
  const has = (name: string) => headers.some(([each]) => each.toLowerCase() === name);
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  if (!has('host')) lines.push('Host: 127.0.0.1');
  if (body && !has('content-length') && !has('transfer-encoding')) {
    lines.push(`Content-Length: ${body.length}`);
  }
  const head = `${method} ${target} HTTP/${version}\r\n${lines.join('\r\n')}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)]);
}

export function createWireClient(port: number): WireClient {
  let socket: Socket | undefined;
  let received: Buffer = Buffer.alloc(0);

  async function opened(): Promise<Socket> {
    if (socket && !socket.destroyed && !socket.readableEnded) return socket;
    const made = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(made, 'connect');
    made.on('error', () => undefined);
    made.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    });
    received = Buffer.alloc(0);
    socket = made;
    return made;
  }

  /** The answer in what was received; undefined while more has to come. */
  function taken(sent: Sent, isEnded: boolean): Answered | Unanswered | undefined {
    const read = readAnswer(received, { isHead: sent.method === 'HEAD', isEnded });
    if (!read || 'fault' in read) {
      const isCut = isEnded && !read;
      return isCut ? { fault: 'the connection ended without a whole answer' } : read;
    }
    received = received.subarray(read.length);
    // An answer that no request asked for would be taken for that of the next request.
    // What cannot be parsed has no method: its refusal has a body, also where it was a HEAD.
    const isRefusal = sent.method === 'HEAD' && read.answer.isLast;
    return received.length > 0 && !isRefusal ? { fault: 'bytes follow the answer' } : read.answer;
  }

  async function answer(on: Socket, sent: Sent, until: number): Promise<Answered | Unanswered> {
    for (;;) {
      const found = taken(sent, on.destroyed || on.readableEnded);
      if (found) return found;
      if (Date.now() > until) return { fault: LATE };
      await nextOf(on);
    }
  }

  return {
    async ask(sent, patienceMs = 20_000) {
      const on = await opened();
      on.write(bytesOf(sent));
      const answered = await answer(on, sent, Date.now() + patienceMs);
      // Node loses what follows a request for another protocol, which it answers like any other.
      const isOdd =
        sent.version !== undefined || sent.headers.some(([name]) => /^upgrade$/i.test(name));
      const isOver = 'fault' in answered || answered.isLast || isOdd;
      if (isOver) {
        on.destroy();
        socket = undefined;
      }
      return answered;
    },
    close: () => void socket?.destroy(),
  };
}

export const LATE = 'no answer in time';

/** In milliseconds: a client that waits too long looks at the clock this often. */
const LOOK_MS = 250;

function nextOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      socket.off('data', done);
      socket.off('close', done);
      socket.off('end', done);
      resolve();
    };
    const timer = setTimeout(done, LOOK_MS);
    socket.on('data', done);
    socket.on('close', done);
    socket.on('end', done);
  });
}

interface Reading {
  readonly answer: Answered;
  /** How many bytes it has. */
  readonly length: number;
}

/** The first answer in the bytes. Undefined while it is not there whole. */
export function readAnswer(
  bytes: Buffer,
  { isHead, isEnded }: { readonly isHead: boolean; readonly isEnded: boolean },
): Reading | Unanswered | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(first)?.[1]);
  if (Number.isNaN(status)) return { fault: `no status line: ${JSON.stringify(first)}` };
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const [, name, value = ''] = /^([\w-]+): ?([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    if (name === undefined) return { fault: `no header line: ${JSON.stringify(line)}` };
    headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), value]);
  }
  const begin = end + 4;
  if (status < 200) return skipped(bytes.subarray(begin), begin, { isHead, isEnded });
  const body = bodyOf(bytes.subarray(begin), headers, {
    hasNone: isHead || status === 204 || status === 304,
    isEnded,
  });
  if (!body || 'fault' in body) return body;
  const isLast = headers.get('connection')?.includes('close') ?? false;
  return { answer: { status, headers, body: body.bytes, isLast }, length: begin + body.length };
}

/** An interim answer is not the answer. */
function skipped(
  rest: Buffer,
  begin: number,
  ends: { readonly isHead: boolean; readonly isEnded: boolean },
): Reading | Unanswered | undefined {
  const next = readAnswer(rest, ends);
  if (!next || 'fault' in next) return next;
  return { answer: next.answer, length: begin + next.length };
}

function bodyOf(
  bytes: Buffer,
  headers: ReadonlyMap<string, readonly string[]>,
  { hasNone, isEnded }: { readonly hasNone: boolean; readonly isEnded: boolean },
): { readonly bytes: Buffer; readonly length: number } | Unanswered | undefined {
  const lengths = headers.get('content-length') ?? [];
  const codings = headers.get('transfer-encoding') ?? [];
  if (lengths.length > 1 || codings.length > 1 || (lengths.length > 0 && codings.length > 0)) {
    return { fault: 'the answer says twice where it ends' };
  }
  if (hasNone) return { bytes: Buffer.alloc(0), length: 0 };
  if (codings.length === 1) return unchunked(bytes);
  if (lengths.length === 0) return isEnded ? { bytes, length: bytes.length } : undefined;
  const length = Number(lengths[0]);
  return bytes.length < length ? undefined : { bytes: bytes.subarray(0, length), length };
}

function unchunked(
  bytes: Buffer,
): { readonly bytes: Buffer; readonly length: number } | Unanswered | undefined {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const line = bytes.toString('latin1', at, end);
    if (!/^[0-9a-f]+$/i.test(line)) return { fault: `no chunk: ${JSON.stringify(line)}` };
    const size = Number.parseInt(line, 16);
    const begin = end + 2;
    if (bytes.length < begin + size + 2) return undefined;
    if (bytes.toString('latin1', begin + size, begin + size + 2) !== '\r\n') {
      return { fault: 'a chunk does not end where it says' };
    }
    pieces.push(bytes.subarray(begin, begin + size));
    at = begin + size + 2;
    if (size === 0) return { bytes: Buffer.concat(pieces), length: at };
  }
}

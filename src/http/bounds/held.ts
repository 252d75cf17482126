/**
 * What one connection holds: waiting requests, unread answers, unfinished bodies.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Platform } from '../../platform.ts';
import type { Bodies } from './bodies.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface Pending {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly handler: Handler;
}

export interface Connection {
  readonly platform: Platform;
  readonly socket: Socket;
  readonly network: string | undefined;
  readonly begun: number;
  /** Answers that are not yet written, in the order of their requests. */
  readonly owed: Set<ServerResponse>;
  /** Requests that wait to begin. The socket is paused while there is one. */
  readonly waiting: Pending[];
  isSliced: boolean;
  requests: number;
  /** Its lifetime is over: the next answer closes it. */
  isOld: boolean;
  /** Later data is not read as a request. Earlier requests are answered. */
  isBroken: boolean;
  /** When the service last resumed reading, after it made the client wait. */
  resumedAt: number;
  /** Requests after those taken are not processed. */
  isLast: boolean;
  /** The last request. */
  arriving?: IncomingMessage;
  /** Bytes that the client had read at its last progress, and when that was; while some are left. */
  taken: number;
  takenAt: number | undefined;
}

/** An old connection closes with its next answer; without one it is cut later. */
export function isOverdue(
  { begun, socket, owed }: Connection,
  now: number,
  lifetimeMs: number,
): boolean {
  if (now - begun < 2 * lifetimeMs) return false;
  // An answer that is still being made has its own bound.
  return owed.size === 0 || socket.writableLength > 0;
}

/** Bytes of unread answers: at the socket, or behind an earlier answer. */
export function unreadOn({ socket, owed }: Connection): number {
  let bytes = socket.writableLength;
  for (const response of owed) {
    if (response.socket === null) bytes += response.writableLength;
  }
  return bytes;
}

/** Bytes of requests: parts of a body that are kept or not yet taken, and data that is not parsed. */
export function unfinishedOn(
  { arriving, waiting, socket }: Connection,
  { bytesOf }: Pick<Bodies, 'bytesOf'>,
): number {
  let bytes = socket.readableLength;
  if (arriving) bytes += bytesOf(arriving) + arriving.readableLength;
  for (const { request } of waiting) if (request !== arriving) bytes += request.readableLength;
  return bytes;
}

/** Whether a client has read nothing for this long, while data waits at the socket. */
export function isStalled(connection: Connection, now: number, stallMs: number): boolean {
  const { socket } = connection;
  if (socket.writableLength === 0) {
    connection.takenAt = undefined;
    return false;
  }
  const taken = takenFrom(socket);
  if (connection.takenAt === undefined || taken !== connection.taken) {
    connection.takenAt = now;
    connection.taken = taken;
  }
  return now - connection.takenAt >= stallMs;
}

/**
 * Bytes that the kernel took. Only the handle knows the progress of a long write: without it a slow reader of
 * a large answer would look like a client that does not read.
 */
function takenFrom(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: Partial<Handle> | null };
  const { bytesWritten, writeQueueSize } = handle ?? {};
  return bytesWritten === undefined || writeQueueSize === undefined
    ? socket.bytesWritten - socket.writableLength
    : bytesWritten - writeQueueSize;
}

interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

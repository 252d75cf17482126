/**
 * Connections: bounds what one client can make the service hold, and for how long. No other file does.
 *
 * A request beyond the bound waits here, without being worked on, and the socket is paused. Clients that
 * are not known to send one request at a time are read in slices (segment.ts), so that few requests
 * wait; what waits on all connections together is bounded too. What a client does not read is bounded
 * in bytes and in time.
 *
 * @module
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Platform } from '../../platform.ts';
import {
  type Connection,
  type Handler,
  isOverdue,
  isStalled,
  type Pending,
  unfinishedOn,
  unreadOn,
} from './held.ts';
import * as limits from './limits.ts';
import { readInSlices } from './segment.ts';

export interface ConnectionBounds {
  /** Requests of one connection whose answers are not written out yet. */
  readonly inFlightMax: number;
  /** Bytes of answers that one client has not taken. */
  readonly unreadBytesMax: number;
  /** Requests that were parsed and wait, on all connections together. */
  readonly waitingMax: number;
  /** Bytes of unread answers, unfinished requests and unparsed segments, on all connections together. */
  readonly heldBytesMax: number;
  /** How long a client may take nothing of what was written. */
  readonly stallMs: number;
  readonly lifetimeMs: number;
  /** Requests that one connection carries. */
  readonly requestsMax: number;
  /** Connections in all. */
  readonly connectionsMax: number;
  /** Connections from one network. */
  readonly perAddressMax: number;
  /** How often clients are looked at. */
  readonly sweepMs: number;
}

export const CONNECTION_BOUNDS: ConnectionBounds = {
  inFlightMax: limits.IN_FLIGHT_MAX,
  unreadBytesMax: limits.UNREAD_BYTES_MAX,
  waitingMax: limits.WAITING_MAX,
  heldBytesMax: limits.HELD_BYTES_MAX,
  stallMs: limits.STALL_MS,
  lifetimeMs: limits.LIFETIME_MS,
  requestsMax: limits.REQUESTS_PER_SOCKET_MAX,
  connectionsMax: 10_000,
  perAddressMax: 1_000,
  sweepMs: limits.TIMEOUT_CHECK_MS,
};

/** Why a connection was ended, as it is counted. */
type EndReason = 'address' | 'pipeline' | 'stalled' | 'lifetime' | 'memory';

export interface ConnectionOptions {
  readonly platform: Platform;
  readonly bounds: ConnectionBounds;
  /** The network whose connections are counted together; nothing for one that is not counted. */
  networkOf(socket: Socket): string | undefined;
  onEnded(reason: EndReason): void;
}

export interface Connections {
  /** Has `handler` work on a request now, or when there is room for it. */
  take(request: IncomingMessage, response: ServerResponse, handler: Handler): void;
  close(): void;
}

const connections = new WeakMap<Socket, Connection>();

/** Whether the service still works on a request of this connection, or writes its answer. */
export function isOwed(socket: Socket): boolean {
  return (connections.get(socket)?.owed.size ?? 0) > 0;
}

/** The last answer that a connection will get: to a request that came whole, or one that is made already. */
function lastAnswer(socket: Socket): ServerResponse | undefined {
  const { owed = [], waiting = [] } = connections.get(socket) ?? {};
  return [...owed, ...waiting.map(({ response }) => response)].findLast(
    ({ req, writableEnded }) => req.complete || writableEnded,
  );
}

/**
 * Reads nothing more as a request: it would run, and its answer would be cut. The connection closes after
 * the answers to requests that came whole. True where none is owed, so that the caller answers the fault.
 */
export function breakOff(socket: Socket): boolean {
  const connection = connections.get(socket);
  if (connection?.isBroken) return false;
  if (connection) connection.isBroken = true;
  const last = lastAnswer(socket);
  last?.once('close', () => socket.destroySoon());
  return !last;
}

/** Whether a request may be incomplete because the service paused reading it. */
export function isKeptWaiting(socket: Socket): boolean {
  const connection = connections.get(socket);
  if (!connection) return socket.isPaused();
  const { waiting, resumedAt, platform } = connection;
  const isHeld = waiting.length > 0 || socket.isPaused();
  return isHeld || platform.monotonic() - resumedAt < limits.HEADERS_TIMEOUT_MS;
}

/** Ignores every request that comes on this connection from now on. */
export function takeNoMore(socket: Socket): void {
  const connection = connections.get(socket);
  if (connection) connection.isLast = true;
}

/** What all connections of a server share. */
interface Watch extends ConnectionOptions {
  readonly open: Set<Connection>;
  readonly perNetwork: Map<string, number>;
  /** Requests that wait, on all of them. */
  waiting: number;
  /** Connections that could go on with what waits, in a later turn of the event loop. */
  readonly ready: Set<Connection>;
  /** Requests behind others of their connection that may still begin in this turn. */
  turnLeft: number;
  /** What was seen of each network, in the order of time. */
  readonly manners: Map<string, Manners>;
}

interface Manners {
  /** Its requests came one after the other: its new connections are left to Node. */
  readonly isOrderly: boolean;
  readonly seen: number;
}

/** Watches over the connections of a server from now on. */
export function boundConnections(server: Server, options: ConnectionOptions): Connections {
  const { bounds, platform } = options;
  const watch: Watch = {
    ...options,
    open: new Set(),
    perNetwork: new Map(),
    waiting: 0,
    ready: new Set(),
    turnLeft: limits.PIPELINED_PER_TURN,
    manners: new Map(),
  };
  server.maxConnections = bounds.connectionsMax;
  server.on('connection', (socket: Socket) => accept(watch, socket));
  const sweeping = platform.every(bounds.sweepMs, () => sweep(watch, platform.monotonic()));
  sweeping.unref();
  return {
    take(request, response, handler) {
      const connection = connections.get(request.socket) as Connection;
      take(watch, connection, { request, response, handler });
    },
    close: () => platform.cancel(sweeping),
  };
}

function accept(watch: Watch, socket: Socket): void {
  const { bounds, open, perNetwork } = watch;
  const network = watch.networkOf(socket);
  const connection = begin(watch, socket, network);
  const others = network === undefined ? 0 : (perNetwork.get(network) ?? 0);
  if (network !== undefined) perNetwork.set(network, others + 1);
  open.add(connection);
  // The parser itself resumes a socket it has paused, and so does a body that is read.
  socket.on('resume', () => {
    if (connection.waiting.length > 0) socket.pause();
  });
  socket.once('close', () => {
    open.delete(connection);
    watch.ready.delete(connection);
    watch.waiting -= connection.waiting.length;
    connection.waiting.length = 0;
    if (network === undefined) return;
    const left = (perNetwork.get(network) ?? 1) - 1;
    if (left > 0) perNetwork.set(network, left);
    else perNetwork.delete(network);
  });
  if (network !== undefined && !watch.manners.get(network)?.isOrderly) slice(watch, connection);
  if (others >= bounds.perAddressMax) end(watch, connection, 'address');
}

/** Remembers how the requests of a network come; those that send many at once are read in slices. */
function remember(watch: Watch, connection: Connection, isOrderly: boolean): void {
  const { open, manners } = watch;
  const { network } = connection;
  if (!isOrderly) slice(watch, connection);
  if (network === undefined) return;
  const before = manners.get(network);
  if (isOrderly && before) return;
  manners.delete(network);
  manners.set(network, { isOrderly, seen: watch.platform.monotonic() });
  if (before?.isOrderly) {
    for (const other of open) if (other.network === network) slice(watch, other);
  }
  const [oldest] = manners.keys();
  if (oldest !== undefined && manners.size > limits.NETWORKS_MAX) manners.delete(oldest);
}

function slice({ manners }: Watch, connection: Connection): void {
  if (connection.isSliced) return;
  connection.isSliced = true;
  readInSlices(connection.socket, () => {
    if (connection.isBroken) return 'drop';
    if (connection.waiting.length > 0) return 'wait';
    const isOrderly = manners.get(connection.network ?? '')?.isOrderly;
    return isOrderly ? limits.ORDERLY_SLICE_BYTES : limits.SLICE_BYTES;
  });
}

function take(watch: Watch, connection: Connection, pending: Pending): void {
  // The rest of the segment with which the connection was ended or broken off.
  if (connection.socket.destroyed || connection.isBroken) return;
  connection.arriving = pending.request;
  const isFirst = connection.waiting.length === 0;
  if (isFirst && hasRoom(watch, connection) && (connection.owed.size === 0 || spendTurn(watch))) {
    start(watch, connection, pending);
    return;
  }
  connection.waiting.push(pending);
  watch.waiting += 1;
  if (isFirst) remember(watch, connection, false);
  if (watch.waiting > watch.bounds.waitingMax) {
    end(watch, connection, 'pipeline');
    return;
  }
  connection.socket.pause();
  if (isFirst && hasRoom(watch, connection)) watch.ready.add(connection);
}

/**
 * Takes the right to begin a request that stands behind others. All of them together share a bound in
 * one turn of the event loop: a request that comes alone on its connection never waits for them.
 */
function spendTurn(watch: Watch): boolean {
  if (watch.turnLeft === 0) return false;
  if (watch.turnLeft === limits.PIPELINED_PER_TURN) watch.platform.turn(() => nextTurn(watch));
  watch.turnLeft -= 1;
  return true;
}

function nextTurn(watch: Watch): void {
  watch.turnLeft = limits.PIPELINED_PER_TURN;
  const ready = [...watch.ready];
  watch.ready.clear();
  for (const connection of ready) advance(watch, connection);
}

function hasRoom({ bounds }: Watch, connection: Connection): boolean {
  const { owed, isLast } = connection;
  if (isLast || owed.size >= bounds.inFlightMax) return false;
  return owed.size === 0 || unreadOn(connection) < bounds.unreadBytesMax;
}

function start(watch: Watch, connection: Connection, { request, response, handler }: Pending) {
  connection.requests += 1;
  if (connection.requests === limits.ORDERLY_REQUESTS) remember(watch, connection, true);
  connection.owed.add(response);
  // It was written out, or the client has left.
  response.on('close', () => {
    connection.owed.delete(response);
    if (connection.waiting.length > 0) advance(watch, connection);
  });
  if (connection.isOld || connection.requests >= watch.bounds.requestsMax) {
    connection.isLast = true;
    response.shouldKeepAlive = false;
  }
  handler(request, response);
}

/** Works on what waits, as far as there is room again. */
function advance(watch: Watch, connection: Connection): void {
  const { waiting, socket } = connection;
  while (waiting.length > 0 && !socket.destroyed && hasRoom(watch, connection)) {
    if (!spendTurn(watch)) {
      watch.ready.add(connection);
      return;
    }
    watch.waiting -= 1;
    start(watch, connection, waiting.shift() as Pending);
  }
  if (waiting.length > 0) return;
  connection.resumedAt = watch.platform.monotonic();
  socket.resume();
}

function end({ onEnded }: Watch, { socket }: Connection, reason: EndReason): void {
  if (socket.destroyed) return;
  onEnded(reason);
  socket.destroy();
}

/** Ends the connections that hold something for too long, and those that hold most where all hold too much. */
function sweep(watch: Watch, now: number): void {
  const { bounds, open } = watch;
  const held = new Map<Connection, number>();
  let sum = 0;
  for (const connection of open) {
    connection.isOld = now - connection.begun >= bounds.lifetimeMs;
    if (isStalled(connection, now, bounds.stallMs)) end(watch, connection, 'stalled');
    else if (isOverdue(connection, now, bounds.lifetimeMs)) end(watch, connection, 'lifetime');
    else {
      const { readableLength } = connection.socket;
      const bytes = unreadOn(connection) + unfinishedOn(connection) + readableLength;
      held.set(connection, bytes);
      sum += bytes;
    }
  }
  for (const [network, { seen }] of watch.manners) {
    if (now - seen < limits.MANNERS_MS) break;
    watch.manners.delete(network);
  }
  if (sum <= bounds.heldBytesMax) return;
  for (const [connection, bytes] of [...held].sort(([, one], [, other]) => other - one)) {
    if (sum <= bounds.heldBytesMax) return;
    end(watch, connection, 'memory');
    sum -= bytes;
  }
}

function begin({ platform }: Watch, socket: Socket, network: string | undefined): Connection {
  const connection: Connection = {
    socket,
    network,
    platform,
    begun: platform.monotonic(),
    owed: new Set(),
    waiting: [],
    isSliced: false,
    isBroken: false,
    resumedAt: Number.NEGATIVE_INFINITY,
    requests: 0,
    isOld: false,
    isLast: false,
    seenAtByte: 0,
    taken: 0,
    takenAt: undefined,
  };
  connections.set(socket, connection);
  socket.once('close', () => closeOwed(connection));
  return connection;
}

/**
 * When a connection closes, Node closes the one response that it is writing. Those that wait behind it
 * would never hear of it, nor whatever listens to them, so they are closed here.
 */
function closeOwed({ owed, platform }: Connection): void {
  // After Node has closed its own.
  platform.turn(() => {
    for (const response of owed) {
      response.destroy();
      response.emit('close');
    }
  });
}

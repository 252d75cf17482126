/**
 * Connections: bounds what one client can make the service hold, and for how long. No other file does.
 *
 * A request beyond the bound waits here, unprocessed, and its socket is paused. Clients that are not known to
 * send one request at a time are read in slices (segment.ts), so that few requests wait; the total over all
 * connections is bounded too. Unread answers are bounded in bytes and in time.
 *
 * @module
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Platform } from '../../platform.ts';
import { type Bodies, type BodyBounds, createBodies, RELIEVED } from './bodies.ts';
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

export interface ConnectionBounds extends BodyBounds {
  /** Requests of one connection whose answers are not yet written. */
  readonly inFlightMax: number;
  /** Bytes of answers that one client has not read. */
  readonly unreadBytesMax: number;
  /** Requests that were parsed and wait, on all connections together. */
  readonly waitingMax: number;
  /** How long a client may read nothing of what was written. */
  readonly stallMs: number;
  readonly lifetimeMs: number;
  /** Requests on one connection. */
  readonly requestsMax: number;
  /** Connections in all. */
  readonly connectionsMax: number;
  /** Connections from one network. */
  readonly perAddressMax: number;
  /** How often connections are checked. */
  readonly sweepMs: number;
}

export const CONNECTION_BOUNDS: ConnectionBounds = {
  inFlightMax: limits.IN_FLIGHT_MAX,
  unreadBytesMax: limits.UNREAD_BYTES_MAX,
  waitingMax: limits.WAITING_MAX,
  heldBytesMax: limits.HELD_BYTES_MAX,
  strangerBytesMax: limits.STRANGER_BYTES_MAX,
  stallMs: limits.STALL_MS,
  lifetimeMs: limits.LIFETIME_MS,
  requestsMax: limits.REQUESTS_PER_SOCKET_MAX,
  connectionsMax: 10_000,
  perAddressMax: 1_000,
  sweepMs: limits.TIMEOUT_CHECK_MS,
};

/** Why a connection was ended; a label of a metric. */
type EndReason = 'address' | 'pipeline' | 'stalled' | 'lifetime' | 'memory';

export interface ConnectionOptions {
  readonly platform: Platform;
  readonly bounds: ConnectionBounds;
  /** The network whose connections are counted together; undefined for one that is not counted. */
  networkOf(socket: Socket): string | undefined;
  onEnded(reason: EndReason): void;
}

export interface Connections {
  /** The bodies on all connections. */
  readonly bodies: Bodies;
  /** Runs `handler` for a request now, or when there is room for it. */
  take(request: IncomingMessage, response: ServerResponse, handler: Handler): void;
  close(): void;
}

const connections = new WeakMap<Socket, Connection>();

/** Whether the service still processes a request of this connection, or writes its answer. */
export function isOwed(socket: Socket): boolean {
  return (connections.get(socket)?.owed.size ?? 0) > 0;
}

/** The last answer that a connection will get: to a complete request, or one that is already made. */
function lastAnswer(socket: Socket): ServerResponse | undefined {
  const { owed = [], waiting = [] } = connections.get(socket) ?? {};
  return [...owed, ...waiting.map(({ response }) => response)].findLast(
    ({ req, writableEnded }) => req.complete || writableEnded,
  );
}

/**
 * Stops reading requests: a further one would run, and its answer would be cut. The connection closes after
 * the answers to complete requests. True when no answer is due, so that the caller answers the fault.
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

/** Ignores every later request on this connection. */
export function takeNoMore(socket: Socket): void {
  const connection = connections.get(socket);
  if (connection) connection.isLast = true;
}

/** What all connections of a server share. */
interface Watch extends ConnectionOptions {
  readonly bodies: Bodies;
  /** Bytes of all connections beside bodies, when they were last counted. */
  besideBodies: number;
  readonly open: Set<Connection>;
  readonly perNetwork: Map<string, number>;
  /** Waiting requests, on all connections. */
  waiting: number;
  /** Connections that can continue with waiting requests, in a later turn of the event loop. */
  readonly ready: Set<Connection>;
  /** Pipelined requests that may still begin in this turn. */
  turnLeft: number;
  /** How each network behaved, in the order of time. */
  readonly manners: Map<string, Manners>;
}

interface Manners {
  /** Its requests came one after the other: Node reads its new connections itself. */
  readonly isOrderly: boolean;
  readonly seen: number;
}

/** Watches the connections of a server from now on. */
export function boundConnections(server: Server, options: ConnectionOptions): Connections {
  const { bounds, platform } = options;
  const watch: Watch = {
    ...options,
    bodies: createBodies(bounds, {
      beside: () => watch.besideBodies,
      // Ended are the connections that hold most of anything.
      relieve: () => sweep(watch, platform.monotonic()),
      onEnded: () => options.onEnded('memory'),
    }),
    besideBodies: 0,
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
    bodies: watch.bodies,
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
  // The parser itself resumes a socket it has paused, and so does reading a body.
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

/** Remembers how the requests of a network come; a network that sends many at once is read in slices. */
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
    return isOrderly || isInLongBody(connection) ? limits.ORDERLY_SLICE_BYTES : limits.SLICE_BYTES;
  });
}

/** Whether what follows is the body of one request, and not many small requests. */
function isInLongBody({ arriving }: Connection): boolean {
  if (!arriving || arriving.complete) return false;
  return Number(arriving.headers['content-length'] ?? 0) >= limits.ORDERLY_SLICE_BYTES;
}

function take(watch: Watch, connection: Connection, pending: Pending): void {
  // The rest of the segment after which the connection was ended or broken off.
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
 * Takes the right to begin a pipelined request. All connections share one bound in a turn of the event loop;
 * a request that is alone on its connection never waits.
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
  // The answer was written, or the client has left.
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

/** Runs waiting requests, as far as there is room. */
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

function end({ onEnded, bodies }: Watch, connection: Connection, reason: EndReason): void {
  const { socket, arriving } = connection;
  if (socket.destroyed) return;
  onEnded(reason);
  socket.destroy();
  if (arriving) bodies.forget(arriving);
}

/**
 * Ends connections that hold something for too long, and the largest ones when all together hold too much.
 */
function sweep(watch: Watch, now: number): void {
  const { bounds, open, bodies } = watch;
  const held = new Map<Connection, number>();
  let sum = 0;
  for (const connection of open) {
    if (connection.socket.destroyed) continue;
    connection.isOld = now - connection.begun >= bounds.lifetimeMs;
    if (isStalled(connection, now, bounds.stallMs)) end(watch, connection, 'stalled');
    else if (isOverdue(connection, now, bounds.lifetimeMs)) end(watch, connection, 'lifetime');
    else {
      const bytes = unreadOn(connection) + unfinishedOn(connection, bodies);
      held.set(connection, bytes);
      sum += bytes;
    }
  }
  for (const [network, { seen }] of watch.manners) {
    if (now - seen < limits.MANNERS_MS) break;
    watch.manners.delete(network);
  }
  const enough = sum <= bounds.heldBytesMax ? sum : bounds.heldBytesMax * RELIEVED;
  for (const [connection, bytes] of [...held].sort(([, one], [, other]) => other - one)) {
    if (sum <= enough) break;
    end(watch, connection, 'memory');
    sum -= bytes;
  }
  watch.besideBodies = sum - bodies.bytes();
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
    taken: 0,
    takenAt: undefined,
  };
  connections.set(socket, connection);
  socket.once('close', () => closeOwed(connection));
  return connection;
}

/**
 * When a connection closes, Node closes only the response that it is writing. This closes those that wait
 * behind it, so that their listeners run too.
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

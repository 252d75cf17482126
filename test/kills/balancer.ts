/**
 * A balancer in few lines: passes connections to replicas that say that they are ready.
 *
 * It asks each replica again and again whether it is ready, gives a new connection to the next one that is, and to
 * another one where the connection is refused, since nothing was sent by then. A replica can be taken out: it gets no
 * new connection, and the replica itself ends those it has when it stops.
 *
 * @module
 */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** In milliseconds. */
const LOOK_MS = 50;
const LOOK_MS_MAX = 2_000;

export interface Balancer {
  readonly url: string;
  /** Adds a replica, and resolves when it is ready and gets connections. */
  add(replica: string): Promise<void>;
  /** Gives it no further connection. Resolves when it has a request on each that was made. */
  takeOut(replica: string): Promise<void>;
  /** Removes a replica that ended. */
  forget(replica: string): void;
  close(): Promise<void>;
}

interface Replica {
  readonly host: string;
  readonly port: number;
  isReady: boolean;
  isOut: boolean;
  /** Connections that are being made, or on which no request has come yet. */
  silent: number;
}

export async function openBalancer(): Promise<Balancer> {
  const replicas = new Map<string, Replica>();
  const sockets = new Set<Socket>();
  let turn = 0;
  const next = (tried: ReadonlySet<Replica>): Replica | undefined => {
    const able = [...replicas.values()].filter(
      (each) => each.isReady && !each.isOut && !tried.has(each),
    );
    turn += 1;
    return able[turn % Math.max(1, able.length)];
  };
  const server = createServer({ pauseOnConnect: true }, (near) => {
    sockets.add(near);
    near.on('error', () => near.destroy());
    near.on('close', () => sockets.delete(near));
    passOn(near, next);
  });
  const looks = setInterval(() => {
    for (const [url, replica] of replicas) void look(url, replica);
  }, LOOK_MS);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async add(url) {
      const { hostname: host, port } = new URL(url);
      const replica = { host, port: Number(port), isReady: false, isOut: false, silent: 0 };
      replicas.set(url, replica);
      while (!replica.isReady) await sleep(LOOK_MS);
    },
    async takeOut(url) {
      const replica = replicas.get(url);
      if (!replica) return;
      replica.isOut = true;
      while (replica.silent > 0) await sleep(LOOK_MS);
      // What was sent is not yet read by the process behind the port.
      await sleep(2 * LOOK_MS);
    },
    forget: (url) => void replicas.delete(url),
    async close() {
      clearInterval(looks);
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

async function look(url: string, replica: Replica): Promise<void> {
  try {
    const signal = AbortSignal.timeout(LOOK_MS_MAX);
    replica.isReady = (await fetch(`${url}/readyz`, { signal })).status === 200;
  } catch {
    replica.isReady = false;
  }
}

/** Tries one replica after the other until one takes the connection. The client has sent nothing that was read. */
function passOn(
  near: Socket,
  next: (tried: ReadonlySet<Replica>) => Replica | undefined,
  tried: ReadonlySet<Replica> = new Set(),
): void {
  const replica = next(tried);
  if (!replica) {
    // A machine that does much else may miss a look at every replica: the client waits for the next one.
    setTimeout(() => near.destroyed || passOn(near, next), LOOK_MS);
    return;
  }
  const far = connect({ host: replica.host, port: replica.port });
  replica.silent += 1;
  let isSilent = true;
  const heard = () => {
    if (isSilent) replica.silent -= 1;
    isSilent = false;
  };
  let isConnected = false;
  far.on('connect', () => {
    isConnected = true;
    near.once('data', heard);
    near.pipe(far);
    far.pipe(near);
  });
  far.on('error', () => undefined);
  far.on('close', () => {
    heard();
    if (isConnected) near.destroySoon();
    else passOn(near, next, new Set([...tried, replica]));
  });
  near.on('close', () => far.destroy());
}

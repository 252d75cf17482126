/**
 * A way to a database on which answers get lost: what was asked arrives and is done, and nobody is
 * told. It can cut a connection at any byte, and lead to another server from one moment on.
 *
 * @module
 */

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** In milliseconds, between the last answer and the end: enough for most statements to be done. */
const DEAF_MS = 40;

export interface LossyWay {
  /** The same address, by this way. */
  readonly url: string;
  /** Keeps what one random connection is answered from now on, then ends it. */
  loseAnswers(): void;
  /** Ends one random connection after so many more bytes of either side. */
  cutAfter(bytes: number): void;
  /** Ends all connections. New ones go to this server, or are ended while there is none. */
  turnTo(url: string | undefined): void;
  close(): Promise<void>;
}

export async function openLossyWay(url: string): Promise<LossyWay> {
  let target: URL | undefined = new URL(url);
  const pairs = new Set<Pair>();
  const server = createServer((near) => {
    if (!target) {
      near.destroy();
      return;
    }
    const far = connect({ host: target.hostname, port: Number(target.port) });
    const pair = { near, far };
    pairs.add(pair);
    near.pipe(far);
    far.pipe(near);
    for (const socket of [near, far]) {
      socket.on('error', () => {});
      socket.on('close', () => end(pairs, pair));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const way = new URL(url);
  way.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: way.href,
    loseAnswers() {
      const pair = anyOf(pairs);
      if (pair) void goDeaf(pairs, pair);
    },
    cutAfter(bytes) {
      const pair = anyOf(pairs);
      if (pair) cut(pairs, pair, bytes);
    },
    turnTo(next) {
      target = next === undefined ? undefined : new URL(next);
      for (const pair of pairs) end(pairs, pair);
    },
    async close() {
      server.close();
      for (const pair of pairs) end(pairs, pair);
    },
  };
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
}

function anyOf(pairs: ReadonlySet<Pair>): Pair | undefined {
  return [...pairs][randomInt(Math.max(1, pairs.size))];
}

/** The part that fits arrives, and the rest never does. */
function cut(pairs: Set<Pair>, pair: Pair, bytes: number): void {
  let left = bytes;
  const pass = (from: Socket, to: Socket) => {
    from.unpipe(to);
    from.on('data', (chunk: Buffer) => {
      const part = chunk.subarray(0, Math.max(0, left));
      left -= chunk.length;
      if (left > 0) to.write(part);
      else to.write(part, () => end(pairs, pair));
    });
    from.resume();
  };
  pass(pair.near, pair.far);
  pass(pair.far, pair.near);
}

async function goDeaf(pairs: Set<Pair>, pair: Pair): Promise<void> {
  pair.far.unpipe(pair.near);
  pair.far.resume();
  await sleep(DEAF_MS);
  end(pairs, pair);
}

function end(pairs: Set<Pair>, pair: Pair): void {
  pairs.delete(pair);
  pair.near.destroy();
  pair.far.destroy();
}

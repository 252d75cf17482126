/**
 * A way to a database on which answers get lost: what was asked arrives and is done, and nobody is
 * told.
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
  close(): Promise<void>;
}

export async function openLossyWay(url: string): Promise<LossyWay> {
  const { hostname, port } = new URL(url);
  const pairs = new Set<Pair>();
  const server = createServer((near) => {
    const far = connect({ host: hostname, port: Number(port) });
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
      const pair = [...pairs][randomInt(Math.max(1, pairs.size))];
      if (pair) void goDeaf(pairs, pair);
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

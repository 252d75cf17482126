/**
 * A TCP proxy that can lose what the other side answers, as a network does.
 *
 * @module
 */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface LossyProxy {
  readonly port: number;
  /** Cuts the connection on which the answer after so many more comes, before it gets through. */
  cutAfter(answers: number): void;
  /** What was lost so far. */
  lost(): Buffer[];
  close(): Promise<void>;
}

export async function startProxy(target: { host: string; port: number }): Promise<LossyProxy> {
  const sockets = new Set<Socket>();
  const lost: Buffer[] = [];
  let answersLeft = Number.POSITIVE_INFINITY;

  const server = createServer((near) => {
    const far = connect(target);
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', end);
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    near.on('data', (chunk) => far.write(chunk));
    far.on('data', (chunk) => {
      if (answersLeft-- > 0) {
        near.write(chunk);
        return;
      }
      answersLeft = Number.POSITIVE_INFINITY;
      lost.push(chunk);
      end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter: (answers) => {
      answersLeft = answers;
    },
    lost: () => lost,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * Peers that answer a request of ours as no server should, over plain sockets on loopback.
 *
 * @module
 */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface Peer {
  readonly what: string;
  /** Called when a request has begun to arrive. */
  answer(socket: Socket): void;
}

export interface RunningPeer {
  readonly port: number;
  /** Requests that reached it. */
  asked(): number;
  /** Connections that are still open. */
  open(): number;
  close(): Promise<void>;
}

/** Writes as long as the other side takes it. */
function endless(socket: Socket, head: string, piece: string): void {
  socket.write(head);
  const more = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', more);
  more();
}

/** Writes one piece now and then, so that the connection is never silent. */
function dripping(socket: Socket, head: string, piece: string): void {
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), 5);
  socket.on('close', () => clearInterval(timer));
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const BOMB = gzipSync(Buffer.alloc(10_000_000, 0x20));

const saying = (what: string, text: string, isLast = true): Peer => ({
  what,
  answer: (socket) => void (isLast ? socket.end(text, 'latin1') : socket.write(text, 'latin1')),
});

/** None of these is an answer that can be used. */
export const PEERS: readonly Peer[] = [
  { what: 'hangs up at once', answer: (socket) => void socket.end() },
  { what: 'breaks the connection', answer: (socket) => void socket.resetAndDestroy() },
  { what: 'says nothing', answer: () => undefined },
  saying('switches to another protocol', `${upgrade()}hello`, false),
  saying('switches to another protocol and hangs up', upgrade()),
  {
    what: 'sends interim answers without end',
    answer: (socket) => endless(socket, '', 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n'),
  },
  {
    what: 'asks to continue without end',
    answer: (socket) => dripping(socket, '', 'HTTP/1.1 100 Continue\r\n\r\n'),
  },
  {
    what: 'sends headers without end',
    answer: (socket) => endless(socket, 'HTTP/1.1 200 OK\r\n', `A: ${'b'.repeat(100)}\r\n`),
  },
  { what: 'sends one header slowly', answer: (socket) => dripping(socket, `${OK}A: `, 'b') },
  {
    what: 'sends a status line slowly',
    answer: (socket) => dripping(socket, 'HTTP/1.1 200 ', 'O'),
  },
  {
    what: 'sends a body without end',
    answer: (socket) => endless(socket, `${OK}\r\n`, ' '.repeat(10_000)),
  },
  { what: 'sends a body slowly', answer: (socket) => dripping(socket, `${OK}\r\n`, ' ') },
  {
    what: 'sends chunks of one byte without end',
    answer: (socket) =>
      endless(socket, `${OK}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'.repeat(1_000)),
  },
  {
    what: 'sends one chunk extension without end',
    answer: (socket) =>
      endless(socket, `${OK}Transfer-Encoding: chunked\r\n\r\n1;`, 'a'.repeat(1_000)),
  },
  {
    what: 'sends trailers without end',
    answer: (socket) =>
      endless(socket, `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n`, `A: ${'b'.repeat(99)}\r\n`),
  },
  saying('sends less than it promised', `${OK}Content-Length: 100\r\n\r\n{}`),
  saying('promises more than a number holds', `${OK}Content-Length: ${'9'.repeat(30)}\r\n\r\n{}`),
  saying('promises a negative length', `${OK}Content-Length: -1\r\n\r\n{}`),
  saying('gives two lengths', `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `),
  saying(
    'gives a length and a coding',
    `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  ),
  saying('sends a chunk of no size', `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`),
  saying('speaks no HTTP', 'hello\r\n\r\n'),
  saying('greets with TLS', '\x15\x03\x01\x00\x02\x02\x28'),
  saying('puts a null into a header', `${OK}A: \0\r\n\r\n{}`),
];

function upgrade(): string {
  return 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
}

/** Four bytes of a document for each byte that is sent would be far beyond every bound. */
export const PACKED: Peer = {
  what: 'sends a packed body that unpacks to ten megabytes',
  answer(socket) {
    socket.write(`${OK}Content-Encoding: gzip\r\nContent-Length: ${BOMB.length}\r\n\r\n`);
    socket.end(BOMB);
  },
};

/** A peer on a free port of loopback. */
export async function startPeer({ answer }: Pick<Peer, 'answer'>): Promise<RunningPeer> {
  const sockets = new Set<Socket>();
  let asked = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.once('data', () => {
      asked += 1;
      answer(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked: () => asked,
    open: () => sockets.size,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

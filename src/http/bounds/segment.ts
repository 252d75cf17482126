/**
 * Segments: passes received data to the parser in small slices.
 *
 * Node gives its parser up to 64 KiB at a time. That is some thousand small requests, which block the event
 * loop for milliseconds. Here the parser gets the next slice only when the requests of the slice before have
 * begun. Node reads an ordinary connection itself, with less work: only clients that send many requests at
 * once are read in slices.
 *
 * @module
 */

import type { Socket } from 'node:net';

type Parse = (data: Buffer) => void;

/** How many bytes to parse next; `wait`: decide again later; `drop`: discard them. */
export type NextSlice = number | 'wait' | 'drop';

/** From now on parses the data of a connection in slices, each as `next` decides. */
export function readInSlices(socket: Socket, next: () => NextSlice): void {
  const [parse] = socket.listeners('data') as Parse[];
  if (!parse) return;
  socket.removeListener('data', parse);
  // Node's server emits a socket's data as soon as it has a listener that Node did not add.
  socket.on('data', (data: Buffer) => {
    let at = 0;
    while (at < data.length) {
      const what = next();
      // Node takes the parser back from a connection that it ends: another connection may have it by now.
      if (what === 'drop' || socket.destroyed || socket.writableEnded) return;
      if (what === 'wait' || isHeld(socket)) break;
      parse(data.subarray(at, at + what));
      at += what;
    }
    if (at >= data.length) return;
    socket.pause();
    socket.unshift(data.subarray(at));
  });
  readFromHandle(socket);
}

/**
 * While Node's server reads a connection itself, a pause stops the handle and only the server restarts it.
 * From now on the stream does that, but it waits for a read that it believes to have begun.
 */
function readFromHandle({ _handle: handle }: Socket & { _handle?: Handle | null }): void {
  if (!handle || handle.reading) return;
  handle.reading = true;
  handle.readStart();
}

interface Handle {
  reading: boolean;
  readStart(): void;
}

/**
 * Whether Node itself waits until the client has read answers. It resumes the socket afterwards, and refuses
 * data in between; after another part resumed the socket, only Node's own flag shows this.
 */
function isHeld(socket: Socket & { _paused?: boolean }): boolean {
  return socket._paused === true || socket.isPaused();
}

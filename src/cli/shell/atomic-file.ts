/**
 * A file that appears under its name when it is complete and durable, or not at all; and a new file for a secret, which
 * only this user can read.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../../keyring/key-file.ts';

/** Mode 0600: the contents say what people did. */
const PRIVATE = 0o600;

/** Bytes that are collected before they are written. */
const CHUNK_BYTES = 64 * 1024;

/** Writes a text that fits in memory. */
export function writeTextAtomically(path: string, text: string): Promise<void> {
  async function* lines() {
    yield text;
  }
  // A name of its own: a crash may leave the file behind, and a later process may have the same id.
  return writeAtomically(path, `${path}.${randomBytes(8).toString('hex')}.part`, lines());
}

/** `part` is a temporary name beside `path`. A crash may leave it behind. */
export function writeAtomically(
  path: string,
  part: string,
  lines: AsyncIterable<string>,
): Promise<void> {
  return writePieces(path, part, collected(lines));
}

/** Writes a new file. Throws EEXIST when the name is taken by then, and leaves that file as it is. */
export function writeNew(
  path: string,
  pieces: AsyncIterable<string | Uint8Array> | Iterable<string>,
): Promise<void> {
  const part = `${path}.${randomBytes(8).toString('hex')}.part`;
  return writePieces(path, part, pieces, moveNew);
}

/** Fails where the name is taken, which a rename does not. A file system without links has no such step. */
async function moveNew(part: string, path: string): Promise<void> {
  try {
    await link(part, path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw error;
    await rename(part, path);
    return;
  }
  await rm(part);
}

async function* collected(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let held = '';
  for await (const line of lines) {
    held += `${line}\n`;
    if (held.length < CHUNK_BYTES) continue;
    yield held;
    held = '';
  }
  yield held;
}

async function writePieces(
  path: string,
  part: string,
  pieces: AsyncIterable<string | Uint8Array> | Iterable<string>,
  move: (part: string, path: string) => Promise<void> = rename,
): Promise<void> {
  const file = await open(part, 'wx', PRIVATE);
  try {
    for await (const piece of pieces) await file.appendFile(piece);
    await file.sync();
    await file.close();
    await move(part, path);
  } catch (error) {
    await file.close();
    await rm(part, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Syncs the folder too: without that a crash can lose the name. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Makes the file, then asks for the secret, so that none is made for a file that cannot be written. The file is
 * removed when `secret` rejects. A crash in between leaves an empty file.
 */
export async function writeSecret(path: string, secret: () => Promise<string>): Promise<void> {
  const file = await open(path, 'wx', PRIVATE).catch((error: unknown) => {
    const why = errorCode(error) === 'EEXIST' ? 'it exists already' : errorCode(error);
    throw new Error(`"${path}" cannot be made (${why})`, { cause: error });
  });
  try {
    await file.writeFile(`${await secret()}\n`);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

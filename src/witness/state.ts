/**
 * Stores the last head that a witness saw of each log, safe against crashes and a second process.
 *
 * Each head has its own file, numbered by generation, and a new file is linked under the next
 * number, which only one of several processes can do. The highest number is current. A file is removed only when
 * a higher one is durable, so if a process finds a higher number than its own after linking, it came too
 * late. A crash at any point leaves the old head or the new one.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Hash, isTreeSize } from '../domain/log/merkle.ts';
import type { NoteHead } from '../domain/log/note.ts';
import { fromBase64, toBase64 } from '../domain/wire/base64.ts';
import { sha256Hex } from '../domain/wire/hash.ts';
import { syncFolder, writeDurably } from './durable.ts';

/** A head as it was read, with the number that the next one must follow. */
export interface SeenHead {
  readonly generation: number;
  readonly head?: NoteHead | undefined;
}

/** Throws when a stored head cannot be read: then the witness must sign nothing. */
export function readSeen(folder: string, origin: string): SeenHead {
  const generation = Math.max(0, ...generationsOf(folder, origin));
  if (generation === 0) return { generation };
  const path = join(folder, fileName(origin, generation));
  const head = parsed(readFileSync(path, 'utf8'));
  if (head?.origin === origin) return { generation, head };
  throw new Error(
    `Cannot use "${path}": it is not a head of "${origin}"; restore it from a backup`,
  );
}

/**
 * Stores a head in place of the one that was read. Returns `false`, and changes nothing, when
 * another process stored one first. When it returns `true`, the head is durable.
 */
export function storeSeenHead(folder: string, { generation }: SeenHead, head: NoteHead): boolean {
  const own = generation + 1;
  const path = join(folder, fileName(head.origin, own));
  const part = join(folder, `part.${randomUUID()}`);
  writeDurably(part, JSON.stringify({ ...head, root: toBase64(head.root) }));
  try {
    linkSync(part, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(part);
  }
  syncFolder(folder);
  const all = generationsOf(folder, head.origin);
  if (Math.max(...all) !== own) return false;
  for (const older of all.filter((each) => each < own)) {
    rmSync(join(folder, fileName(head.origin, older)), { force: true });
  }
  return true;
}

const DIGITS = 12;

function fileName(origin: string, generation: number): string {
  return `${prefixOf(origin)}${String(generation).padStart(DIGITS, '0')}.json`;
}

/** An origin may have any characters, so the file name uses its digest. */
function prefixOf(origin: string): string {
  return `seen-${sha256Hex(origin)}-`;
}

function generationsOf(folder: string, origin: string): number[] {
  const prefix = prefixOf(origin);
  const pattern = new RegExp(`^\\d{${DIGITS}}\\.json$`);
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && pattern.test(name.slice(prefix.length)))
    .map((name) => Number.parseInt(name.slice(prefix.length), 10));
}

function parsed(text: string): NoteHead | undefined {
  let value: { origin?: unknown; size?: unknown; root?: unknown };
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { origin, size } = value;
  const root: Hash | undefined = fromBase64(String(value.root));
  if (typeof origin !== 'string' || typeof size !== 'number' || !isTreeSize(size)) return undefined;
  return root?.length === 32 ? { origin, size, root } : undefined;
}

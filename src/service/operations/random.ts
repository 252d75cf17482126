/**
 * New ids: random, and some with the time in front, so that ids of one time are neighbours in an
 * index. An id of what must not come twice follows from what it is of.
 *
 * @module
 */

import { sha256, toHex } from '../../domain/wire/hash.ts';
import {
  type BindingId,
  type EntryId,
  ID_BYTES,
  type IdKinds,
  type IdPrefix,
  type InvocationId,
  idOf,
} from '../../domain/wire/ids.ts';
import type { Platform } from '../../platform.ts';

type Random = Pick<Platform, 'random'>;

/** In bytes: milliseconds until the year 10889. */
const TIME_BYTES = 6;

/**
 * The id of a log entry. It begins with the time, so that ids of one time are neighbours in the
 * index of the store. The entry shows its time anyway. The other 80 bits are random.
 */
export function newEntryId({ random }: Random, now: Date): EntryId {
  return idOf('ent_', timed(random(ID_BYTES.ent_), TIME_BYTES, now.getTime()));
}

/**
 * The id of a binding: the time, which its caller knows, and 128 random bits after it, because agents of one root
 * principal could use the binding of another one if they could guess its id.
 */
export function newBindingId({ random }: Random, now: Date): BindingId {
  return idOf('bnd_', timed(random(ID_BYTES.bnd_), TIME_BYTES, now.getTime()));
}

/** The id of an admitted call in the store. Callers never see it. */
export function newOperationId({ random }: Random, now: Date): string {
  return toHex(timed(random(OPERATION_BYTES), TIME_BYTES, now.getTime()));
}

const OPERATION_BYTES = 16;

/** In milliseconds: ids made within one step have the same beginning. */
const STEP_MS = 64;

/** Twelve bits of time repeat every four minutes. */
const STEPS = 4_096;

/**
 * The id of an invocation. It is short, so only its first three digits are time. Ids of one moment
 * are neighbours in an index, and over several minutes ids are spread evenly.
 */
export function newInvocationId({ random, now }: Pick<Platform, 'random' | 'now'>): InvocationId {
  const bytes = random(ID_BYTES['inv-']);
  const step = Math.floor(now() / STEP_MS) % STEPS;
  const rest = (bytes[1] as number) % 16;
  return idOf('inv-', timed(bytes, 2, step * 16 + rest));
}

/** Overwrites the first `count` bytes with the lowest bytes of a number. */
function timed(bytes: Uint8Array, count: number, time: number): Uint8Array {
  let rest = time;
  for (let index = count - 1; index >= 0; index -= 1) {
    bytes[index] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return bytes;
}

export function newId<Prefix extends IdPrefix>(
  { random }: Random,
  prefix: Prefix,
): IdKinds[Prefix] {
  return idOf(prefix, random(ID_BYTES[prefix]));
}

/** The same id for the same text, on every replica. */
export function idFrom<Prefix extends IdPrefix>(prefix: Prefix, text: string): IdKinds[Prefix] {
  return idOf(prefix, sha256(text).slice(0, ID_BYTES[prefix]));
}

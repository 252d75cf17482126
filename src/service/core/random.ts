/**
 * New ids: random, and some of them with the time in front, so that ids of one time lie together.
 *
 * @module
 */

import { toHex } from '../../domain/wire/hash.ts';
import {
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
 * The id of an entry of the log begins with its time, so that ids of one time lie together in the
 * store's index. It names an entry whose time is told anyway; the other 80 bits are random.
 */
export function newEntryId({ random }: Random, now: Date): EntryId {
  return idOf('ent_', timed(random(ID_BYTES.ent_), TIME_BYTES, now.getTime()));
}

/** The name that the store knows an admitted call by; told to nobody. */
export function newOperationId({ random }: Random, now: Date): string {
  return toHex(timed(random(OPERATION_BYTES), TIME_BYTES, now.getTime()));
}

const OPERATION_BYTES = 16;

/** In milliseconds: ids of one such step begin alike. */
const STEP_MS = 64;

/** Beginnings of twelve bits come round in four minutes. */
const STEPS = 4_096;

/**
 * Invocation ids are short, so little of them is time: three digits. Over more than some minutes they are
 * spread as evenly as if all of it was random, and those of one moment lie together.
 */
export function newInvocationId({ random, now }: Pick<Platform, 'random' | 'now'>): InvocationId {
  const bytes = random(ID_BYTES['inv-']);
  const step = Math.floor(now() / STEP_MS) % STEPS;
  const rest = (bytes[1] as number) % 16;
  return idOf('inv-', timed(bytes, 2, step * 16 + rest));
}

/** Writes the lowest bytes of a number over the first of these. */
function timed(bytes: Uint8Array, count: number, time: number): Uint8Array {
  let rest = time;
  for (let place = count - 1; place >= 0; place -= 1) {
    bytes[place] = rest % 256;
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

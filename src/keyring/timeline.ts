/**
 * Timeline: decides from the time alone which key signs and which are published.
 *
 * Pure. Replicas share no state: the same keys and the same time give
 * the same result everywhere. A key is published as soon as it is read, signs from its `signFrom`
 * until the next one does, and stays published while something it signed may be valid.
 *
 * Invariant: what the current key signs is verifiable, because a key that signs is published.
 *
 * @module
 */

import type { SigningKey } from './es256.ts';
import { KEY_USES, type KeyUse } from './wire.ts';

/** A key with its times, in milliseconds since 1970. */
export interface DatedKey extends SigningKey {
  readonly use: KeyUse;
  readonly signFrom: number;
}

export interface PublishedKey extends DatedKey {
  readonly publishedUntil: number;
}

export interface Timeline {
  /** Token keys, then log keys, each from the first to the last. */
  readonly keys: readonly PublishedKey[];
  readonly byKid: ReadonlyMap<string, PublishedKey>;
}

/**
 * Clocks of replicas differ, so they do not change keys at the same moment. A key that stays a minute
 * too long is harmless; one that leaves early refuses valid tokens.
 */
export const RETIREMENT_SKEW_MS = 60_000;

/**
 * Orders the keys of both uses and decides how long each stays. Tokens outlive the signing time of their key
 * by their longest lifetime; checkpoints are verified years later, so log keys stay without end.
 */
export function timelineOf(keys: readonly DatedKey[], tokenLifetimeMaxMs: number): Timeline {
  const inOrder = KEY_USES.flatMap((use) => {
    const own = keys.filter((key) => key.use === use).sort(bySignFrom);
    return own.map((key, index): PublishedKey => {
      const successor = own[index + 1];
      const stays = use === 'log' || successor === undefined;
      const publishedUntil = stays
        ? Number.POSITIVE_INFINITY
        : successor.signFrom + tokenLifetimeMaxMs + RETIREMENT_SKEW_MS;
      return { ...key, publishedUntil };
    });
  });
  return { keys: inOrder, byKid: new Map(inOrder.map((key) => [key.kid, key])) };
}

/**
 * The key that signs now: the latest whose `signFrom` has passed. Before the first `signFrom` it is the first
 * key, so that a replica with a slow clock can sign too.
 */
export function currentKey({ keys }: Timeline, use: KeyUse, now: Date): PublishedKey | undefined {
  const own = keys.filter((key) => key.use === use);
  return own.findLast((key) => key.signFrom <= now.getTime()) ?? own[0];
}

export function isPublished(key: PublishedKey, now: Date): boolean {
  return now.getTime() < key.publishedUntil;
}

/** What a key does at one time. No value of the key. */
export interface KeyState {
  readonly kid: string;
  readonly use: KeyUse | 'row';
  readonly state: 'signs' | 'verifies' | 'next';
  /** From when on it signs; undefined where its place in a list decides. */
  readonly since?: Date | undefined;
  /** Until when it is published; undefined without end. */
  readonly until?: Date | undefined;
}

export function keyState(
  { kid, use, signFrom, publishedUntil }: PublishedKey,
  isSigning: boolean,
  now: Date,
): KeyState {
  const state = isSigning ? 'signs' : signFrom > now.getTime() ? 'next' : 'verifies';
  return { kid, use, state, since: timeOf(signFrom), until: timeOf(publishedUntil) };
}

/** Undefined for no time, such as the end of a key that stays. */
export function timeOf(ms: number): Date | undefined {
  const time = new Date(ms);
  return ms === 0 || Number.isNaN(time.getTime()) ? undefined : time;
}

/** Of two keys with the same time, the one listed later comes later. */
function bySignFrom(a: DatedKey, b: DatedKey): number {
  return a.signFrom === b.signFrom ? 0 : a.signFrom - b.signFrom;
}

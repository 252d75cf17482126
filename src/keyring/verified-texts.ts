/**
 * Verified texts: remembers which exact texts carried a good signature, and of which key.
 *
 * A signature over the same bytes does not change, so it is computed once. Everything that does
 * change (is the key still published, is the token revoked) is asked again by the caller each time.
 *
 * Only good texts are kept. A bad one is chosen by whoever sends it, and the next is cheap to make
 * different: remembering those would give memory to an attacker and save nothing.
 *
 * @module
 */

import type { ArtefactTyp } from '../domain/jws.ts';
import type { KeyUse } from './wire.ts';

/** Texts kept. More than the tokens that are busy at one time on one replica. */
const VERIFIED_TEXTS_MAX = 10_000;

/** Characters of all texts together: 16 MiB, since texts of the greatest length would take 80. */
const VERIFIED_CHARACTERS_MAX = 16 * 1024 * 1024;

export interface Verified {
  readonly kid: string;
  readonly use: KeyUse;
  readonly typ: ArtefactTyp;
}

export interface VerifiedTexts {
  /** What was verified about exactly this text; it is then the last to be forgotten. */
  get(text: string): Verified | undefined;
  add(text: string, verified: Verified): void;
}

export function createVerifiedTexts(
  { texts, characters } = { texts: VERIFIED_TEXTS_MAX, characters: VERIFIED_CHARACTERS_MAX },
): VerifiedTexts {
  // A map keeps the order of insertion: the first key is the one that was used longest ago.
  const kept = new Map<string, Verified>();
  let length = 0;

  const forget = (text: string) => {
    if (kept.delete(text)) length -= text.length;
  };
  const add = (text: string, verified: Verified) => {
    forget(text);
    kept.set(text, verified);
    length += text.length;
    for (const oldest of kept.keys()) {
      if (kept.size <= texts && length <= characters) return;
      forget(oldest);
    }
  };
  return {
    add,
    get: (text) => {
      const verified = kept.get(text);
      if (verified !== undefined) add(text, verified);
      return verified;
    },
  };
}

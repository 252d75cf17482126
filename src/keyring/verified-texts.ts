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

import { createRecent, type Recent } from '../domain/values/recent.ts';
import type { ArtefactTyp } from '../domain/wire/jws.ts';
import type { KeyUse } from './wire.ts';

/** Characters of all texts together: 16 MiB, more than the tokens that are busy on one replica. */
const VERIFIED_CHARACTERS_MAX = 16 * 1024 * 1024;

export interface Verified {
  readonly kid: string;
  readonly use: KeyUse;
  readonly typ: ArtefactTyp;
}

/** What was verified about exactly which text. */
export function createVerifiedTexts(): Recent<string, Verified> {
  return createRecent(VERIFIED_CHARACTERS_MAX, (text) => text.length);
}

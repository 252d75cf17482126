/**
 * Verified texts: caches which exact texts have a valid signature, and by which key.
 *
 * A signature over the same bytes does not change, so it is computed once. Everything that does
 * change (whether the key is published, whether the token is revoked) the caller checks each time.
 *
 * Caches only valid texts. An attacker can make many invalid ones cheaply, all
 * different: caching those would only use memory.
 *
 * @module
 */

import { createRecent, type Recent } from '../domain/values/recent.ts';
import type { ArtefactTyp } from '../domain/wire/jws.ts';
import { type KeyUse, signedPayload } from './wire.ts';

/** Characters of all texts together, 16 Mi: more than the tokens in use on one replica. */
const VERIFIED_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Decoded on demand: a caller that verified a text before has usually read its payload before. */
export class VerifiedText {
  readonly kid: string;
  readonly use: KeyUse;
  readonly typ: ArtefactTyp;
  readonly #text: string;

  constructor(text: string, { kid, use, typ }: Pick<VerifiedText, 'kid' | 'use' | 'typ'>) {
    this.kid = kid;
    this.use = use;
    this.typ = typ;
    this.#text = text;
  }

  get payload(): Uint8Array {
    return signedPayload(this.#text);
  }
}

/** The verified facts about one exact text. */
export function createVerifiedTexts(): Recent<string, VerifiedText> {
  return createRecent(VERIFIED_CHARACTERS_MAX, (text) => text.length);
}

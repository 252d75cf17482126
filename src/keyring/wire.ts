/**
 * Which use of key signs which artefact, and a fast way to a payload that was read before.
 *
 * The form itself is `domain/wire/jws.ts`, which verifiers outside the service use too.
 *
 * @module
 */

import { type ArtefactTyp, TYPS } from '../domain/wire/jws.ts';

/** The use of a key. The log has its own keys, because its signatures must verify without end. */
export const KEY_USES = ['token', 'log'] as const;
export type KeyUse = (typeof KEY_USES)[number];

export const ARTEFACTS = {
  delegation: { use: 'token', typ: TYPS.delegation },
  manifest: { use: 'token', typ: TYPS.manifest },
  grant: { use: 'token', typ: TYPS.grant },
  checkpoint: { use: 'log', typ: TYPS.checkpoint },
  receipt: { use: 'log', typ: TYPS.receipt },
} as const satisfies Record<
  // Each use of key names its own successor (`successors.ts`).
  Exclude<keyof typeof TYPS, 'successor'>,
  { use: KeyUse; typ: ArtefactTyp }
>;

/** The payload of a text that `readCompact` has accepted before. */
export function signedPayload(text: string): Uint8Array {
  const encoded = text.slice(text.indexOf('.') + 1, text.lastIndexOf('.'));
  return new Uint8Array(Buffer.from(encoded, 'base64url'));
}

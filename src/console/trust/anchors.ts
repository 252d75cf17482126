/**
 * What verification starts from on a page: keys, the name of the service, and what the reader knows from elsewhere.
 *
 * @module
 */

import { readVkey } from '../../domain/log/note-key.ts';
import { followKeys } from '../../verify/successors.ts';
import type { PageAnchors } from './steps.ts';

export interface AnchorsSource {
  readonly service_id: string;
  readonly jwks: unknown;
  readonly witness_keys: readonly string[];
  /** Thumbprints from another source; `all` when the whole key set came from there. */
  readonly noted: 'all' | readonly string[];
}

/** What every part of the page verifies with, and where it came from. */
export interface Trusting {
  readonly source: AnchorsSource;
  readonly anchors: PageAnchors;
}

export async function pageAnchors(source: AnchorsSource): Promise<PageAnchors | { fault: string }> {
  const { service_id, jwks, witness_keys, noted } = source;
  const noteKeys = witness_keys.flatMap((text) => readVkey(text) ?? []);
  if (noteKeys.length < witness_keys.length) return { fault: 'one key of a witness is malformed' };
  const keys = await followKeys({ jwks, pinned: noted, noteKeys });
  if ('fault' in keys) return keys;
  return {
    keys,
    now: new Date(),
    serviceId: service_id,
    isNoted: noted === 'all' || noted.length > 0,
  };
}

/** The words of a text, as a reader pastes thumbprints and keys. */
export function wordsIn(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

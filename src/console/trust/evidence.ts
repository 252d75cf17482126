/**
 * Evidence: what a service answered and what it was verified with, as one JSON file. `verify.html` reads it again.
 *
 * The file proves nothing by itself: a reader verifies it with keys from another source.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import { entryProof, type GivenEntry } from './entry-steps.ts';
import { type GivenPair, growthProof } from './growth-steps.ts';
import type { PageAnchors, Proof } from './steps.ts';

const EVIDENCE_FORMAT = 'writ-evidence/1';

/** What was verified: an entry, or the growth between two checkpoints. */
export type Given = GivenEntry | GivenPair;

export interface Evidence {
  readonly format: typeof EVIDENCE_FORMAT;
  readonly service_id: string;
  readonly jwks: unknown;
  readonly witness_keys: readonly string[];
  readonly given: Given;
}

export function evidenceOf(source: Omit<Evidence, 'format' | 'given'>, given: Given): Evidence {
  const { service_id, jwks, witness_keys } = source;
  return { format: EVIDENCE_FORMAT, service_id, jwks, witness_keys, given };
}

/** `undefined` for a file of another kind. The verification reads the inner values as it reads any answer. */
export function readEvidence(value: unknown): Evidence | undefined {
  if (!isObject(value) || value.format !== EVIDENCE_FORMAT || !isObject(value.given))
    return undefined;
  if (typeof value.service_id !== 'string') return undefined;
  const keys = Array.isArray(value.witness_keys) ? value.witness_keys : [];
  return {
    format: EVIDENCE_FORMAT,
    service_id: value.service_id,
    jwks: value.jwks,
    witness_keys: keys.filter((key) => typeof key === 'string'),
    given: givenOf(value.given),
  };
}

export function proofOfGiven(given: Given, anchors: PageAnchors): Promise<Proof> {
  return 'later' in given ? growthProof(given, anchors) : entryProof(given, anchors);
}

/** What the first reader asked for is not part of what a second one verifies. */
function givenOf(given: Readonly<Record<string, unknown>>): Given {
  if ('later' in given) return { earlier: given.earlier, later: given.later };
  const earlier = Array.isArray(given.earlier) ? given.earlier.filter(isObject) : [];
  return {
    entry: given.entry,
    checkpoint: given.checkpoint,
    earlier: earlier.map(({ entry, checkpoint }) => ({ entry, checkpoint })),
  };
}

/**
 * A verification as a list of steps: what was given, what this page computed, and whether both agree.
 *
 * The checks are those of `src/verify`; this file only puts them in an order that a person can follow. A check that
 * no step names goes to the step about the checkpoint, so none is lost. The page takes everything that it
 * verifies from the service, so a signature that it cannot check counts as one that does not hold.
 *
 * @module
 */

import { type Join, topOf } from '../../domain/log/merkle-proof.ts';
import { readVkey } from '../../domain/log/note-key.ts';
import { toHex } from '../../domain/wire/hash.ts';
import type { Check, Outcome } from '../../verify/report.ts';
import type { CheckpointAnchors } from '../../verify/signed.ts';
import { followKeys } from '../../verify/successors.ts';

export interface Step {
  readonly title: string;
  /** Such as "on the left". */
  readonly note?: string | undefined;
  readonly outcome: Outcome;
  /** Without it the result holds too; it only says less. */
  readonly isExtra?: boolean | undefined;
  /** It computes a hash and compares nothing. */
  readonly isComputation?: boolean | undefined;
  readonly says: readonly string[];
  readonly hashes: readonly ShownHash[];
  /** The bytes that were hashed, as text. */
  readonly text?: string | undefined;
}

interface ShownHash {
  readonly label: 'given' | 'joined' | 'hash' | 'root';
  readonly hex: string;
}

/** `agrees`: every step that the result needs holds. `incomplete`: one of them could not be checked. */
type ProofVerdict = 'agrees' | 'failed' | 'incomplete';

export interface Proof {
  readonly verdict: ProofVerdict;
  /** What the steps show when all agree. */
  readonly claim: string;
  readonly steps: readonly Step[];
  /** The numbers of the steps that fail, from 1. */
  readonly failing: readonly number[];
  readonly path?: Path | undefined;
  /** What an offline check cannot show. */
  readonly limits: readonly string[];
}

/** A path to draw, from one node up to the root. */
export interface Path {
  /** The lowest node, such as "Entry 6". */
  readonly seed: string;
  readonly joins: readonly { readonly side: Join['side']; readonly leaves: string }[];
  /** The numbers of the steps that compute the nodes, the lowest first: one more than there are joins. */
  readonly numbers: readonly number[];
  readonly isReached: boolean;
  /** The root that the path reaches, and the one that the checkpoint has. */
  readonly computed: string;
  readonly root: string;
  readonly rootOf: string;
  /** Whether the signature covers the root of the checkpoint. */
  readonly isSigned: boolean;
}

/** What a page verifies with. */
export interface PageAnchors extends CheckpointAnchors {
  /** Whether the reader gave thumbprints or keys of another source. */
  readonly isNoted: boolean;
  /** Whether the keys came with the file that is verified: then the maker of the file may have made them. */
  readonly isOfFile?: boolean | undefined;
}

export function proofOf(
  claim: string,
  steps: readonly Step[],
  more: Pick<Proof, 'path' | 'limits'>,
): Proof {
  const needed = steps.filter(({ isExtra }) => !isExtra);
  const failing = steps.flatMap(({ outcome }, at) => (outcome === 'failed' ? [at + 1] : []));
  const isWhole = needed.every(({ outcome }) => outcome === 'ok');
  const verdict = failing.length > 0 ? 'failed' : isWhole ? 'agrees' : 'incomplete';
  return { verdict, claim, steps, failing, ...more };
}

/** The steps about a checkpoint: its signature, its note, and the witnesses of the note. */
export function checkpointSteps(
  name: string,
  checks: readonly Check[],
  anchors: PageAnchors,
): Step[] {
  const witnessed = checks.filter((check) => isOfWitness(check, anchors));
  const own = checks.filter((check) => !witnessed.includes(check));
  const noted = own.filter(({ what }) => what.startsWith('note'));
  const signed = own.filter(({ what }) => !what.startsWith('note'));
  return [
    checkStep(
      `Check the signature of ${name}`,
      signed.map((check) => asNeeded(check, anchors)),
    ),
    ...(noted.length > 0
      ? [
          checkStep(
            `Check the note of ${name}`,
            noted.map((check) => asNeeded(check, anchors)),
          ),
        ]
      : []),
    ...(witnessed.length > 0 ? [witnessStep(witnessed)] : []),
  ];
}

/** One step out of checks: it fails with the first that fails. */
export function checkStep(title: string, checks: readonly Check[]): Step {
  return { title, outcome: worst(checks), says: checks.flatMap(sentenceOf), hashes: [] };
}

export function joinSteps(joins: readonly Join[], first: number): Step[] {
  return joins.map(({ side, given, covers, joined }) => ({
    title: `Join ${leavesText(covers, first)}`,
    note: `on the ${side}`,
    outcome: 'ok',
    isComputation: true,
    says: [],
    hashes: [
      { label: 'given', hex: toHex(given) },
      { label: 'joined', hex: toHex(joined) },
    ],
  }));
}

export function proofPath(
  {
    seed,
    hash,
    joins,
    first,
  }: { seed: string; hash: Uint8Array; joins: readonly Join[]; first: number },
  more: Omit<Path, 'seed' | 'joins' | 'computed'>,
): Path {
  return {
    seed,
    joins: joins.map(({ side, covers }) => ({ side, leaves: leavesText(covers, first) })),
    computed: toHex(topOf(hash, joins)),
    ...more,
  };
}

/** Such as "entry 7", "entries 4 and 5" or "entries 0 to 3"; places count over all logs of a store. */
export function leavesText({ start, end }: Join['covers'], first: number): string {
  const [from, to] = [first + start, first + end - 1];
  if (from === to) return `entry ${from}`;
  return `entries ${from} ${to === from + 1 ? 'and' : 'to'} ${to}`;
}

/**
 * A signature that no key verifies does not hold here: the keys came with it, or the reader gave the right
 * ones. A key of the service that the reader did not note is only worth a sentence; one of the file itself shows
 * nothing.
 */
function asNeeded(check: Check, { isNoted, isOfFile }: PageAnchors): Check {
  if (check.outcome !== 'not_checked') return check;
  const isKey = check.what === 'key' || check.what === 'note key';
  const kid = check.detail?.split(':')[0];
  if (isKey && !isNoted && isOfFile) return { ...check, detail: `${kid} ${OF_FILE}` };
  if (isKey && !isNoted) return { ...check, outcome: 'ok', detail: `${kid}; ${PUBLISHED}` };
  if (isKey) return { ...check, outcome: 'failed', detail: `${kid} is not a key that you noted` };
  return { ...check, outcome: 'failed' };
}

const PUBLISHED =
  'the service published it itself: compare its thumbprint with one from another source';

const OF_FILE = 'came with the file: give its thumbprint or the key set from another source';

function isOfWitness({ what }: Check, { keys }: PageAnchors): boolean {
  const witnesses = keys.noteKeys.filter(({ type }) => type === 'cosignature');
  return witnesses.some(({ name }) => what === `note signature of "${name}"`);
}

function witnessStep(checks: readonly Check[]): Step {
  const signed = checks.filter(({ outcome }) => outcome === 'ok').length;
  const step = checkStep('Check the witnesses', checks);
  return {
    ...step,
    note: `${signed} of ${checks.length} signed the same root`,
    isExtra: true,
  };
}

function worst(checks: readonly Check[]): Outcome {
  const has = (sought: Outcome) => checks.some(({ outcome }) => outcome === sought);
  return has('failed') ? 'failed' : has('not_checked') ? 'not_checked' : 'ok';
}

/** A check that holds without a detail needs no sentence. */
function sentenceOf({ what, outcome, detail }: Check): string[] {
  if (outcome === 'ok') return detail === undefined ? [] : [`${what}: ${detail}`];
  return [`${what} ${WORDS[outcome]}${detail === undefined ? '' : `: ${detail}`}`];
}

const WORDS = { failed: 'does not hold', not_checked: 'could not be checked' } as const;

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

/** What verification starts from on a page: keys, the name of the service, and what the reader knows from elsewhere. */
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

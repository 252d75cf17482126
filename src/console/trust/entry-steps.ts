/**
 * The steps from one entry to the signed root of a checkpoint.
 *
 * @module
 */

import { type Hash, hashLeaf } from '../../domain/log/merkle.ts';
import { inclusionJoins, type Join } from '../../domain/log/merkle-proof.ts';
import { fromBase64 } from '../../domain/wire/base64.ts';
import { fromHex, toHex } from '../../domain/wire/hash.ts';
import { isObject } from '../../domain/wire/json.ts';
import { AuditEntry, Checkpoint, InclusionProof } from '../../protocol/audit.ts';
import { CHECKPOINT_LIMITS, headOf, verifyCheckpoint } from '../../verify/checkpoint.ts';
import { inclusionCheck, proofIn, verifyEntry } from '../../verify/entry.ts';
import { contentCheck, readEntry } from '../../verify/leaf.ts';
import { hasPasskey, verifyPasskeyDecision } from '../../verify/passkey.ts';
import { type Check, failed, passedCheck } from '../../verify/report.ts';
import type { SignedHead } from '../../verify/signed.ts';
import {
  checkpointSteps,
  checkStep,
  joinSteps,
  type PageAnchors,
  type Path,
  type Proof,
  proofOf,
  proofPath,
  type Step,
} from './steps.ts';

export interface GivenEntry {
  readonly entry: unknown;
  /** With the inclusion proof of the entry. */
  readonly checkpoint: unknown;
  /** Of a decision that a passkey confirmed: the entries about the passkey, oldest first, each with its proof. */
  readonly earlier?: readonly Pick<GivenEntry, 'entry' | 'checkpoint'>[] | undefined;
  /** What the reader asked for; another answer fails, even if it is of the same log. */
  readonly asked?: Asked | undefined;
}

export interface Asked {
  readonly sequence?: number | undefined;
  readonly entry_id?: string | undefined;
  readonly invocation_id?: string | undefined;
  readonly leaf_hash?: string | undefined;
  readonly checkpoint_id?: string | undefined;
}

export async function entryProof(given: GivenEntry, anchors: PageAnchors): Promise<Proof> {
  const { entry, checkpoint, asked } = given;
  const { checks, head: signedHead } = await verifyCheckpoint(checkpoint, anchors);
  const parsed = Checkpoint.safeParse(checkpoint).data;
  const head = parsed && headOf(parsed);
  const name = parsed ? `checkpoint ${parsed.sequence}` : 'the checkpoint';
  const hash = hashOf(entry);
  const joins = head && hash ? joinsOf(proofIn(checkpoint), hash, head) : undefined;
  const before = asked
    ? [checkStep('Compare the answer with the question', askedChecks(given, asked))]
    : [];
  const reaching = rootStep(given, { head, hash, name, isClimbed: joins !== undefined });
  const steps = [
    ...before,
    hashStep(entry, hash),
    ...joinSteps(joins ?? [], head?.first ?? 0),
    reaching,
    ...checkpointSteps(name, checks, anchors),
    ...(await passkeySteps(entry, given.earlier ?? [], anchors)),
  ];
  const position = entryIndex(entry) ?? '?';
  const path = drawn(
    { joins, hash, head },
    {
      seed: `Entry ${position}`,
      firstStep: before.length + 1,
      isReached: reaching.outcome === 'ok',
      rootOf: name,
      isSigned: signedHead !== undefined,
    },
  );
  return proofOf(`Entry ${position} is in ${name}`, steps, { path, limits: CHECKPOINT_LIMITS });
}

/** The hash of the leaf's bytes; without bytes, the hash that the answer names. */
function hashOf(entry: unknown): Hash | undefined {
  const { leaf, leaf_hash } = isObject(entry) ? entry : {};
  const bytes = typeof leaf === 'string' ? fromBase64(leaf) : undefined;
  if (bytes) return hashLeaf(bytes);
  const named = typeof leaf_hash === 'string' ? fromHex(leaf_hash) : undefined;
  return named?.length === HASH_BYTES ? named : undefined;
}

const HASH_BYTES = 32;

function hashStep(entry: unknown, hash: Hash | undefined): Step {
  const read = readEntry(entry);
  const { leaf, personal, erased } = isObject(entry) ? entry : {};
  const bytes = typeof leaf === 'string' ? fromBase64(leaf) : undefined;
  const checks = 'fault' in read ? [failed('entry', read.fault)] : [contentOf(read.erased, erased)];
  const texts = [leaf, personal].flatMap((part) => decodedText(part) ?? []);
  return {
    ...checkStep('Hash the entry', checks),
    note: bytes
      ? `0x00, then the ${bytes.length} bytes of its leaf`
      : 'its leaf is not in the answer',
    hashes: hash ? [{ label: 'hash', hex: toHex(hash) }] : [],
    text: texts.length > 0 ? texts.join('\n') : undefined,
  };
}

/** The leaf was asked for: only an entry that the service calls erased may lack it. */
function contentOf(missing: 'personal' | 'contents' | undefined, named: unknown): Check {
  if (missing !== undefined && missing !== named) {
    return failed(
      'entry',
      `the answer lacks its ${missing === 'contents' ? 'leaf' : 'personal fields'}`,
    );
  }
  const check = contentCheck('entry', missing);
  return missing === undefined ? passedCheck('entry', 'its fields are what its bytes say') : check;
}

function decodedText(part: unknown): string | undefined {
  const bytes = typeof part === 'string' ? fromBase64(part) : undefined;
  return bytes && new TextDecoder().decode(bytes);
}

function joinsOf(value: unknown, leaf: Hash, { size }: SignedHead): Join[] | undefined {
  const parsed = InclusionProof.safeParse(value).data;
  if (!parsed) return undefined;
  const proof = parsed.hashes.map((hex) => fromHex(hex) as Hash);
  return inclusionJoins({ index: parsed.leaf_index, size, leaf, proof });
}

interface Reached {
  readonly head: SignedHead | undefined;
  readonly hash: Hash | undefined;
  readonly name: string;
  readonly isClimbed: boolean;
}

/** Compares with the root in the checkpoint; the steps after it check who signed that root. */
function rootStep({ entry, checkpoint }: GivenEntry, reached: Reached): Step {
  const { head, hash, name, isClimbed } = reached;
  const title = `Compare with the root of ${name}`;
  if (!head || !hash) return checkStep(title, [failed('root', 'there is nothing to compare')]);
  const check = inclusionCheck(proofIn(checkpoint), { head, hash, position: entryIndex(entry) });
  const needed: Check = check.outcome === 'ok' ? check : { ...check, outcome: 'failed' };
  const note = isClimbed ? undefined : 'the path has another number of hashes than this tree needs';
  return {
    ...checkStep(title, [needed]),
    note,
    hashes: [{ label: 'root', hex: toHex(head.root) }],
  };
}

function entryIndex(entry: unknown): number | undefined {
  const { sequence } = isObject(entry) ? entry : {};
  return typeof sequence === 'number' ? sequence : undefined;
}

function askedChecks({ entry, checkpoint }: GivenEntry, asked: Asked): Check[] {
  const answered: Record<string, unknown> = {
    ...(isObject(entry) ? entry : {}),
    checkpoint_id: isObject(checkpoint) ? checkpoint.checkpoint_id : undefined,
  };
  return Object.entries(asked)
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) =>
      answered[field] === value
        ? passedCheck(field, String(value))
        : failed(field, `asked for ${value}, answered with ${String(answered[field])}`),
    );
}

interface Climbed {
  readonly joins: readonly Join[] | undefined;
  readonly hash: Hash | undefined;
  readonly head: SignedHead | undefined;
}

function drawn(
  { joins, hash, head }: Climbed,
  {
    seed,
    firstStep,
    ...more
  }: Pick<Path, 'seed' | 'isReached' | 'rootOf' | 'isSigned'> & { firstStep: number },
): Path | undefined {
  if (!joins || !hash || !head) return undefined;
  const numbers = [firstStep, ...joins.map((_, at) => firstStep + 1 + at)];
  const climbed = { seed, hash, joins, first: head.first };
  return proofPath(climbed, { numbers, root: toHex(head.root), ...more });
}

interface EarlierEntry {
  readonly entry: unknown;
  readonly checkpoint: unknown;
}

/** None for an entry of another kind. */
async function passkeySteps(
  entry: unknown,
  earlier: readonly EarlierEntry[],
  anchors: PageAnchors,
): Promise<Step[]> {
  const parsed = AuditEntry.safeParse(entry).data;
  if (!parsed || !hasPasskey(parsed)) return [];
  const values = earlier.map((each) => each.entry);
  const { checks, digest } = await verifyPasskeyDecision(entry, values);
  const isOwner = ({ what }: Check) => what === 'passkey of the approver';
  const signed = checkStep(
    'Check what the passkey signed',
    checks.filter((check) => !isOwner(check)),
  );
  const owner = [
    ...(await Promise.all(earlier.map((each) => coveredCheck(each, parsed, anchors)))),
    ...checks.filter(isOwner),
  ];
  return [
    {
      ...signed,
      note:
        digest === undefined ? undefined : 'the digest of the decision, made again from the entry',
      hashes: digest === undefined ? [] : [{ label: 'hash', hex: digest.replace(/^sha256:/, '') }],
    },
    ...(owner.length > 0
      ? [{ ...checkStep('Check whose passkey it is', owner), isExtra: true }]
      : []),
  ];
}

/** An entry about the passkey must itself be in the log, and before the decision. */
async function coveredCheck(
  { entry, checkpoint }: EarlierEntry,
  decision: AuditEntry,
  anchors: PageAnchors,
): Promise<Check> {
  const { sequence } = isObject(entry) ? entry : {};
  const what = `entry ${String(sequence)} about the passkey`;
  const keys = {
    keys: anchors.keys.keys.map((key) => ({ ...key, isPinned: key.isPinned || !anchors.isNoted })),
    noteKeys: [],
  };
  const { checks, verdict } = await verifyEntry({ entry, checkpoint }, { ...anchors, keys });
  if (verdict !== 'verified') {
    const wrong = checks.find(({ outcome }) => outcome !== 'ok');
    return failed(what, `${wrong?.what ?? 'it'}: ${wrong?.detail ?? 'not verified'}`);
  }
  const isBefore = typeof sequence === 'number' && sequence < decision.sequence;
  return isBefore ? passedCheck(what, 'in the log') : failed(what, 'it is not before the decision');
}

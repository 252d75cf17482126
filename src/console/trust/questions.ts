/**
 * Asks the service for what the page then verifies. Nothing here believes an answer.
 *
 * @module
 */

import { firstPlaceOf, leafIndexOf, ORIGIN_SPAN } from '../../domain/log/origin.ts';
import type {
  AuditAnswer,
  AuditEntry,
  Checkpoint,
  CheckpointDetail,
} from '../../protocol/audit.ts';
import { ask } from '../api.ts';
import type { Asked, GivenEntry } from './entry-steps.ts';

/** Entries of one question, and questions of one search by entry id, for which the log has no index. */
const SEARCH_PAGE = 1_000;
const SEARCH_PAGES_MAX = 10;

/** What a reader typed: a position, an entry id, an invocation id or a leaf hash. */
export function soughtIn(text: string): Asked | undefined {
  if (/^\d{1,15}$/.test(text)) return { sequence: Number(text) };
  if (/^ent_[0-9a-f]{32}$/.test(text)) return { entry_id: text };
  if (/^inv-[0-9a-f]+$/.test(text)) return { invocation_id: text };
  return /^[0-9a-f]{64}$/.test(text) ? { leaf_hash: text } : undefined;
}

/** The entry with its leaf. An entry at another position than asked is an answer too: the caller verifies it. */
export async function findEntry(
  sought: Asked,
  inside: Checkpoint | undefined,
): Promise<AuditEntry> {
  const { sequence, entry_id, invocation_id, leaf_hash } = sought;
  if (sequence !== undefined) return entryAt(sequence);
  if (invocation_id !== undefined) return entryOfInvocation(invocation_id);
  if (entry_id !== undefined) return entryAt(await positionOfEntry(entry_id));
  return entryAt(await positionOfLeaf(leaf_hash ?? '', inside));
}

const NOT_SHOWN =
  'the log has no such entry, or it is not one of yours; an operator with the scope operator:audit reads all';

async function entryAt(sequence: number): Promise<AuditEntry> {
  const { entries } = await ask('audit.query', {
    entry_type: 'all',
    include: 'leaf',
    limit: 1,
    cursor: String(sequence + 1),
  });
  return entries[0] ?? notFound(`entry ${sequence}`);
}

export function notFound(what: string): never {
  throw new Error(`Cannot find ${what}: ${NOT_SHOWN}`);
}

/** The entry of the call itself; where retention or rights leave none, the newest that names it. */
async function entryOfInvocation(invocationId: string): Promise<AuditEntry> {
  const { entries } = await ask('audit.query', {
    entry_type: 'all',
    include: 'leaf',
    invocation_id: invocationId,
  });
  const own = entries.find(({ entry_type }) => entry_type === 'invocation');
  return own ?? entries[0] ?? notFound(`an entry of "${invocationId}"`);
}

async function positionOfEntry(entryId: string): Promise<number> {
  let cursor: string | undefined;
  for (let pages = 0; pages < SEARCH_PAGES_MAX; pages++) {
    const answer = await ask('audit.query', { entry_type: 'all', limit: SEARCH_PAGE, cursor });
    const found = answer.entries.find(({ entry_id }) => entry_id === entryId);
    if (found) return found.sequence;
    if (answer.next_cursor === null) return notFound(`entry "${entryId}"`);
    cursor = answer.next_cursor;
  }
  throw new Error(
    `Cannot find entry "${entryId}" from place ${cursor} on; give its place in the log or its invocation id`,
  );
}

async function positionOfLeaf(leafHash: string, inside: Checkpoint | undefined): Promise<number> {
  const checkpoint = inside ?? (await newestBelow(undefined));
  const { inclusion_proof } = await proved(checkpoint, { hash: leafHash });
  return firstPlaceOf(checkpoint.sequence) + (inclusion_proof?.leaf_index ?? 0);
}

/** The newest checkpoint of the log to which a position belongs. */
export function newestFor(position: number): Promise<Checkpoint> {
  return newestBelow(firstPlaceOf(position) + ORIGIN_SPAN);
}

async function newestBelow(end: number | undefined): Promise<Checkpoint> {
  const cursor = end === undefined ? undefined : String(end);
  const { checkpoints } = await ask('checkpoints.list', { limit: 1, cursor });
  const [found] = checkpoints;
  if (found) return found;
  throw new Error('Cannot verify anything yet: the log has no checkpoint');
}

/** The checkpoint with this number. */
export async function checkpointNumber(sequence: number): Promise<Checkpoint> {
  const found = await newestBelow(sequence + 1);
  if (found.sequence === sequence) return found;
  throw new Error(`Cannot find checkpoint ${sequence}: the log has none with this number`);
}

/** A checkpoint with the proof of one position, or of the leaf with this hash. */
export function proved(
  { checkpoint_id }: Checkpoint,
  leaf: { readonly position: number } | { readonly hash: string },
): Promise<CheckpointDetail> {
  const named =
    'position' in leaf ? { leaf_index: leafIndexOf(leaf.position) } : { leaf_hash: leaf.hash };
  return ask('checkpoints.get', { checkpoint_id, include_proof: true, ...named });
}

/** A checkpoint with the proof that it extends an earlier one; without it, where the two are of different logs. */
export function extending(later: Checkpoint, earlier: Checkpoint): Promise<CheckpointDetail> {
  const { checkpoint_id } = later;
  const isOneLog = firstPlaceOf(later.sequence) === firstPlaceOf(earlier.sequence);
  return ask('checkpoints.get', {
    checkpoint_id,
    ...(isOneLog && { consistency_from: earlier.checkpoint_id }),
  });
}

/** For a decision that a passkey confirmed: the entries that added and removed the passkey, oldest first. */
export async function passkeyEntries(
  { sequence, entry_type, detail }: AuditEntry,
  checkpoint: Checkpoint,
): Promise<NonNullable<GivenEntry['earlier']>> {
  const passkey = detail?.passkey as { credential_id?: unknown } | undefined;
  if (entry_type !== 'approval_decision' || passkey?.credential_id === undefined) return [];
  const found: AuditEntry[] = [];
  let cursor: string | undefined = String(sequence);
  for (let pages = 0; pages < SEARCH_PAGES_MAX && cursor !== undefined; pages++) {
    const answer: AuditAnswer = await ask('audit.query', {
      entry_type: 'session',
      include: 'leaf',
      limit: SEARCH_PAGE,
      cursor,
    });
    const about = answer.entries.filter(
      (each) => each.detail?.credential_id === passkey.credential_id,
    );
    found.unshift(...about.reverse());
    const isWhole = about.some((each) => each.detail?.verb === 'passkey_added');
    cursor = isWhole ? undefined : (answer.next_cursor ?? undefined);
  }
  return Promise.all(
    found.map(async (entry) => ({
      entry,
      checkpoint: await proved(checkpoint, { position: entry.sequence }),
    })),
  );
}

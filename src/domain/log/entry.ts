/**
 * Entries: how a fact about one call or one act of authority becomes a leaf of the log.
 *
 * The leaf is the canonical form of the fields with a random salt, so that a published hash does not reveal
 * them to guessing. Personal fields are kept apart under a salt of their own, and the leaf has only their
 * digest. They can be erased while the rest still verifies, and a holder of both can check both. All bytes
 * are made here once: the stored bytes are the hashed bytes.
 *
 * @module
 */

import type { AuditEntry, EntryState, EntryType, EventClass } from '../../protocol/audit.ts';
import { amended } from '../values/amended.ts';
import { parseDuration } from '../values/duration.ts';
import { createRecent } from '../values/recent.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { sha256Hex, toHex, utf8 } from '../wire/hash.ts';
import { hashLeaf } from './merkle.ts';

/**
 * The form of the leaf. A reader that finds another number does not understand the leaf. A new optional
 * field keeps the number; a field that changes its meaning needs a new one.
 */
export const LEAF_VERSION = 1;

/** Tiles of transparency logs carry a leaf's length in 16 bits. */
export const LEAF_BYTES_MAX = 65_535;

/** Sixteen bytes for the leaf and sixteen for the personal fields. */
export const SALT_BYTES = 32;

/** All fields of an entry except its place and its hash. Fields that do not apply are omitted. */
export type EntryFields = {
  readonly [Field in (typeof REQUIRED_FIELDS)[number]]: NonNullable<AuditEntry[Field]>;
} & {
  readonly [Field in OptionalField]?: NonNullable<AuditEntry[Field]> | undefined;
};

const REQUIRED_FIELDS = [
  'entry_id',
  'entry_type',
  'event_class',
  'success',
  'state',
  'timestamp',
  'actor_key',
  'root_principal',
] as const satisfies readonly (keyof AuditEntry)[];

type OptionalField = (typeof OPTIONAL_FIELDS)[number];

const OPTIONAL_FIELDS = [
  'invocation_id',
  'capability',
  'failure_type',
  'client_reference_id',
  'task_id',
  'parent_invocation_id',
  'upstream_service',
  'approval_request_id',
  'approval_grant_id',
  'token_id',
  'parameters_digest',
  'cost_actual',
  'stream_summary',
  'detail',
  'retention',
] as const satisfies readonly (keyof AuditEntry)[];

/**
 * One entry, ready to be stored: the exact bytes of the leaf, their hash, and the columns that queries use.
 * The columns repeat what the bytes contain; proofs cover the bytes.
 */
export interface EntryRecord {
  readonly entry_id: string;
  readonly entry_type: EntryType;
  readonly root_principal: string;
  readonly actor_key: string;
  readonly capability?: string | undefined;
  readonly invocation_id?: string | undefined;
  readonly client_reference_id?: string | undefined;
  readonly task_id?: string | undefined;
  readonly parent_invocation_id?: string | undefined;
  readonly event_class: EventClass;
  readonly state: EntryState;
  readonly timestamp: Date;
  /** When the contents may be erased, where the entry sets a retention. */
  readonly retain_until?: Date | undefined;
  readonly leaf: Uint8Array;
  /** The personal fields, in canonical form with their salt. The leaf has their digest. */
  readonly personal: Uint8Array;
  readonly leaf_hash: Uint8Array;
}

/**
 * An entry in its place in the log. Retention erases `personal`, or `personal` and `leaf`, and empties the
 * columns that repeated them. It never erases the hash.
 */
export interface StoredEntry extends Omit<EntryRecord, 'leaf' | 'personal'> {
  readonly sequence: number;
  readonly leaf?: Uint8Array | undefined;
  readonly personal?: Uint8Array | undefined;
}

/**
 * Makes the leaf. `salt` is `SALT_BYTES` random bytes, used for nothing else. A caller that has the timestamp as a time
 * may pass it.
 */
export function entryOf(
  fields: EntryFields,
  salt: Uint8Array,
  timestamp: Date = new Date(fields.timestamp),
): EntryRecord {
  if (salt.length !== SALT_BYTES) throw new Error(`Cannot salt a leaf: ${salt.length} bytes`);
  const salts = toHex(salt);
  const personalText = personalTextOf(fields, salts.slice(SALT_BYTES));
  const text = leafTextOf(fields, personalDigest(personalText), salts.slice(0, SALT_BYTES));
  const leaf = utf8(text);
  const personal = utf8(personalText);
  const bytes = Math.max(leaf.length, personal.length);
  if (bytes > LEAF_BYTES_MAX) {
    throw new Error(`Cannot store entry "${fields.entry_id}": its leaf has ${bytes} bytes`);
  }
  return {
    entry_id: fields.entry_id,
    entry_type: fields.entry_type,
    root_principal: fields.root_principal,
    actor_key: fields.actor_key,
    capability: fields.capability,
    invocation_id: fields.invocation_id,
    client_reference_id: fields.client_reference_id,
    task_id: fields.task_id,
    parent_invocation_id: fields.parent_invocation_id,
    event_class: fields.event_class,
    state: fields.state,
    timestamp,
    retain_until: retainUntil(timestamp, fields.retention),
    leaf,
    personal,
    leaf_hash: hashLeaf(text),
  };
}

/** The digest that the leaf has in place of the personal fields. */
export function personalDigest(personal: Uint8Array | string): string {
  return `sha256:${sha256Hex(personal)}`;
}

/** Retentions that were read: each call has one of the few that a service declares. */
const lengths = createRecent<string, number>(64);

/** When an entry with a retention may be erased. */
export function retainUntil(timestamp: Date, retention: string | undefined): Date | undefined {
  if (retention === undefined) return undefined;
  let milliseconds = lengths.get(retention);
  if (milliseconds === undefined) {
    milliseconds = parseDuration(retention);
    if (milliseconds === undefined) {
      throw new Error(`Cannot store an entry for "${retention}": it is not a duration`);
    }
    lengths.set(retention, milliseconds);
  }
  return new Date(timestamp.getTime() + milliseconds);
}

/**
 * The personal fields in canonical JSON: those that name a person, hold a caller's own text, or could be guessed back
 * to a person (decision 18 has the reason for each). The names stand in their order here, so that nothing is sorted:
 * every call makes these two texts. A test compares them with what the canonical writer makes of the same fields.
 */
function personalTextOf(fields: EntryFields, salt: string): string {
  return `{"actor_key":${canonicalJson(fields.actor_key)}${
    member(',"client_reference_id":', fields.client_reference_id) +
    member(',"detail":', fields.detail) +
    member(',"parameters_digest":', fields.parameters_digest)
  },"root_principal":${canonicalJson(fields.root_principal)},"salt":"${salt}"${
    member(',"task_id":', fields.task_id) + member(',"upstream_service":', fields.upstream_service)
  }}`;
}

/** The other fields in canonical JSON, with the digest of the personal ones. */
function leafTextOf(fields: EntryFields, personal: string, salt: string): string {
  const first =
    member('"approval_grant_id":', fields.approval_grant_id, ',') +
    member('"approval_request_id":', fields.approval_request_id, ',') +
    member('"capability":', fields.capability, ',') +
    member('"cost_actual":', fields.cost_actual, ',');
  return `{${first}"entry_id":${canonicalJson(fields.entry_id)},"entry_type":"${
    fields.entry_type
  }","event_class":"${fields.event_class}"${
    member(',"failure_type":', fields.failure_type) +
    member(',"invocation_id":', fields.invocation_id) +
    member(',"parent_invocation_id":', fields.parent_invocation_id)
  },"personal":"${personal}"${member(',"retention":', fields.retention)},"salt":"${salt}","state":"${
    fields.state
  }"${member(',"stream_summary":', fields.stream_summary)},"success":${
    fields.success
  },"timestamp":"${fields.timestamp}"${member(',"token_id":', fields.token_id)},"v":${LEAF_VERSION}}`;
}

/** A member whose value may be absent. */
function member(name: string, value: unknown, after = ''): string {
  return value === undefined ? '' : name + canonicalJson(value) + after;
}

/** A stored entry as it travels. Fields that do not apply, or were erased, are null. */
export function entryView(stored: StoredEntry): AuditEntry {
  const stated: Partial<AuditEntry> = amended(readFields(stored.leaf), readFields(stored.personal));
  const optional: Partial<Record<OptionalField, unknown>> = {};
  for (const field of OPTIONAL_FIELDS) optional[field] = stated[field] ?? null;
  const view = {
    entry_id: stored.entry_id,
    sequence: stored.sequence,
    entry_type: stored.entry_type,
    actor_key: stored.actor_key || null,
    root_principal: stored.root_principal || null,
    event_class: stored.event_class,
    success: stored.event_class.endsWith('_success'),
    state: stored.state,
    timestamp: stored.timestamp.toISOString(),
    leaf_hash: toHex(stored.leaf_hash),
  };
  const erased = stored.leaf ? (stored.personal ? undefined : 'personal') : 'contents';
  const fields = amended(view, optional as Pick<AuditEntry, OptionalField>);
  return erased ? amended(fields, { erased }) : fields;
}

const decoder = new TextDecoder();

function readFields(bytes: Uint8Array | undefined): object {
  return bytes ? JSON.parse(decoder.decode(bytes)) : {};
}

/**
 * Entries: how a fact about one call or one act of authority becomes a leaf of the log.
 *
 * The leaf is the canonical form of the facts with a random salt, so that a published hash cannot be
 * guessed back. Its bytes are made here, once, and never again: what is stored is what was hashed.
 *
 * @module
 */

import type { AuditEntry, EntryState, EntryType, EventClass } from '../protocol/audit.ts';
import { canonicalJson } from './canonical.ts';
import { toHex } from './hash.ts';
import { hashLeaf } from './merkle.ts';

/** The form of the leaf. A reader that meets another number knows that it does not know. */
export const LEAF_VERSION = 1;

/** Tiles of transparency logs carry a leaf's length in 16 bits. */
export const LEAF_BYTES_MAX = 65_535;

export const SALT_BYTES = 16;

/** Everything an entry says, but for its place and its hash. What does not apply is left out. */
export type EntryFields = Pick<
  AuditEntry,
  | 'entry_id'
  | 'entry_type'
  | 'actor_key'
  | 'root_principal'
  | 'event_class'
  | 'success'
  | 'state'
  | 'timestamp'
> & {
  readonly [Field in OptionalField]?: NonNullable<AuditEntry[Field]> | undefined;
};

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
] as const satisfies readonly (keyof AuditEntry)[];

/**
 * One entry, ready to be kept: the leaf's exact bytes, their hash, and the columns by which it is
 * found. The columns repeat what the bytes say; the bytes are what proofs are about.
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
  readonly leaf: Uint8Array;
  readonly leaf_hash: Uint8Array;
}

/** An entry in its place. `leaf` is gone when retention erased the contents; the hash never goes. */
export interface StoredEntry extends Omit<EntryRecord, 'leaf'> {
  readonly sequence: number;
  readonly leaf?: Uint8Array | undefined;
}

/** Makes the leaf. `salt` is `SALT_BYTES` random bytes, used for nothing else. */
export function entryOf(fields: EntryFields, salt: Uint8Array): EntryRecord {
  if (salt.length !== SALT_BYTES) throw new Error(`Cannot salt a leaf: ${salt.length} bytes`);
  const said = Object.entries(fields).filter(([, value]) => value !== undefined);
  const text = canonicalJson({ ...Object.fromEntries(said), v: LEAF_VERSION, salt: toHex(salt) });
  const leaf = new TextEncoder().encode(text);
  if (leaf.length > LEAF_BYTES_MAX) {
    throw new Error(`Cannot keep entry "${fields.entry_id}": its leaf has ${leaf.length} bytes`);
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
    timestamp: new Date(fields.timestamp),
    leaf,
    leaf_hash: hashLeaf(leaf),
  };
}

/** What a stored entry says, as it travels. Fields that do not apply, or were erased, are null. */
export function entryView(stored: StoredEntry): AuditEntry {
  const said: Partial<AuditEntry> = stored.leaf
    ? JSON.parse(new TextDecoder().decode(stored.leaf))
    : {};
  const optional = Object.fromEntries(OPTIONAL_FIELDS.map((field) => [field, said[field] ?? null]));
  return {
    entry_id: stored.entry_id,
    sequence: stored.sequence,
    entry_type: stored.entry_type,
    actor_key: stored.actor_key,
    root_principal: stored.root_principal,
    event_class: stored.event_class,
    success: stored.event_class.endsWith('_success'),
    state: stored.state,
    timestamp: stored.timestamp.toISOString(),
    leaf_hash: toHex(stored.leaf_hash),
    ...(optional as Pick<AuditEntry, OptionalField>),
  };
}

/**
 * Identities in the store, on the wire: what operators add, list and remove, and what the entries say about it.
 *
 * The service never sees a credential, only its SHA-256. Requests are strict: a misspelt field must not leave an
 * identity with more than was meant.
 *
 * @module
 */

import * as z from 'zod';
import {
  boundedText,
  CallerClass,
  Cursor,
  Flag,
  HexHash,
  ID_LENGTH_MAX,
  NextCursor,
  optional,
  Principal,
  pageSize,
  Scope,
  Timestamp,
} from './primitives.ts';

export const IdentityId = z.string().regex(/^idn_[0-9a-f]{32}$/, 'expected an identity id');

/** Scopes or patterns of one identity. */
export const IDENTITY_SCOPES_MAX = 64;

/** Subjects, and caller classes, of one identity. With the scopes they fit into the leaf of one entry. */
export const IDENTITY_NAMES_MAX = 16;

/** A page has at most 1 MiB, so it may have fewer items than its limit. */
const IDENTITY_PAGE_MAX = 1_000;

/** A principal, or a pattern with one star; `domain/authority/entitlement.ts` decides. */
const SubjectPattern = boundedText(2 * ID_LENGTH_MAX);

export const IdentityAddRequest = z.strictObject({
  principal: Principal,
  /** Of the credential. The credential itself is never sent. */
  key_sha256: HexHash,
  scopes: optional(z.array(Scope).max(IDENTITY_SCOPES_MAX)),
  subjects: optional(z.array(SubjectPattern).max(IDENTITY_NAMES_MAX)),
  /** Absent: the class of the identity that adds it. */
  caller_class: optional(CallerClass),
  caller_classes: optional(z.array(CallerClass).max(IDENTITY_NAMES_MAX)),
});
export type IdentityAddRequest = z.output<typeof IdentityAddRequest>;

export const StoredIdentity = z.object({
  identity_id: IdentityId,
  /** Null for a person who signs in with a passkey. */
  key_sha256: HexHash.nullable(),
  principal: Principal,
  scopes: z.array(z.string()),
  subjects: z.array(z.string()),
  caller_class: CallerClass,
  caller_classes: z.array(CallerClass),
  created_at: Timestamp,
  created_by: Principal,
  removed_at: Timestamp.nullable(),
  removed_by: Principal.nullable(),
});
export type StoredIdentity = z.infer<typeof StoredIdentity>;

export const IdentityListRequest = z.strictObject({
  /** Removed ones too. */
  removed: optional(Flag).transform((removed) => removed ?? false),
  limit: pageSize(IDENTITY_PAGE_MAX, IDENTITY_PAGE_MAX),
  cursor: optional(Cursor),
});
export type IdentityListRequest = z.output<typeof IdentityListRequest>;

export const IdentityListAnswer = z.object({
  identities: z.array(StoredIdentity),
  next_cursor: NextCursor,
});
export type IdentityListAnswer = z.infer<typeof IdentityListAnswer>;

export const IdentityRemoveRequest = z.strictObject({ identity_id: IdentityId });
export type IdentityRemoveRequest = z.output<typeof IdentityRemoveRequest>;

/**
 * `removed` is false when there is no such identity or it was removed before. `identity` is null then, and for a row
 * that was altered outside the service.
 */
export const IdentityRemoveAnswer = z.object({
  removed: z.boolean(),
  identity: StoredIdentity.nullable(),
});
export type IdentityRemoveAnswer = z.infer<typeof IdentityRemoveAnswer>;

/** The detail of the entry that adds an identity. */
export const IdentityAdded = z.object({
  verb: z.literal('identity_added'),
  identity_id: IdentityId,
  key_sha256: HexHash.nullable(),
  principal: z.string(),
  scopes: z.array(z.string()),
  subjects: z.array(z.string()),
  caller_class: z.string(),
  caller_classes: z.array(z.string()),
});
export type IdentityAdded = z.infer<typeof IdentityAdded>;

export const IdentityRemoved = z.object({
  verb: z.literal('identity_removed'),
  identity_id: IdentityId,
});
export type IdentityRemoved = z.infer<typeof IdentityRemoved>;

/**
 * Ids: their forms, and a type for each so that one cannot be passed for another.
 *
 * The caller supplies the random bytes. All ids but two carry 128 random bits and cannot be guessed; that of a
 * binding has its time in front of them. An invocation id has the specified 48 bits, and invocation ids and entry
 * ids begin with their time in place of random bits: they are names, never secrets and never authority.
 *
 * @module
 */

import { toHex } from './hash.ts';

declare const kind: unique symbol;
type Id<Kind extends string> = string & { readonly [kind]: Kind };

export type TokenId = Id<'token'>;
export type ApprovalRequestId = Id<'approval_request'>;
export type GrantId = Id<'grant'>;
export type CheckpointId = Id<'checkpoint'>;
export type InvocationId = Id<'invocation'>;
export type BindingId = Id<'binding'>;
export type EntryId = Id<'entry'>;
export type SessionId = Id<'session'>;
export type ConsentId = Id<'consent'>;
export type IdentityId = Id<'identity'>;
export type InvitationId = Id<'invitation'>;

/** The id type of each prefix. */
export interface IdKinds {
  tok_: TokenId;
  apr_: ApprovalRequestId;
  gnt_: GrantId;
  'ckpt-': CheckpointId;
  'inv-': InvocationId;
  bnd_: BindingId;
  ent_: EntryId;
  ses_: SessionId;
  con_: ConsentId;
  idn_: IdentityId;
  pin_: InvitationId;
}
export type IdPrefix = keyof IdKinds;

export const ID_PATTERNS = {
  tok_: /^tok_[0-9a-f]{32}$/,
  apr_: /^apr_[0-9a-f]{32}$/,
  gnt_: /^gnt_[0-9a-f]{32}$/,
  'ckpt-': /^ckpt-[0-9a-f]{32}$/,
  'inv-': /^inv-[0-9a-f]{12}$/,
  bnd_: /^bnd_[0-9a-f]{44}$/,
  ent_: /^ent_[0-9a-f]{32}$/,
  ses_: /^ses_[0-9a-f]{32}$/,
  con_: /^con_[0-9a-f]{32}$/,
  idn_: /^idn_[0-9a-f]{32}$/,
  pin_: /^pin_[0-9a-f]{32}$/,
} as const satisfies Record<IdPrefix, RegExp>;

/** Bytes each id takes. A time, where an id has one, replaces the first of them. */
export const ID_BYTES = {
  tok_: 16,
  apr_: 16,
  gnt_: 16,
  'ckpt-': 16,
  'inv-': 6,
  bnd_: 22,
  ent_: 16,
  ses_: 16,
  con_: 16,
  idn_: 16,
  pin_: 16,
} as const satisfies Record<IdPrefix, number>;

/** Makes an id of exactly the required number of bytes. Fewer would be guessable, so they are a defect. */
export function idOf<Prefix extends IdPrefix>(prefix: Prefix, bytes: Uint8Array): IdKinds[Prefix] {
  if (bytes.length !== ID_BYTES[prefix]) {
    throw new RangeError(
      `Cannot make id "${prefix}": ${bytes.length} random bytes, it takes ${ID_BYTES[prefix]}`,
    );
  }
  return `${prefix}${toHex(bytes)}` as IdKinds[Prefix];
}

/** True for the form of this kind of id. The store knows whether such an id exists. */
export function isId<Prefix extends IdPrefix>(
  prefix: Prefix,
  text: unknown,
): text is IdKinds[Prefix] {
  return typeof text === 'string' && ID_PATTERNS[prefix].test(text);
}

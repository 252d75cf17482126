/**
 * What an example is, and the values that all examples share.
 *
 * @module
 */

export type Document = Readonly<Record<string, unknown>>;

/** One form of a document: with every field it can have, and with the required ones only. */
export interface Example {
  readonly full: unknown;
  readonly minimal: unknown;
}

export type Examples = Readonly<Record<string, readonly Example[]>>;

/** A document of which nothing can be left out. */
export function whole(document: unknown): Example {
  return { full: document, minimal: document };
}

/** The named fields of a document. */
export function only(document: Document, ...names: string[]): Document {
  return Object.fromEntries(names.map((name) => [name, document[name]]));
}

const HEX_32 = '0123456789abcdef0123456789abcdef';

export const HASH = HEX_32 + HEX_32;
export const DIGEST = `sha256:${HASH}`;
/** 64 bytes in base64url, behind a header and an absent payload. */
export const SIGNATURE = `eyJhbGciOiJFUzI1NiJ9..${'A'.repeat(86)}`;
export const TIME = '2026-03-04T05:06:07.890Z';

export const TOKEN_ID = `tok_${HEX_32}`;
export const REQUEST_ID = `apr_${HEX_32}`;
export const GRANT_ID = `gnt_${HEX_32}`;
export const CHECKPOINT_ID = `ckpt-${HEX_32}`;
export const ENTRY_ID = `ent_${HEX_32}`;
export const INVOCATION_ID = 'inv-0123456789ab';
export const PARENT_INVOCATION_ID = 'inv-ba9876543210';

export const HUMAN = 'human:samir@example.com';
export const AGENT = 'agent:booker';

export const budget = { currency: 'USD', max_amount: 500 };
export const money = { currency: 'USD', amount: 420.5 };

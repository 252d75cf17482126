/**
 * The header `Prefer` (RFC 7240): what a client prefers and a service may ignore.
 *
 * A preference that is malformed or unknown is ignored, and so are the parameters of a preference. If a
 * preference occurs twice, the first occurrence counts. A header that is too long has no preference.
 *
 * @module
 */

import { PREFER_LENGTH_MAX } from '../../protocol/primitives.ts';

/** What a caller prefers to get a signed receipt, and what the answer says when it has one. */
export const SIGNED_RECEIPT = 'receipt=signed';

/** The value of a preference; empty where it has none. `undefined` for a preference that is not in the header. */
export function preferenceIn(header: string | undefined, name: string): string | undefined {
  if (header === undefined || header.length > PREFER_LENGTH_MAX) return undefined;
  for (const member of header.match(MEMBER) ?? []) {
    const [, named, value = ''] = PREFERENCE.exec(member) ?? [];
    if (named?.toLowerCase() === name) return value.startsWith('"') ? unquoted(value) : value;
  }
  return undefined;
}

export function prefersSignedReceipt(header: unknown): boolean {
  return typeof header === 'string' && preferenceIn(header, 'receipt') === 'signed';
}

/** A member of the list, up to a comma outside of quotes. An open quote takes the rest. */
const MEMBER = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g;

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const QUOTED = '"(?:[^"\\\\]|\\\\.)*"';
// A space is matched in one place only, so that a mismatch is found in linear time.
const PREFERENCE = new RegExp(
  `^[ \\t]*(${TOKEN})[ \\t]*(?:=[ \\t]*(?:(${TOKEN}|${QUOTED})[ \\t]*)?)?(?:;|$)`,
);

function unquoted(text: string): string {
  return text.slice(1, -1).replaceAll(/\\(.)/g, '$1');
}

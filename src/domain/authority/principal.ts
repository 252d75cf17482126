/**
 * Principals: who acts. A principal is a class, a colon and a name, compared as an exact string.
 *
 * Decides which texts are principals, so that no two look alike or change class. A name is in NFC, has no
 * invisible or reordering characters, and does not begin like a class. Knows nothing about credentials or
 * entitlements.
 *
 * @module
 */

import { PRINCIPAL, PrincipalClass } from '../../protocol/primitives.ts';

export interface Principal {
  readonly class: PrincipalClass;
  readonly name: string;
}

/** Code points of a name: the bound that every id has. */
export const PRINCIPAL_NAME_MAX = 256;

/** Reads a principal. Refuses text that is not in NFC: it would only look equal to another principal. */
export function parsePrincipal(text: unknown): Principal | undefined {
  if (typeof text !== 'string' || !PRINCIPAL.test(text)) return undefined;
  const colon = text.indexOf(':');
  const name = text.slice(colon + 1);
  // ASCII is its own normal form, so the tables of Unicode are read only for other names.
  const isAscii = ASCII.test(name);
  if (!isAscii && name !== name.normalize('NFC')) return undefined;
  if (CLASS_PREFIX.test(isAscii ? name : name.normalize('NFKC'))) return undefined;
  return { class: text.slice(0, colon) as PrincipalClass, name };
}

export function isPrincipal(text: unknown): text is string {
  return parsePrincipal(text) !== undefined;
}

/** Builds a principal from an external name, converted to NFC. `undefined` when the name cannot be one. */
export function principalOf(principalClass: PrincipalClass, name: string): string | undefined {
  // Before normalising, because a hostile name can be long. NFC joins at most four code units.
  if (name.length > PRINCIPAL_NAME_MAX * 4) return undefined;
  const text = `${principalClass}:${name.normalize('NFC')}`;
  return isPrincipal(text) ? text : undefined;
}

/**
 * Whether a configured pattern matches this principal. A pattern is the exact text, or has one star after
 * the class that stands for at least one character. A star never matches a part of the class.
 */
export function matchesPrincipal(pattern: string, principal: string): boolean {
  if (!isPrincipal(principal)) return false;
  if (pattern === principal) return true;

  const star = pattern.indexOf('*');
  const colon = pattern.indexOf(':');
  if (colon < 0 || star < colon) return false;

  // A second star is literal and matches nothing: no principal contains a star.
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return (
    principal.length > before.length + after.length &&
    principal.startsWith(before) &&
    principal.endsWith(after)
  );
}

/** Whether one pattern matches every principal that another matches. */
export function matchesPattern(pattern: string, given: string): boolean {
  if (!isPrincipalPattern(given) || !isPrincipalPattern(pattern)) return false;
  if (!given.includes('*')) return matchesPrincipal(pattern, given);
  if (!pattern.includes('*')) return false;
  const [[before = '', after = ''], [start = '', end = '']] = [
    pattern.split('*'),
    given.split('*'),
  ];
  return start.startsWith(before) && end.endsWith(after);
}

/** Whether a configured pattern can match any principal: with a letter in place of its star it is one. */
export function isPrincipalPattern(pattern: string): boolean {
  return isPrincipal(pattern.replace('*', 'x'));
}

const ASCII = /^[\x20-\x7e]*$/;

/** Tested on the NFKC form, so that full-width letters cannot hide a class. */
const CLASS_PREFIX = new RegExp(`^(?:${PrincipalClass.options.join('|')}):`, 'i');

/**
 * Principals: who acts. A class, a colon and a name, compared as exact strings.
 *
 * Decides which texts are principals, so that no two look alike or swap class: normalised (NFC),
 * no character that is invisible or reorders text, and no name that begins like a class. Knows
 * nothing about credentials or entitlements.
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

/** Reads a principal. Text that is not in NFC is none: it would equal another only to the eye. */
export function parsePrincipal(text: unknown): Principal | undefined {
  if (typeof text !== 'string' || !PRINCIPAL.test(text)) return undefined;
  const colon = text.indexOf(':');
  const name = text.slice(colon + 1);
  if (name !== name.normalize('NFC') || CLASS_PREFIX.test(name.normalize('NFKC'))) return undefined;
  return { class: text.slice(0, colon) as PrincipalClass, name };
}

export function isPrincipal(text: unknown): text is string {
  return parsePrincipal(text) !== undefined;
}

/** Makes a principal from an outside name, in NFC, or undefined when the name cannot be one. */
export function principalOf(principalClass: PrincipalClass, name: string): string | undefined {
  // Before normalising, because a hostile name can be long: at most four code units become one.
  if (name.length > PRINCIPAL_NAME_MAX * 4) return undefined;
  const text = `${principalClass}:${name.normalize('NFC')}`;
  return isPrincipal(text) ? text : undefined;
}

/**
 * Whether a configured pattern means this principal: the exact text, or one star anywhere after the
 * class that stands for at least one character. A star never reaches into the class.
 */
export function matchesPrincipal(pattern: string, principal: string): boolean {
  if (!isPrincipal(principal)) return false;
  if (pattern === principal) return true;

  const star = pattern.indexOf('*');
  const colon = pattern.indexOf(':');
  if (colon < 0 || star < colon) return false;

  // A second star is taken literally and so finds nothing: no principal has one.
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return (
    principal.length > before.length + after.length &&
    principal.startsWith(before) &&
    principal.endsWith(after)
  );
}

/** Whether a configured pattern could mean anyone: it is a principal once its star is a letter. */
export function isPrincipalPattern(pattern: string): boolean {
  return isPrincipal(pattern.replace('*', 'x'));
}

/** Looked for in compatibility form, so that full-width letters do not hide a class. */
const CLASS_PREFIX = new RegExp(`^(?:${PrincipalClass.options.join('|')}):`, 'i');

/**
 * Characters that a reader would not see or would mistake: where they are in a text, and what they are.
 *
 * `visibleText` decides which characters these are.
 *
 * @module
 */

import type { JsonObject } from '../../protocol/primitives.ts';
import { visibleText } from '../wire/visible-text.ts';

export interface Hidden {
  /** "U+202E". */
  readonly code: string;
  /** What it is or does, in words. */
  readonly name: string;
  /** Characters before it. */
  readonly at: number;
}

/** Every character of a text that `Shown` marks. */
export function hiddenIn(text: string): Hidden[] {
  const found: Hidden[] = [];
  let at = 0;
  for (const piece of piecesOf(text)) {
    if (isMark(piece)) {
      const code = piece.slice(1, -1);
      found.push({ code, name: nameOf(code), at });
      at += 1;
    } else {
      at += [...piece].length;
    }
  }
  return found;
}

/** A text cannot contain a mark itself: `visibleText` marks its brackets. */
const MARK = /(⟨U\+[0-9A-F]{4,6}⟩)/;

export function piecesOf(text: string): string[] {
  return visibleText(text)
    .split(MARK)
    .filter((piece) => piece !== '');
}

export function isMark(piece: string): boolean {
  return piece.startsWith('⟨');
}

/** The characters that people use to mislead. */
const NAMES: Readonly<Record<string, string>> = {
  'U+0009': 'CHARACTER TABULATION',
  'U+000A': 'LINE FEED',
  'U+000D': 'CARRIAGE RETURN',
  'U+00A0': 'NO-BREAK SPACE',
  'U+00AD': 'SOFT HYPHEN',
  'U+061C': 'ARABIC LETTER MARK',
  'U+200B': 'ZERO WIDTH SPACE',
  'U+200C': 'ZERO WIDTH NON-JOINER',
  'U+200D': 'ZERO WIDTH JOINER',
  'U+200E': 'LEFT-TO-RIGHT MARK',
  'U+200F': 'RIGHT-TO-LEFT MARK',
  'U+2028': 'LINE SEPARATOR',
  'U+2029': 'PARAGRAPH SEPARATOR',
  'U+202A': 'LEFT-TO-RIGHT EMBEDDING',
  'U+202B': 'RIGHT-TO-LEFT EMBEDDING',
  'U+202C': 'POP DIRECTIONAL FORMATTING',
  'U+202D': 'LEFT-TO-RIGHT OVERRIDE',
  'U+202E': 'RIGHT-TO-LEFT OVERRIDE',
  'U+202F': 'NARROW NO-BREAK SPACE',
  'U+2060': 'WORD JOINER',
  'U+2066': 'LEFT-TO-RIGHT ISOLATE',
  'U+2067': 'RIGHT-TO-LEFT ISOLATE',
  'U+2068': 'FIRST STRONG ISOLATE',
  'U+2069': 'POP DIRECTIONAL ISOLATE',
  'U+3000': 'IDEOGRAPHIC SPACE',
  'U+FEFF': 'ZERO WIDTH NO-BREAK SPACE',
};

/** What the others have in common, the narrowest kind first. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/\p{Cc}/u, 'a control character'],
  [/[\p{Cf}\p{Default_Ignorable_Code_Point}]/u, 'an invisible character'],
  [/\p{Z}/u, 'an unusual space'],
  [/\p{C}/u, 'a character without a meaning in Unicode'],
  [/\p{M}/u, 'a mark that changes the letter before it'],
];

function nameOf(code: string): string {
  const character = String.fromCodePoint(Number.parseInt(code.slice(2), 16));
  const kind = KINDS.find(([pattern]) => pattern.test(character))?.[1];
  return NAMES[code] ?? kind ?? `“${character}”, which looks like another character`;
}

export interface HiddenField {
  /** Such as `passenger.name`; empty for the value itself. */
  readonly path: string;
  readonly text: string;
  readonly hidden: readonly Hidden[];
}

/**
 * Every text in a value, and every name in it, that has a character which `Shown` marks. Where `isLined`, the page
 * shows each line of a text on its own, so a line feed is not hidden.
 */
export function hiddenFields(value: unknown, path = '', isLined = false): HiddenField[] {
  if (typeof value === 'string') {
    const hidden = hiddenIn(value).filter(({ code }) => !isLined || code !== 'U+000A');
    return hidden.length > 0 ? [{ path, text: value, hidden }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return sortedNames(value).flatMap((name) => {
    const inner = path === '' ? name : `${path}.${name}`;
    const hidden = hiddenIn(name);
    const own = hidden.length > 0 ? [{ path: `name of ${inner}`, text: name, hidden }] : [];
    return [...own, ...hiddenFields((value as JsonObject)[name], inner, isLined)];
  });
}

/** "U+202E RIGHT-TO-LEFT OVERRIDE, after character 4". */
export function hiddenWords(hidden: readonly Hidden[]): string {
  return hidden.map(({ code, name, at }) => `${code} ${name}, after character ${at}`).join('; ');
}

/** Names in the order in which they are hashed and signed. */
export function sortedNames(value: object): string[] {
  return Object.keys(value).sort();
}

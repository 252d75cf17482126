/**
 * Text that other people, agents and clients wrote: characters that are invisible, reorder the text or imitate
 * others stand as marks in their place.
 *
 * The text is isolated, so that its direction cannot reach the text around it.
 *
 * @module
 */

import { visibleText } from '../../domain/wire/visible-text.ts';

export function Shown({ text }: { readonly text: string }) {
  return <bdi>{piecesOf(text).map((piece) => (isMark(piece) ? <Mark of={piece} /> : piece))}</bdi>;
}

function Mark({ of }: { readonly of: string }) {
  return <span class="ctl">{of}</span>;
}

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
      found.push({ code, name: nameOf(Number.parseInt(code.slice(2), 16)), at });
      at += 1;
    } else {
      at += [...piece].length;
    }
  }
  return found;
}

/** A text cannot contain a mark itself: `visibleText` marks its brackets. */
const MARK = /(⟨U\+[0-9A-F]{4,6}⟩)/;

function piecesOf(text: string): string[] {
  return visibleText(text)
    .split(MARK)
    .filter((piece) => piece !== '');
}

function isMark(piece: string): boolean {
  return piece.startsWith('⟨');
}

/** By code point: the characters that people use to mislead. */
const NAMES: Readonly<Record<number, string>> = {
  9: 'CHARACTER TABULATION',
  10: 'LINE FEED',
  13: 'CARRIAGE RETURN',
  160: 'NO-BREAK SPACE',
  173: 'SOFT HYPHEN',
  1564: 'ARABIC LETTER MARK',
  8203: 'ZERO WIDTH SPACE',
  8204: 'ZERO WIDTH NON-JOINER',
  8205: 'ZERO WIDTH JOINER',
  8206: 'LEFT-TO-RIGHT MARK',
  8207: 'RIGHT-TO-LEFT MARK',
  8232: 'LINE SEPARATOR',
  8233: 'PARAGRAPH SEPARATOR',
  8234: 'LEFT-TO-RIGHT EMBEDDING',
  8235: 'RIGHT-TO-LEFT EMBEDDING',
  8236: 'POP DIRECTIONAL FORMATTING',
  8237: 'LEFT-TO-RIGHT OVERRIDE',
  8238: 'RIGHT-TO-LEFT OVERRIDE',
  8239: 'NARROW NO-BREAK SPACE',
  8288: 'WORD JOINER',
  8294: 'LEFT-TO-RIGHT ISOLATE',
  8295: 'RIGHT-TO-LEFT ISOLATE',
  8296: 'FIRST STRONG ISOLATE',
  8297: 'POP DIRECTIONAL ISOLATE',
  12288: 'IDEOGRAPHIC SPACE',
  65279: 'ZERO WIDTH NO-BREAK SPACE',
};

/** What the others have in common, the narrowest kind first. */
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/\p{Cc}/u, 'a control character'],
  [/[\p{Cf}\p{Default_Ignorable_Code_Point}]/u, 'an invisible character'],
  [/\p{Z}/u, 'an unusual space'],
  [/\p{C}/u, 'a character without a meaning in Unicode'],
  [/\p{M}/u, 'a mark that changes the letter before it'],
];

function nameOf(code: number): string {
  const character = String.fromCodePoint(code);
  const kind = KINDS.find(([pattern]) => pattern.test(character))?.[1];
  return NAMES[code] ?? kind ?? `“${character}”, which looks like another character`;
}

/**
 * Visible text: shows a person what a text really holds.
 *
 * Characters that are drawn as nothing, reorder what stands around them or pass for others are
 * written as `⟨U+202E⟩`. The opening bracket itself is too, so no text can imitate the marks and two
 * different texts never look the same. Decides nothing about what is allowed.
 *
 * @module
 */

import type { JsonObject } from '../protocol/primitives.ts';

/** The same object with every text in it, also every name, made visible. */
export function visibleObject(value: JsonObject): JsonObject {
  return visibleValue(value) as JsonObject;
}

export function visibleText(text: string): string {
  return text.replaceAll(HIDDEN_OR_WORD, (found) => {
    return HIDDEN.test(found) ? mark(found) : visibleWord(found);
  });
}

function visibleValue(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value);
  if (Array.isArray(value)) return value.map(visibleValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [visibleText(name), visibleValue(member)]),
  );
}

/**
 * What is drawn as nothing, as a gap or against the order: category C (control, format, private,
 * unassigned), separators other than the space, fillers and selectors; and our own bracket.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}⟨]|(?! )\p{Zs}/u;

/** Some of the hidden count as letters or marks, so they are looked for first. */
const HIDDEN_OR_WORD = new RegExp(
  `${HIDDEN.source}|(?:(?!${HIDDEN.source})[\\p{L}\\p{M}\\p{N}])+`,
  'gu',
);

/** Scripts whose letters pass for Latin ones. */
const TWIN_SCRIPT =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;

const LATIN = /\p{Script=Latin}/u;

/** Letters that are drawn like Latin ones: a word made of nothing else reads as another word. */
const TWINS = new Set(
  'АВСЕНІЈКМОРЅТХҮԌԚԜасеорхуіјѕһԁԛԝүӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧνοιαρυκχջօոսԱՕՍꓐꓚꓓꓰꓖꓧꓙꓗꓡꓠꓳꓑꓢꓔꓦꓪꓫꓬꓜᎪᏴᏟᎠᎬᎮᎫᏦᏞᎷᏢᏚᎢᏙᏔᏃ',
);

function visibleWord(word: string): string {
  if (/^[\x21-\x7e]*$/.test(word)) return word;
  const letters = [...word];
  const mixed = letters.some((letter) => LATIN.test(letter) || /[0-9]/.test(letter));
  const twins = letters.every((letter) => TWINS.has(letter));
  return letters
    .map((letter) => (isMisleading(letter, mixed || twins) ? mark(letter) : letter))
    .join('');
}

/** A letter of another script in a Latin word, or a styled copy of an ASCII character. */
function isMisleading(letter: string, amongLatin: boolean): boolean {
  if (amongLatin && TWIN_SCRIPT.test(letter)) return true;
  return letter > '\x7f' && /^[\x21-\x7e]+$/.test(letter.normalize('NFKC'));
}

function mark(character: string): string {
  const code = (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
  return `⟨U+${code}⟩`;
}

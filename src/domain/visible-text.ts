/**
 * Visible text: shows a person what a text really holds.
 *
 * Characters that are drawn as nothing, reorder what stands around them or pass for others are
 * written as `⟨U+202E⟩`. The opening bracket and its like are too, so no text can imitate the marks
 * and two different texts are never the same afterwards. That no two of them look the same is more
 * than a table can promise: letters are marked where they stand among Latin ones, where a word has
 * nothing but known look-alikes, and where Unicode itself knows another form of them; signs unless
 * they are known to pass for no other. Decides nothing about what is allowed.
 *
 * @module
 */

import type { JsonObject } from '../protocol/primitives.ts';

/** The same object with every text in it, also every name, made visible. */
export function visibleObject(value: JsonObject): JsonObject {
  return visibleValue(value) as JsonObject;
}

export function visibleText(text: string): string {
  return text.replaceAll(HIDDEN_OR_WORD_OR_SIGN, (found) => {
    if (HIDDEN.test(found)) return mark(found);
    if (WORD_START.test(found)) return visibleWord(found);
    return PLAIN_SIGN.test(found) ? found : mark(found);
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
 * unassigned), separators other than the space, fillers and selectors.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u;

/** Some of the hidden count as letters or marks, so they are looked for first. */
const HIDDEN_OR_WORD_OR_SIGN = new RegExp(
  `${HIDDEN.source}|(?:(?!${HIDDEN.source})[\\p{L}\\p{M}\\p{N}])+|(?![\\x21-\\x7e])[\\p{P}\\p{S}]`,
  'gu',
);

const WORD_START = /^[\p{L}\p{M}\p{N}]/u;

/**
 * Signs beyond ASCII that are drawn like no other. Not among them, though common: dashes, single
 * quotes, the multiplication sign and whatever else passes for a sign or a letter of ASCII.
 */
const PLAIN_SIGN =
  /^(?:[¡¢£¤¥§©«®°±¶·»¿÷„“”†‡•‰€₣₤₦₨₩₪₫₱₴₸₹₺₽₿←↑→↓≈≠≤≥✓،؛؟।॥、。「」『』【】《》]|(?=[\u{1F300}-\u{1FAFF}])\p{Emoji_Presentation})$/u;

function visibleWord(word: string): string {
  if (/^[\x21-\x7e]*$/.test(word)) return word;
  const letters = [...word];
  const about: WordFacts = {
    hasLatin: letters.some((letter) => LATIN.test(letter)),
    hasDigit: /[0-9]/.test(word),
    isComposed: word.normalize('NFC') === word,
    isAllTwins: letters.every((letter) => TWINS.has(letter)),
  };
  return letters
    .map((letter, place) => {
      const beside = (letters[place - 1] ?? '') + (letters[place + 1] ?? '');
      const isMarked =
        isOtherForm(letter) || isStray(letter, place, about) || isTwin(letter, beside, about);
      return isMarked ? mark(letter) : letter;
    })
    .join('');
}

interface WordFacts {
  readonly hasLatin: boolean;
  readonly hasDigit: boolean;
  readonly isComposed: boolean;
  readonly isAllTwins: boolean;
}

const LATIN = /\p{Script=Latin}/u;

/** A styled, ligated or doubly encoded copy of other characters. */
function isOtherForm(letter: string): boolean {
  if (/[\x21-\x7e]/.test(letter) || USUAL_FORM.test(letter)) return false;
  return letter.normalize('NFKC') !== letter || /[\p{No}\p{Me}]/u.test(letter);
}

/** Thai and Lao AM: everyone writes them, although Unicode takes them apart. */
const USUAL_FORM = /[\u0E33\u0EB3]/;

/** A mark that goes on any letter, one with nothing to stand on, or one of a word that could be composed. */
function isStray(letter: string, place: number, { isComposed }: WordFacts): boolean {
  if (/[\u0300-\u036F\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE20-\uFE2F]/.test(letter)) {
    return true;
  }
  if (!/[\p{M}\u1100-\u11FF]/u.test(letter)) return false;
  return !isComposed || (place === 0 && /\p{M}/u.test(letter));
}

/** What passes for something else beside what it stands with. */
function isTwin(letter: string, beside: string, about: WordFacts): boolean {
  if (/[\x21-\x7e]/.test(letter)) return false;
  if (about.isAllTwins || LATIN_TWINS.test(letter)) return true;
  if (LATIN.test(letter)) return false;
  // Latin among Han, Kana and Hangul is usual, so of those only a twin right beside it counts.
  if (BESIDE_LATIN.test(letter)) return TWINS.has(letter) && /[0-9\p{Script=Latin}]/u.test(beside);
  if (about.hasLatin) return true;
  return about.hasDigit && (TWIN_SCRIPT.test(letter) || /\p{N}/u.test(letter));
}

/** Unicode's profile "highly restrictive" (UTS 39) lets these stand in one word with Latin. */
const BESIDE_LATIN = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]/u;

/** Scripts whose letters pass for digits too. */
const TWIN_SCRIPT =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;

/** Latin letters, and modifiers, that are drawn like others: phonetic ones, small capitals, clicks. */
const LATIN_TWINS = /[ƖƧƨƼƽǀ-ǃȜȝɑɡɩɪɢɴʀʏʙʜʟʋʂʈʐʰ-˿ᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢẝỿꜰꜱꜲ-ꜽꝪꝫꝮꞁꞋꞌꞟꬲꭇꭈꭎꭒ]/u;

/** What is drawn like ASCII letters and digits: a word made of nothing else reads as another word. */
const TWINS = new Set(
  [
    'АВЕЅЗІЈКМНОРСТУХЬҮҺӀԌԚԜԁԛԝаеорсухѕіјһүӏгѵѡьԍ',
    'ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳγινοραυκχϲσ',
    'ՍՏՕԱԼջօոսցհզՅ',
    'וןסױײ',
    'اهہە٥١٠۱۵۰',
    '०৪৭০੦੧੪૦୦୧௦౦೦൦๐໐၀',
    'ꓐꓚꓓꓰꓖꓧꓙꓗꓡꓠꓳꓑꓢꓔꓦꓪꓫꓬꓜꓲꓟꓝꓤꓮꓴ',
    'ᎪᏴᏟᎠᎬᎮᎫᏦᏞᎷᏢᏚᎢᏙᏔᏃᎡᎥᎳᏂᏎᏮᏧᏳ',
    'ⲞⲟⲤⲥⲢⲣⲦⲘⲚⲔⲒⲎⲈⲂⲀⲬ',
    'ー一丨〇ノ丶亅',
  ].join(''),
);

function mark(character: string): string {
  const code = (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
  return `⟨U+${code}⟩`;
}

/**
 * Visible text: shows a person which characters a text contains.
 *
 * Characters that are invisible, reorder the text around them or imitate others are written as `⟨U+202E⟩`.
 * So are the opening bracket and characters like it: no text can imitate the marks, and two different texts
 * never become the same. A table cannot guarantee that two results never look the same. Letters are marked
 * among Latin letters, in a word that has only known look-alikes, and where Unicode has another form of
 * them. Signs are marked unless they are known to look like no other. Decides nothing about what is
 * allowed.
 *
 * @module
 */

import type { JsonObject } from '../../protocol/primitives.ts';

/** Work that can pause between steps. Each step takes about a millisecond. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** The same object with every text and every name in it made visible. */
export function* visibleObject(value: JsonObject): Steps<JsonObject> {
  return (yield* visibleValue(value, { left: STEP_UNITS })) as JsonObject;
}

export function visibleText(text: string): string {
  return allAtOnce(visibleIn(text, { left: STEP_UNITS }));
}

/** Runs all steps. */
export function allAtOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Characters and values that are examined in one step. */
const STEP_UNITS = 500;

/** The units left in the current step. */
interface Step {
  left: number;
}

/** Counts finished work, and pauses when the step is used up. */
function* counted(step: Step, units: number): Steps<void> {
  step.left -= units;
  if (step.left > 0) return;
  yield;
  step.left = STEP_UNITS;
}

function* visibleValue(value: unknown, step: Step): Steps<unknown> {
  yield* counted(step, 1);
  if (typeof value === 'string') return yield* visibleIn(value, step);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push(yield* visibleValue(item, step));
    return items;
  }
  const members: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value)) {
    members.push([yield* visibleIn(name, step), yield* visibleValue(member, step)]);
  }
  return Object.fromEntries(members);
}

/** Most texts: no character needs a mark. */
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

function* visibleIn(text: string, step: Step): Steps<string> {
  if (PRINTABLE_ASCII.test(text)) return text;
  let shown = '';
  let end = 0;
  for (const { 0: found, index } of text.matchAll(HIDDEN_OR_WORD_OR_SIGN)) {
    yield* counted(step, 1);
    shown += text.slice(end, index);
    end = index + found.length;
    if (HIDDEN.test(found)) shown += mark(found);
    else if (WORD_START.test(found)) shown += yield* visibleWord(found, step);
    else shown += PLAIN_SIGN.test(found) ? found : mark(found);
  }
  return shown + text.slice(end);
}

/**
 * Characters that are drawn as nothing, as a gap or out of order: category C (control, format, private,
 * unassigned), separators other than the space, fillers and selectors.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u;

/** Some hidden characters count as letters or marks, so they are matched first. */
const HIDDEN_OR_WORD_OR_SIGN = new RegExp(
  `${HIDDEN.source}|(?:(?!${HIDDEN.source})[\\p{L}\\p{M}\\p{N}])+|(?![\\x21-\\x7e])[\\p{P}\\p{S}]`,
  'gu',
);

const WORD_START = /^[\p{L}\p{M}\p{N}]/u;

/**
 * Signs beyond ASCII that look like no other. Common signs that look like a sign or letter of ASCII are
 * left out: dashes, single quotes, the multiplication sign and others.
 */
const PLAIN_SIGN =
  /^(?:[¡¢£¤¥§©«®°±¶·»¿÷„“”†‡•‰€₣₤₦₨₩₪₫₱₴₸₹₺₽₿←↑→↓≈≠≤≥✓،؛؟।॥、。「」『』【】《》]|(?=[\u{1F300}-\u{1FAFF}])\p{Emoji_Presentation})$/u;

function* visibleWord(word: string, step: Step): Steps<string> {
  if (PRINTABLE_ASCII.test(word)) return word;
  const letters = [...word];
  const about: WordFacts = {
    hasLatin: LATIN.test(word),
    hasDigit: /[0-9]/.test(word),
    isComposed: word.normalize('NFC') === word,
    isAllTwins: letters.every((letter) => TWINS.has(letter)),
  };
  let shown = '';
  for (const [index, letter] of letters.entries()) {
    yield* counted(step, 1);
    const beside = (letters[index - 1] ?? '') + (letters[index + 1] ?? '');
    const isMarked =
      isOtherForm(letter) || isStray(letter, index, about) || isTwin(letter, beside, about);
    shown += isMarked ? mark(letter) : letter;
  }
  return shown;
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

/** Thai and Lao AM: the usual spelling, although Unicode decomposes them. */
const USUAL_FORM = /[\u0E33\u0EB3]/;

/** A mark that fits any letter, one without a base letter, or one in a word that could be composed. */
function isStray(letter: string, index: number, { isComposed }: WordFacts): boolean {
  if (/[\u0300-\u036F\u1AB0-\u1AFF\u1DC0-\u1DFF\u20D0-\u20FF\uFE20-\uFE2F]/.test(letter)) {
    return true;
  }
  if (!/[\p{M}\u1100-\u11FF]/u.test(letter)) return false;
  return !isComposed || (index === 0 && /\p{M}/u.test(letter));
}

/** A letter that looks like another one in its context. */
function isTwin(letter: string, beside: string, about: WordFacts): boolean {
  if (/[\x21-\x7e]/.test(letter)) return false;
  if (about.isAllTwins || LATIN_TWINS.test(letter)) return true;
  if (LATIN.test(letter)) return false;
  // Latin among Han, Kana and Hangul is usual, so of those only a twin right beside Latin counts.
  if (BESIDE_LATIN.test(letter)) return TWINS.has(letter) && /[0-9\p{Script=Latin}]/u.test(beside);
  if (about.hasLatin) return true;
  return about.hasDigit && (TWIN_SCRIPT.test(letter) || /\p{N}/u.test(letter));
}

/** Unicode's profile "highly restrictive" (UTS 39) lets these stand in one word with Latin. */
const BESIDE_LATIN = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]/u;

/** Scripts whose letters also look like digits. */
const TWIN_SCRIPT =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;

/** Latin letters, and modifiers, that are drawn like others: phonetic ones, small capitals, clicks. */
const LATIN_TWINS = /[ƖƧƨƼƽǀ-ǃȜȝɑɡɩɪɢɴʀʏʙʜʟʋʂʈʐʰ-˿ᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢẝỿꜰꜱꜲ-ꜽꝪꝫꝮꞁꞋꞌꞟꬲꭇꭈꭎꭒ]/u;

/** Characters drawn like ASCII letters and digits: a word of only these reads as another word. */
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

/**
 * Makes foreign text safe to print: it cannot control the terminal or hide a character.
 *
 * @module
 */

/** Characters that are drawn as nothing, end a line or move the text around them. */
export const UNPRINTABLE = /[\p{Default_Ignorable_Code_Point}\p{C}\p{Zl}\p{Zp}]/gu;

/** Writes invisible characters, and those that move the rest of the line, as their code points. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`);
}

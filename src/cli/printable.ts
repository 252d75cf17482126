/**
 * Makes foreign text safe to print: it cannot control the terminal or hide a character.
 *
 * @module
 */

/** Writes invisible characters, and those that move the rest of the line, as their code points. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Default_Ignorable_Code_Point}\p{C}\p{Zl}\p{Zp}]/gu,
    (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`,
  );
}

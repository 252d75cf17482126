/**
 * Text of others on our terminal: it must not steer it, nor hide a character.
 *
 * @module
 */

/** Whatever is drawn as nothing, or moves the rest of the line, is spelt out. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Default_Ignorable_Code_Point}\p{C}\p{Zl}\p{Zp}]/gu,
    (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`,
  );
}

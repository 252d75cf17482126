/**
 * Foreign text as part of TypeScript source: names, values and comments that stay what they are.
 *
 * A name or a value cannot leave its quotes, and a comment cannot end early. Characters that are
 * invisible or reorder a line are written as their code points, so that source reads as it compiles.
 *
 * @module
 */

import { printable } from '../../domain/wire/printable.ts';

/** Characters of one comment. Longer descriptions are cut. */
const COMMENT_LENGTH_MAX = 2_000;

/** The name of a property, in quotes unless it is a plain identifier. */
export function nameText(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : stringText(name);
}

/** The type of exactly this value. Of an object or an array, nothing is known. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return stringText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'number';
  if (typeof value === 'boolean' || value === null) return String(value);
  return 'unknown';
}

function stringText(text: string): string {
  return printable(JSON.stringify(text));
}

/**
 * A documentation comment above a declaration, with its line break. Empty without a text. `note` is a
 * line of our own below it.
 */
export function commentOf(text: string, indent: string, note?: string): string {
  const isCut = text.length > COMMENT_LENGTH_MAX;
  const lines = (isCut ? `${text.slice(0, COMMENT_LENGTH_MAX)}…` : text)
    .trim()
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map(commentLine);
  if (note !== undefined) lines.push('', note);
  const [first = ''] = lines;
  if (lines.length === 1) return first === '' ? '' : `${indent}/** ${first} */\n`;
  const middle = lines.map((line) => `${indent} * ${line}`.trimEnd());
  return `${indent}/**\n${middle.join('\n')}\n${indent} */\n`;
}

/** A line that begins with "@" would be a tag, or a directive to the compiler. */
function commentLine(line: string): string {
  return printable(line.trim())
    .replaceAll('*/', '*\\/')
    .replace(/^[@/*]/, '\\$&');
}

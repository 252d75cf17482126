/**
 * Texts of an upstream for people and agents: bounded, and without characters that hide, move or end a line.
 *
 * @module
 */

import { printable, UNPRINTABLE } from '../domain/wire/printable.ts';

/** The text in one line, in which hidden characters are written as their code points. */
export function shownLine(text: string, lengthMax: number): string {
  return printable(cut(text, lengthMax));
}

/** The text with its lines and tabs, in which other hidden characters are written as their code points. */
export function shownText(text: string, lengthMax: number): string {
  const lines = cut(text, lengthMax).replaceAll(/\r\n?/g, '\n');
  return lines.replace(UNPRINTABLE, (found) => (/[\n\t]/.test(found) ? found : printable(found)));
}

/** JSON in which hidden characters of texts are escapes. Only for JSON that `JSON.stringify` indented. */
export function shownJson(json: string): string {
  return json.replace(UNPRINTABLE, (found) => (found === '\n' ? found : escapes(found)));
}

/** Cut to a number of UTF-16 units, never in the middle of a surrogate pair. */
export function cut(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text.slice(0, lengthMax).replace(/[\ud800-\udbff]$/, '')}…`;
}

function escapes(found: string): string {
  const units = Array.from({ length: found.length }, (_, index) => found.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/**
 * Text of several lines: whole, with the number of each line, or as what differs from another text.
 *
 * @module
 */

import type { JsonObject } from '../../protocol/primitives.ts';
import { isObject } from '../wire/json.ts';
import { marked, type Piece, type Words } from './pieces.ts';

/** A line break is no hidden character where lines are shown. */
export function hasLines(value: unknown): value is string {
  return typeof value === 'string' && value.includes('\n');
}

/** Every line, numbered. */
function linesWords(text: string): Words {
  const lines = text.split('\n');
  const width = String(lines.length).length;
  const rows = lines.flatMap((line, at): Piece[] => [
    `${String(at + 1).padStart(width)}  `,
    { shown: line },
    '\n',
  ]);
  return [
    marked('small', `${lines.length} lines, nothing to compare with`),
    marked('pre', rows, 'frame'),
  ];
}

/** What was removed and what was added, with the number of each line, between the equal lines at both ends. */
export function differenceLines(before: string, after: string): Words {
  const [then, now] = [before.split('\n'), after.split('\n')];
  const start = equalCount(then, now);
  const rest = Math.min(then.length, now.length) - start;
  const end = Math.min(rest, equalCount(then.toReversed(), now.toReversed()));
  const [cut, added] = [then.slice(start, then.length - end), now.slice(start, now.length - end)];
  return [
    marked('small', `lines: ${added.length} added, ${cut.length} removed, ${start + end} equal`),
    marked(
      'pre',
      [
        ...cut.flatMap((line, at) => rowOf('del', start + at + 1, line)),
        ...added.flatMap((line, at) => rowOf('ins', start + at + 1, line)),
      ],
      'frame diff',
    ),
  ];
}

function rowOf(as: 'del' | 'ins', number: number, line: string): Piece[] {
  const [sign, look] = as === 'del' ? ['−', 'cut'] : ['+', 'new'];
  return [marked('span', [`${number} ${sign} `, marked(as, [{ shown: line }])], look), '\n'];
}

function equalCount(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((line, index) => line !== other[index]);
  return at === -1 ? one.length : at;
}

/** Names under which tools take a text and what replaces it. */
const PAIRS = [
  ['old_text', 'new_text'],
  ['oldText', 'newText'],
  ['old_string', 'new_string'],
  ['old_str', 'new_str'],
] as const;

/** What replaces a text that the same call names, and a text of several lines; nothing for any other value. */
export function textWords(name: string, values: JsonObject): Words {
  const value = values[name];
  const before = replacedBy(name, values);
  if (before !== undefined && typeof value === 'string') return differenceLines(before, value);
  if (hasLines(value)) return linesWords(value);
  // A list of edits: each has both texts.
  const edits: readonly unknown[] = Array.isArray(value) ? value : [];
  return edits.flatMap((edit) =>
    isObject(edit)
      ? PAIRS.flatMap(([, after]) => (Object.hasOwn(edit, after) ? textWords(after, edit) : []))
      : [],
  );
}

function replacedBy(name: string, values: JsonObject): string | undefined {
  const [old] = PAIRS.find(([, after]) => after === name) ?? [];
  const text = old !== undefined && Object.hasOwn(values, old) ? values[old] : undefined;
  return typeof text === 'string' ? text : undefined;
}

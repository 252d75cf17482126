/**
 * What changed in a tool, in words: which part, and which of its words.
 *
 * All of it is text of strangers; the caller shows it as text.
 *
 * @module
 */

import type { ToolReview } from '../../../protocol/console/reviews.ts';

const PARTS: Readonly<Record<string, string>> = {
  name: 'Name',
  title: 'Title',
  description: 'Description',
  'annotations.title': 'Title for people',
  'annotations.readOnlyHint': 'It claims to read only',
  'annotations.destructiveHint': 'It claims to destroy something',
  'annotations.idempotentHint': 'It claims that a second call changes nothing',
  'annotations.openWorldHint': 'It claims to reach others',
  'inputSchema.required': 'Inputs that it requires',
  'outputSchema.required': 'Fields that it always answers',
  'route.method': 'Method of the request',
  'route.path': 'Path of the request',
};

const KEYWORDS: Readonly<Record<string, string>> = {
  enum: 'allowed values',
  default: 'value when absent',
  const: 'only value',
};

/** Such as "Input path: description" for `inputSchema.properties.path.description`. */
export function partWords(path: string): string {
  const own = Object.hasOwn(PARTS, path) ? PARTS[path] : undefined;
  if (own !== undefined) return own;
  const [, schema, field, keyword] =
    /^(input|output)Schema\.properties\.("(?:[^"\\]|\\.)*"|[\w$-]+)(?:\.(.+))?$/s.exec(path) ?? [];
  if (schema === undefined) return path;
  const of = schema === 'input' ? `Input ${field}` : `Field ${field} of the answer`;
  if (keyword === undefined) return of;
  return `${of}: ${Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword] : keyword}`;
}

/** The names of the inputs, those that may be absent marked. */
export function inputWords(now: ToolReview['now']): string {
  const { inputSchema = {} } = (now ?? {}) as { inputSchema?: Record<string, unknown> };
  const { properties, required } = inputSchema;
  const needed = Array.isArray(required) ? required : [];
  const names = Object.keys(
    typeof properties === 'object' && properties !== null ? properties : {},
  );
  if (names.length === 0) return 'nothing';
  return names.map((name) => (needed.includes(name) ? name : `${name} (optional)`)).join(', ');
}

export interface Span {
  readonly text: string;
  readonly isChanged: boolean;
}

/** Comparisons of two words. Above it everything between the first and the last change counts as changed. */
const COMPARISONS_MAX = 250_000;

/** Both texts in spans: words that are in one of them only are changed. */
export function wordDiff(
  before: string,
  now: string,
): { readonly before: Span[]; readonly now: Span[] } {
  const [old, fresh] = [wordsOf(before), wordsOf(now)];
  const start = commonLength(old, fresh);
  const end = commonLength(old.slice(start).reverse(), fresh.slice(start).reverse());
  const [oldMiddle, freshMiddle] = [old, fresh].map((all) =>
    all.slice(start, all.length - end),
  ) as [string[], string[]];
  const kept = keptWords(oldMiddle, freshMiddle);
  const spansOf = (all: readonly string[], inMiddle: ReadonlySet<number>) =>
    joined(
      all.map((text, at) => {
        const isMiddle = at >= start && at < all.length - end;
        return { text, isChanged: isMiddle && !inMiddle.has(at - start) };
      }),
    );
  return { before: spansOf(old, kept.old), now: spansOf(fresh, kept.fresh) };
}

function wordsOf(text: string): string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

function commonLength(one: readonly string[], other: readonly string[]): number {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length += 1;
  return length;
}

/** The places of the words of a longest common subsequence. */
function keptWords(old: readonly string[], fresh: readonly string[]) {
  const kept = { old: new Set<number>(), fresh: new Set<number>() };
  const width = fresh.length + 1;
  if (old.length * fresh.length > COMPARISONS_MAX) return kept;
  const lengths = new Uint16Array((old.length + 1) * width);
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0;
  for (let row = old.length - 1; row >= 0; row--) {
    for (let column = fresh.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        old[row] === fresh[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  let [row, column] = [0, 0];
  while (row < old.length && column < fresh.length) {
    if (old[row] === fresh[column]) {
      kept.old.add(row++);
      kept.fresh.add(column++);
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return kept;
}

function joined(spans: readonly Span[]): Span[] {
  const found: Span[] = [];
  for (const { text, isChanged } of spans) {
    const last = found.at(-1);
    if (last?.isChanged === isChanged)
      found[found.length - 1] = { text: last.text + text, isChanged };
    else found.push({ text, isChanged });
  }
  return found;
}

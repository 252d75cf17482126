/**
 * A sentence about progress: what a handler tells as data, for a person to read in one look.
 *
 * Handlers tell what they like, so this knows no event: it puts names and values side by side, and
 * reads "of" and "total" as the whole of what stands before.
 *
 * @module
 */

import type { JsonObject } from '../protocol/primitives.ts';

/** Characters. A notification is read by a person; the result carries the rest. */
const LENGTH_MAX = 1_000;

/** Members and levels of one event that a sentence names: more cannot be read in one look. */
const MEMBERS_MAX = 12;
const LEVELS_MAX = 3;

/** `count` is the number of the event, for one that says nothing of its own. */
export function sentenceOf(progress: unknown, count: number): string {
  const phrase = phraseOf(progress, LEVELS_MAX).replaceAll(UNPRINTABLE, ' ').trim();
  const text = phrase === '' ? `Step ${count}` : phrase;
  const cut = text.slice(0, LENGTH_MAX).replace(HALF_CHARACTER, '');
  const sentence = cut.charAt(0).toUpperCase() + cut.slice(1);
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** Spaces, line ends and control characters, which a terminal might obey. */
const UNPRINTABLE = /[\s\p{Cc}]+/gu;

/** What is left of a pair that was cut in two. */
const HALF_CHARACTER = /[\ud800-\udbff]$/;

function phraseOf(value: unknown, levels: number): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `${value.length}`;
  return levels === 0 ? '' : membersOf(value as JsonObject, levels - 1);
}

function membersOf(event: JsonObject, levels: number): string {
  const phrases: string[] = [];
  for (const [name, value] of Object.entries(event).slice(0, MEMBERS_MAX)) {
    const said = phraseOf(value, levels);
    const last = phrases.length - 1;
    if (said === '') continue;
    if (name === 'message') phrases.push(said);
    else if (isWhole(name, value) && last >= 0) phrases[last] += ` of ${said}`;
    else
      phrases.push(Array.isArray(value) ? `${said} ${wordsOf(name)}` : `${wordsOf(name)} ${said}`);
  }
  return phrases.join(', ');
}

function isWhole(name: string, value: unknown): boolean {
  return (name === 'of' || name === 'total') && typeof value === 'number';
}

function wordsOf(name: string): string {
  return name.replaceAll(/[_-]+/g, ' ');
}

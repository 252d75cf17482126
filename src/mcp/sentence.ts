/**
 * Makes a short sentence from a progress event, for a person to read.
 *
 * Events have no fixed form, so this writes names and values side by side, and
 * reads "of" and "total" as the total of the value before.
 *
 * @module
 */

import type { JsonObject } from '../protocol/primitives.ts';

/** In characters. The result carries what a sentence leaves out. */
const LENGTH_MAX = 1_000;

/** Members and levels of one event that a sentence includes. */
const MEMBERS_MAX = 12;
const LEVELS_MAX = 3;

/** `count` is the number of the event, for an event without readable members. */
export function sentenceOf(progress: unknown, count: number): string {
  const phrase = phraseOf(progress, LEVELS_MAX).replaceAll(UNPRINTABLE, ' ').trim();
  const text = phrase === '' ? `Step ${count}` : phrase;
  const cut = text.slice(0, LENGTH_MAX).replace(HALF_CHARACTER, '');
  const sentence = cut.charAt(0).toUpperCase() + cut.slice(1);
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** White space and control characters, which could control a terminal. */
const UNPRINTABLE = /[\s\p{Cc}]+/gu;

/** A high surrogate at the end, left by a cut between two code units. */
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
    const phrase = phraseOf(value, levels);
    const last = phrases.length - 1;
    if (phrase === '') continue;
    if (name === 'message') phrases.push(phrase);
    else if (isWhole(name, value) && last >= 0) phrases[last] += ` of ${phrase}`;
    else
      phrases.push(
        Array.isArray(value) ? `${phrase} ${spacedName(name)}` : `${spacedName(name)} ${phrase}`,
      );
  }
  return phrases.join(', ');
}

function isWhole(name: string, value: unknown): boolean {
  return (name === 'of' || name === 'total') && typeof value === 'number';
}

function spacedName(name: string): string {
  return name.replaceAll(/[_-]+/g, ' ');
}

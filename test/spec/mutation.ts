/**
 * Small damages to a JSON document: every field removed, every value of another type.
 *
 * Marked open content (`openness.ts`) is left alone.
 *
 * @module
 */

import type { Document } from './example.ts';
import { opennessOf } from './openness.ts';

export type Path = readonly (string | number)[];

export interface Mutant {
  /** What was done, for the list of those that got through. */
  readonly name: string;
  readonly document: unknown;
}

const SAMPLES: readonly [type: string, value: unknown][] = [
  ['string', 'text'],
  ['number', 7],
  ['boolean', true],
  ['object', {}],
  ['array', []],
];

/** The document with each value, in turn, replaced by one of every other JSON type but null. */
export function wrongTypes(document: unknown): Mutant[] {
  return placesOf(document).flatMap(({ path, value }) => {
    const own = typeOf(value);
    if (own === 'null' || opennessOf(value) === 'anything') return [];
    return SAMPLES.filter(([type]) => type !== own).map(([type, sample]) => ({
      name: `${named(path)} is of type ${type}`,
      document: replaced(document, path, sample),
    }));
  });
}

/** The document with each field, in turn, removed, at every depth. */
export function removals(document: unknown): Mutant[] {
  return placesOf(document)
    .filter(({ value }) => isObject(value) && opennessOf(value) === undefined)
    .flatMap(({ path, value }) =>
      Object.keys(value as Document).map((key) => ({
        name: `${named([...path, key])} is left out`,
        document: replaced(document, path, without(value as Document, key)),
      })),
    );
}

/** The document with an unknown field, in turn, in each of its objects, at every depth. */
export function additions(document: unknown): Mutant[] {
  return placesOf(document)
    .filter(({ value }) => isObject(value) && opennessOf(value) === undefined)
    .map(({ path, value }) => ({
      name: `${named(path)} has an unknown field`,
      document: replaced(document, path, { ...(value as Document), unheard_of: 1 }),
    }));
}

export function without(document: Document, key: string): Document {
  return Object.fromEntries(Object.entries(document).filter(([name]) => name !== key));
}

/** Every value in the document, itself first; what is inside open content is no place. */
export function placesOf(value: unknown, path: Path = []): { path: Path; value: unknown }[] {
  const inner = partsOf(value).flatMap(([key, part]) => placesOf(part, [...path, key]));
  return [{ path, value }, ...inner];
}

function partsOf(value: unknown): [string | number, unknown][] {
  const openness = opennessOf(value);
  if (openness === 'anything' || openness === 'content') return [];
  if (Array.isArray(value)) return value.map((item, index) => [index, item]);
  return isObject(value) ? Object.entries(value) : [];
}

/** A copy of the document with another value at one place. */
export function replaced(document: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (Array.isArray(document)) {
    return document.map((item, index) => (index === key ? replaced(item, rest, value) : item));
  }
  const fields = document as Document;
  return { ...fields, [key]: replaced(fields[key], rest, value) };
}

export function isObject(value: unknown): value is Document {
  return typeOf(value) === 'object';
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function named(path: Path): string {
  return path.length === 0 ? 'the document' : path.join('.');
}

/**
 * Guesses what a tool does, by what its upstream claims. Only for a draft: a person decides.
 *
 * Guesses the worse effect where claims are absent or contradict each other.
 *
 * @module
 */

import type { GuessedEffect, UpstreamTool } from './upstream.ts';

export function guessEffect({ name, annotations = {}, route }: UpstreamTool): GuessedEffect {
  const { method } = route ?? {};
  const guess = typeof method === 'string' ? byMethod(method) : byHints(annotations);
  const verb = guess.effect === 'read' ? WRITING_NAME.exec(name)?.[1] : undefined;
  if (verb === undefined) return guess;
  return { effect: 'irreversible', why: `${guess.why}, but its name has "${verb}"` };
}

/** A verb at the beginning of a word: `delete_file`, `fileDelete`, `files/delete`. */
const WRITING_NAME =
  /(?:^|[^A-Za-z]|(?<=[a-z])(?=[A-Z]))((?:[Dd]elete|[Rr]emove|[Dd]estroy|[Dd]rop|[Ww]rite|[Cc]reate|[Uu]pdate|[Ss]end|[Pp]ay|[Tt]ransfer|[Pp]ublish)(?![a-z]))/;

/** RFC 9110: a safe method only reads, and an idempotent one may be repeated. */
const METHODS = new Map<string, GuessedEffect>([
  ['GET', { effect: 'read', why: 'GET only reads' }],
  ['HEAD', { effect: 'read', why: 'HEAD only reads' }],
  ['OPTIONS', { effect: 'read', why: 'OPTIONS only reads' }],
  ['PUT', { effect: 'write', why: 'PUT replaces something' }],
  ['PATCH', { effect: 'write', why: 'PATCH changes something' }],
  ['DELETE', { effect: 'irreversible', why: 'DELETE removes something' }],
  ['POST', { effect: 'irreversible', why: 'POST may do anything' }],
]);

function byMethod(method: string): GuessedEffect {
  return METHODS.get(method.toUpperCase()) ?? { effect: 'irreversible', why: 'unknown method' };
}

function byHints({
  readOnlyHint: isReading,
  destructiveHint: isDestructive,
}: NonNullable<UpstreamTool['annotations']>): GuessedEffect {
  if (isReading === true && isDestructive !== true) {
    return { effect: 'read', why: 'the upstream claims that it only reads' };
  }
  if (isDestructive === true) {
    return { effect: 'irreversible', why: 'the upstream claims that it destroys' };
  }
  if (isDestructive === false) {
    return { effect: 'write', why: 'the upstream claims that it only adds' };
  }
  return { effect: 'irreversible', why: 'the upstream claims nothing about it' };
}

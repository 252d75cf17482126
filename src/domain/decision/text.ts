/**
 * Words as plain text, for a title and for a terminal: the same characters as on a page, without its looks.
 *
 * @module
 */

import { agoOf, leftOf, shortTime } from '../values/time-words.ts';
import { visibleText } from '../wire/visible-text.ts';
import { BLOCKS, jsonWords, type Piece, type Words } from './pieces.ts';
import { personOf, plain } from './values.ts';

/** What stands on a line of its own on a page does so here. Empty lines are left out. */
export function wordsText(words: Words, nowMs: number): string {
  return written(words, nowMs)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== '')
    .join('\n');
}

function written(words: Words, nowMs: number): string {
  return words.map((piece) => pieceText(piece, nowMs)).join('');
}

function pieceText(piece: Piece, nowMs: number): string {
  if (typeof piece === 'string') return piece;
  if ('shown' in piece) return visibleText(piece.shown);
  if ('json' in piece) return written(jsonWords(piece.json), nowMs);
  if ('money' in piece) return plain(piece.money);
  if ('ago' in piece)
    return `${agoOf(Date.parse(piece.ago), nowMs)}, ${shortTime(piece.ago, nowMs)}`;
  if ('left' in piece) {
    return `${leftOf(Date.parse(piece.left) - nowMs)} ${shortTime(piece.left, nowMs)}`;
  }
  if ('at' in piece) return shortTime(piece.at, nowMs);
  if ('hash' in piece) return piece.hash.replace(/^sha256:/, '');
  if ('chain' in piece) {
    return piece.chain.map((name) => visibleText(personOf(name))).join(' acts for ');
  }
  const inner = written(piece.of, nowMs);
  if ('request' in piece) return inner;
  if (piece.as === 'q') return `“${inner}”`;
  return BLOCKS.has(piece.as) ? `\n${inner}\n` : inner;
}

/**
 * One stored checkpoint against itself: does its note say the same tree, of the same log?
 *
 * What the tree really was is compared by `fsck.ts`; the signatures are a question for whoever has
 * the keys.
 *
 * @module
 */

import { equalBytes } from '../domain/hash.ts';
import { readHeadText, readNote } from '../domain/note.ts';
import type { CheckpointRecord } from './records.ts';

/** What is wrong with the signatures of a checkpoint, in words. */
export type CheckSignatures = (checkpoint: CheckpointRecord) => string | undefined;

export function noteFault(checkpoint: CheckpointRecord, logId: string): string | undefined {
  const note = readNote(checkpoint.note);
  const head = note && readHeadText(note.text);
  if (!head) return 'its note is not one of a tree head';
  if (!head.origin.endsWith(`/log/${logId}`)) return `its note is of the log "${head.origin}"`;
  if (head.size !== checkpoint.size) return `its note covers ${head.size} entries`;
  if (!equalBytes(head.root, checkpoint.root)) return 'its note has another root';
  return undefined;
}

/**
 * Compares one stored checkpoint with its own note: the same tree, of the same log.
 *
 * `fsck.ts` compares it with the rebuilt tree; a caller that has the keys checks the signatures.
 *
 * @module
 */

import { headText, readHeadText, readNote, readSignatureLines } from '../../domain/log/note.ts';
import { countText } from '../../domain/values/count-text.ts';
import { equalBytes } from '../../domain/wire/hash.ts';
import type { CheckpointRecord } from '../port/records.ts';

/** The fault in the signatures of a checkpoint, as a sentence. */
export type CheckSignatures = (checkpoint: CheckpointRecord) => string | undefined;

/** Checks only the form of a witness's line: whose signature it is cannot be decided here. */
export function cosignatureFault(line: string): string | undefined {
  return readSignatureLines(line)?.length === 1
    ? undefined
    : `a line of a witness does not parse: ${JSON.stringify(line.slice(0, LINE_SHOWN_MAX))}`;
}

/** In characters: enough to recognise the line. */
const LINE_SHOWN_MAX = 80;

export function noteFault(checkpoint: CheckpointRecord, logId: string): string | undefined {
  const note = readNote(checkpoint.note);
  const head = note && readHeadText(note.text);
  if (!head) return 'its note does not state a tree head';
  if (!head.origin.endsWith(`/log/${logId}`)) return `its note is of the log "${head.origin}"`;
  if (head.size !== checkpoint.size)
    return `its note covers ${countText(head.size, 'entry', 'entries')}`;
  if (!equalBytes(head.root, checkpoint.root)) return 'its note has another root';
  // Other logs may write extension lines; this service writes none.
  if (note.text !== headText(head)) return 'its note has lines that the service does not write';
  return undefined;
}

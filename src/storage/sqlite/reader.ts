/**
 * Questions that were asked in one turn of the event loop are answered from one snapshot.
 *
 * The snapshot is taken after all of them were asked, so no answer is older than its question; another
 * process may write between two statements, and never shows in half. A question that fails, fails
 * alone. Knows no table.
 *
 * @module
 */

import { StoreUnavailable } from '../port/store.ts';
import { createTurns } from './calls/turns.ts';
import { type Connection, failureOf, rollBack } from './connection.ts';

/** Questions in one turn. More would only hold the event loop longer. */
const BATCH_MAX = 256;

export interface Reader<Notes> {
  /** The notes are those of the snapshot: what one question has found, the next need not look for. */
  ask<Result>(question: (notes: Notes) => Result): Promise<Result>;
  /** Answers what was asked. Refuses what comes later. */
  close(): void;
}

/** `onAsked` is told of each question, when a place in the turn was taken for its answer. */
export function createReader<Notes>(
  connection: Connection,
  newNotes: () => Notes,
  onAsked: () => void = () => undefined,
): Reader<Notes> {
  const turns = createTurns<Waiting>(connection.platform, BATCH_MAX, (batch) => {
    answerTogether(connection, newNotes(), batch);
  });
  let isClosed = false;

  return {
    ask<Result>(question: (notes: Notes) => Result): Promise<Result> {
      if (isClosed)
        return Promise.reject(new StoreUnavailable('Cannot use the store: it is closed'));
      return new Promise<Result>((resolve, reject) => {
        // The queue holds questions of every type; each pair of functions fits its own.
        turns.add({ question, resolve, reject } as Waiting);
        onAsked();
      });
    },
    close() {
      isClosed = true;
      turns.finish();
    },
  };
}

interface Waiting {
  readonly question: (notes: unknown) => unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

function answerTogether(connection: Connection, notes: unknown, batch: readonly Waiting[]): void {
  if (batch.length === 0) return;
  try {
    connection.run('BEGIN');
    for (const waiting of batch) answer(connection, notes, waiting);
    connection.run('COMMIT');
  } catch (error) {
    // Those that have their answer already keep it.
    const lost = failureOf(error);
    for (const { reject } of batch) reject(lost);
  } finally {
    rollBack(connection);
  }
}

/** Throws only when the snapshot is lost. */
function answer(
  connection: Connection,
  notes: unknown,
  { question, resolve, reject }: Waiting,
): void {
  try {
    resolve(question(notes));
  } catch (error) {
    // On some failures of the disk SQLite gives up the transaction.
    if (!connection.inTransaction()) throw error;
    reject(failureOf(error));
  }
}

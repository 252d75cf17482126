/**
 * Answers the queries of one turn of the event loop from one snapshot.
 *
 * The snapshot begins after the last query was submitted, so no result is older than its query, and a write
 * of another process is visible either to all or to none of its statements. A failing query fails alone.
 * Knows no table.
 *
 * @module
 */

import { StoreUnavailable } from '../port/store.ts';
import { createTurns } from './calls/turns.ts';
import { type Connection, failureOf, rollBack } from './connection.ts';

/** Queries in one turn. More would only block the event loop longer. */
const BATCH_MAX = 256;

export interface Reader<Notes> {
  /** The notes belong to the snapshot: a query may reuse what an earlier one has read. */
  ask<Result>(question: (notes: Notes) => Result): Promise<Result>;
  /** Answers what was submitted. Refuses later queries. */
  close(): void;
}

/** `onAsked` runs for each query, after its batch was scheduled. */
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
        // The queue holds queries of every type; each pair of functions fits its own.
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
    // Queries that are already answered keep their result.
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
    // On some disk failures SQLite ends the transaction.
    if (!connection.inTransaction()) throw error;
    reject(failureOf(error));
  }
}

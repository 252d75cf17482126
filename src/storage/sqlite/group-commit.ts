/**
 * Group commit: transitions submitted in one turn of the event loop share one flush.
 *
 * They run in the order of submission, and each sees the changes of those before it. When one fails, the
 * batch is rolled back and run again with a savepoint for each, so that only the failing one is undone; a
 * transition may thus run twice, and only the second run counts. No caller gets its result before COMMIT has
 * returned. When COMMIT fails, every caller gets `StoreUnavailable`: nothing happened. When only its flush
 * failed, a crash may still restore the batch, and every caller gets `OutcomeUnknown`. Knows no table.
 *
 * @module
 */

import { OutcomeUnknown, StoreUnavailable } from '../port/store.ts';
import { createTurns } from './calls/turns.ts';
import { type Connection, failureOf, isUndone, rollBack } from './connection.ts';

/** Transitions in one transaction. More would only block the event loop longer: 256 already share a flush. */
const BATCH_MAX = 256;

/** Waiting transitions: about two seconds of work. Beyond it callers are refused at once. */
export const WAITING_MAX = 10_000;

/**
 * A savepoint copies every page that its transition changes, which takes a quarter of a batch's time. After a
 * failure this many batches use savepoints from the start.
 */
const CAREFUL_BATCHES = 32;

/** What takes part in each transaction beside the transitions. */
export interface BatchWork {
  /** The transaction has begun. */
  begin(): void;
  /** A position to which `rewind` returns when the transition after it is undone. */
  mark(): number;
  rewind(mark: number): void;
  /** Writes what the transitions since the last time left for later. Throws when one of them must not be kept. */
  settle(): void;
  /** The last writes before COMMIT. */
  finish(): void;
  /** COMMIT has returned. */
  committed(): void;
}

export interface GroupCommit {
  /**
   * Runs a synchronous transition in the next transaction and resolves with its value once that is durable.
   * When it throws, or `isRefusal` is true for its result, all its writes are undone.
   */
  submit<Result>(
    transition: () => Result,
    isRefusal?: (result: Result) => boolean,
  ): Promise<Result>;
  waiting(): number;
  /** Schedules a batch in this turn, which includes what is submitted before its end. */
  expect(): void;
  /** Commits what was accepted. Refuses later submissions. */
  close(): void;
}

export interface GroupCommitLimits {
  readonly batchMax: number;
  readonly waitingMax: number;
}

export function createGroupCommit(
  connection: Connection,
  work: BatchWork,
  limits: GroupCommitLimits = { batchMax: BATCH_MAX, waitingMax: WAITING_MAX },
): GroupCommit {
  let careful = 0;
  const runIn = (batch: readonly Waiting[]): void => {
    careful = Math.max(0, careful - 1);
    if (careful === 0 && allOrNone(connection, work, batch)) return;
    if (careful === 0) careful = CAREFUL_BATCHES;
    eachAlone(connection, work, batch);
  };
  const turns = createTurns<Waiting>(connection.platform, limits.batchMax, (batch) =>
    commitTogether(connection, work, { batch, runIn }),
  );
  let isClosed = false;

  return {
    submit(transition, isRefusal) {
      if (isClosed)
        return Promise.reject(new StoreUnavailable('Cannot use the store: it is closed'));
      if (turns.waiting() >= limits.waitingMax) {
        const state = `${turns.waiting()} changes are waiting`;
        return Promise.reject(new StoreUnavailable(`Cannot use the store: ${state}`));
      }
      return new Promise((resolve, reject) => {
        const waiting = {
          transition,
          isRefusal,
          resolve,
          reject,
          result: undefined,
          failure: undefined,
        };
        // The queue holds transitions of every type; each pair of functions fits its own.
        turns.add(waiting as Waiting);
      });
    },
    waiting: turns.waiting,
    expect: turns.expect,
    close() {
      isClosed = true;
      turns.finish();
    },
  };
}

interface Waiting {
  readonly transition: () => unknown;
  readonly isRefusal: ((result: unknown) => boolean) | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Of the last run of the transition. */
  result: unknown;
  failure: { readonly error: unknown } | undefined;
}

function commitTogether(
  connection: Connection,
  work: BatchWork,
  { batch, runIn }: { batch: readonly Waiting[]; runIn: (batch: readonly Waiting[]) => void },
): void {
  if (batch.length === 0) return;
  try {
    runIn(batch);
    work.finish();
    commit(connection);
    work.committed();
  } catch (error) {
    const lost = lossOf(error);
    rollBack(connection);
    for (const { reject } of batch) reject(lost);
    return;
  }
  for (const { resolve, reject, result, failure } of batch) {
    if (failure) reject(failure.error);
    else resolve(result);
  }
}

/** Runs all transitions in one transaction; rolls back and returns false when one of them fails. */
function allOrNone(connection: Connection, work: BatchWork, batch: readonly Waiting[]): boolean {
  begin(connection, work);
  try {
    if (batch.every(isDone)) {
      work.settle();
      return true;
    }
  } catch {
    // The run with savepoints repeats the failure and reports it.
  }
  rollBack(connection);
  return false;
}

/** Runs a transition. False when its result is a refusal. */
function isDone(waiting: Waiting): boolean {
  waiting.result = waiting.transition();
  return waiting.isRefusal?.(waiting.result) !== true;
}

function eachAlone(connection: Connection, work: BatchWork, batch: readonly Waiting[]): void {
  begin(connection, work);
  for (const waiting of batch) attempt(connection, work, waiting);
}

function begin(connection: Connection, work: BatchWork): void {
  connection.run('BEGIN IMMEDIATE');
  work.begin();
}

/** Throws only when the whole transaction is lost. */
function attempt(connection: Connection, work: BatchWork, waiting: Waiting): void {
  const mark = work.mark();
  connection.run('SAVEPOINT transition');
  try {
    if (!isDone(waiting)) undo(connection, work, mark);
    work.settle();
    connection.run('RELEASE transition');
  } catch (error) {
    // On some disk failures SQLite ends the transaction, and the savepoint with it.
    if (!connection.inTransaction()) throw error;
    undo(connection, work, mark);
    connection.run('RELEASE transition');
    waiting.failure = { error: failureOf(error) };
  }
}

function undo(connection: Connection, work: BatchWork, mark: number): void {
  connection.run('ROLLBACK TO transition');
  work.rewind(mark);
}

/**
 * After a failed flush the written frames are undone for this process: the next commit overwrites them. A
 * process that opens the file after a crash before that finds a whole commit, and keeps it.
 */
function commit(connection: Connection): void {
  try {
    connection.run('COMMIT');
  } catch (cause) {
    if (isUndone(cause)) throw cause;
    throw new OutcomeUnknown('Cannot tell the outcome: the commit was not flushed', { cause });
  }
}

/** Any other failure of the transaction means that nothing happened. */
function lossOf(error: unknown): StoreUnavailable | OutcomeUnknown {
  const failure = failureOf(error);
  if (failure instanceof StoreUnavailable || failure instanceof OutcomeUnknown) return failure;
  return new StoreUnavailable('Cannot use the store: its transaction failed', { cause: error });
}

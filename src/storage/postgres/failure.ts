/**
 * Errors of PostgreSQL and of the connection to it: what each means for the requested change.
 *
 * An error from the server is certain: the statement was rolled back. A connection that ends without an
 * answer leaves the outcome unknown. Any other error is a defect and is returned unchanged.
 *
 * @module
 */

import pg from 'pg';
import { OutcomeUnknown, StoreUnavailable } from '../port/store.ts';

/** Raised by our own functions, with JSON in the detail: an answer that rolls back, not an error. */
export const REFUSED = 'WR001';

/** The failed statement only reads, was sent, or was not sent. */
export type Stage = 'read' | 'sent' | 'unsent';

/** The error to reject with. Errors from elsewhere are returned unchanged. */
export function failureOf(cause: unknown, stage: Stage): unknown {
  if (isOurs(cause)) return cause;
  if (isConnectionLoss(cause)) {
    const why = `the connection was lost: ${messageOf(cause)}`;
    if (stage === 'sent') return new OutcomeUnknown(`Cannot tell the outcome: ${why}`, { cause });
    return new StoreUnavailable(`Cannot use the store: ${why}`, { cause });
  }
  if (!(cause instanceof pg.DatabaseError)) return cause;
  if (UNAVAILABLE.some((code) => cause.code?.startsWith(code))) {
    return new StoreUnavailable(`Cannot use the store: ${cause.message}`, { cause });
  }
  return new Error(`Cannot run a statement: ${cause.message}`, { cause });
}

/** True when the store failed, as opposed to a defect of ours. */
export function isStoreFailure(error: unknown): boolean {
  return error instanceof StoreUnavailable || error instanceof OutcomeUnknown;
}

/** True when the server ended the transaction to break a deadlock: a repetition may succeed. */
export function isTie(error: unknown): boolean {
  return error instanceof StoreUnavailable && TIES.includes(codeOf(error) ?? '');
}

/** True when the transaction ended because of the locks of others, or because it took too long. */
export function isHeldUp(error: unknown): boolean {
  const code = codeOf(error);
  return isTie(error) || code === LOCK_TIMEOUT || code === STATEMENT_TIMEOUT;
}

/** The detail of an answer that one of our functions raised with this code. */
export function raised(error: unknown, code: string): string | undefined {
  return error instanceof pg.DatabaseError && error.code === code
    ? (error.detail ?? '')
    : undefined;
}

/** True when the connection cannot be used again. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return error instanceof Error && !isOurs(error);
  const isFatal = error.severity === 'FATAL' || error.severity === 'PANIC';
  // A server that shuts down may send this after the commit and before its answer.
  return isFatal || /^(08|57P)/.test(error.code ?? '');
}

/** The server's code behind this error. */
function codeOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof pg.DatabaseError ? cause.code : undefined;
}

function isOurs(error: unknown): boolean {
  if (isStoreFailure(error)) return true;
  return error instanceof pg.DatabaseError && error.code?.startsWith('WR') === true;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** 40001 serialization failure, 40P01 deadlock. */
const TIES: readonly string[] = ['40001', '40P01'];

const LOCK_TIMEOUT = '55P03';
const STATEMENT_TIMEOUT = '57014';

/** SQLSTATE classes and codes that describe the store's state and not our statement. */
const UNAVAILABLE: readonly string[] = [
  ...TIES,
  '25006', // read-only transaction
  '28', // not allowed to log in
  '3D000', // no such database
  '42501', // a right was taken from our role
  '53', // disk, memory or connections used up
  LOCK_TIMEOUT,
  STATEMENT_TIMEOUT,
  '58', // the server's own I/O
];

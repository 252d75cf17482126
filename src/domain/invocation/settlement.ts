/**
 * Settlement: what becomes of a call's reservation and of its leases when it is closed.
 *
 * SQLite asks these rules; PostgreSQL decides the amounts in `writ_judge_settlements` and in its
 * statement of a refund, which state the same.
 *
 * @module
 */

interface Closing {
  readonly outcome: 'completed' | 'failed' | 'no_effect' | 'indeterminate';
  readonly actual?: bigint | undefined;
  readonly stillRuns?: boolean | undefined;
}

/** Only a call that may still be running keeps its leases and its trail. */
export function keepsLeases({ outcome, stillRuns = false }: Closing): boolean {
  return stillRuns && outcome === 'indeterminate';
}

/** How much of the reservation is spent for good. */
export function spentBy({ outcome, actual }: Closing, reserved: bigint): bigint {
  if (outcome === 'no_effect') return 0n;
  return outcome === 'indeterminate' ? reserved : (actual ?? reserved);
}

/** What a call that turns out to have had no effect gets back: at most what it consumed. */
export function refundOf(charged: bigint, consumed: bigint): bigint {
  return consumed < charged ? consumed : charged;
}

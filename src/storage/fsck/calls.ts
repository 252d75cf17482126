/**
 * Compares closed calls with the entries that closed them: call, token, outcome and what was consumed.
 *
 * There are as many as calls, so the fold keeps a few fingerprints of eight bytes for each and not the entry. A row
 * that was edited has another fingerprint, and is named with what it says.
 *
 * @module
 */

import type { AuditEntry } from '../../protocol/audit.ts';
import type { ClosedCall } from '../port/ledger-store.ts';
import type { Ids } from './ids.ts';

/** Takes an entry without contents: it may have closed any call. */
export function foldErased(closed: Ids, entryId: string): void {
  closed.add(`${entryId} erased`);
}

/** Takes an entry of an admitted call. */
export function foldClosing(closed: Ids, entry: AuditEntry, amount: bigint): void {
  const { entry_id, invocation_id, token_id, state } = entry;
  if (invocation_id === null || state === 'refused') return;
  closed.add(`${entry_id} ${invocation_id} ${token_id} ${state}`);
  if (amount === 0n) return;
  closed.add(`${entry_id} spent`);
  closed.add(`${entry_id} spent ${amount}`);
}

export function closedCallFault(closed: Ids, call: ClosedCall): string | undefined {
  const { entry_id, invocation_id, token_id, outcome, consumed } = call;
  if (!closed.has(`${entry_id} ${invocation_id} ${token_id} ${STATES[outcome] ?? outcome}`)) {
    if (closed.has(`${entry_id} erased`)) return undefined;
    const says = `entry ${entry_id} closed it as "${outcome}" for token ${token_id}`;
    return `its row says that ${says}, the log does not`;
  }
  // Without a budget nothing is consumed, whatever the call cost; a refund changes the row and not this entry.
  if (call.reserved === 0n || call.isReconciled) return undefined;
  const spent = consumed === 0n ? 'spent' : `spent ${consumed}`;
  if (closed.has(`${entry_id} ${spent}`) === consumed > 0n) return undefined;
  return `its row says that it consumed ${consumed} minor units, entry ${entry_id} has another cost`;
}

/** The state of an entry, by the outcome of a call. */
const STATES: Readonly<Record<string, string>> = { no_effect: 'failed' };

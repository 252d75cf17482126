/**
 * How workers and checks tell an outcome: the entry says what was spent, and on which token.
 *
 * So the log alone says what every budget must be.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { type EntryRecord, entryView, type StoredEntry } from '../../src/domain/log/entry.ts';
import type { EntryState } from '../../src/protocol/audit.ts';
import type { Close } from '../../src/service/invoke/recovery.ts';
import type { IntentRecord } from '../../src/storage/port/records.ts';
import { entry } from '../support/fixtures.ts';

export function newOperationId(): string {
  return `op_${randomBytes(16).toString('hex')}`;
}

export function outcomeEntry(
  intent: IntentRecord,
  state: EntryState,
  spent: number | bigint,
): EntryRecord {
  const { invocation_id, root_principal, token_id, facts } = intent;
  const grantId = facts.approval_grant_id;
  return entry({
    invocation_id,
    root_principal,
    token_id,
    state,
    cost_actual: { currency: 'USD', amount: Number(spent) / 100 },
    ...(typeof grantId === 'string' && { approval_grant_id: grantId }),
    detail: { spent: Number(spent) },
  });
}

/** What recovery makes of a call that its process left open: the whole charge is spent. */
export const unknownOutcome: Close = (intent) => ({
  entry: outcomeEntry(intent, 'indeterminate', intent.charge?.amount ?? 0n),
  answer: new TextEncoder().encode('unknown'),
});

/** What an entry says of a call; `undefined` when it is of something else. */
export function outcomeOf(
  stored: StoredEntry,
): { tokenId: string; invocation: string; spent: bigint; state: EntryState } | undefined {
  const { token_id, invocation_id, detail, state } = entryView(stored);
  if (!token_id || !invocation_id || typeof detail?.spent !== 'number') return undefined;
  return { tokenId: token_id, invocation: invocation_id, spent: BigInt(detail.spent), state };
}

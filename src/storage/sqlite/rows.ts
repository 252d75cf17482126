/**
 * Rows as SQLite returns them, and the records they are.
 *
 * Integers come as bigints and become times, counts or amounts here and nowhere else.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import { amended } from '../../domain/values/amended.ts';
import type {
  ApprovalRecord,
  ApprovalVote,
  BindingRecord,
  Charge,
  CheckpointRecord,
  DeliveryRecord,
  FreezeRecord,
  GrantRecord,
  IdempotencyRecord,
  IntentRecord,
} from '../port/records.ts';

/** A record as a row: text and bytes stay, everything else is an integer or JSON, absent is null. */
export type Row<Kept> = {
  readonly [Field in keyof Kept]-?: Column<Kept[Field]>;
};
type Column<Kept> = [Exclude<Kept, undefined>] extends [string | Uint8Array | bigint]
  ? OrNull<Kept, Exclude<Kept, undefined>>
  : [Exclude<Kept, undefined>] extends [Date | number]
    ? OrNull<Kept, bigint>
    : OrNull<Kept, string>;
type OrNull<Kept, Stored> = undefined extends Kept ? Stored | null : Stored;

export function freezeOf(row: Row<FreezeRecord>): FreezeRecord {
  const times = { frozen_at: timeOf(row.frozen_at), until: optionalTime(row.until) };
  return { ...row, ...times, mac: row.mac ?? undefined };
}

export type BindingRow = Row<Omit<BindingRecord, 'price'>> & {
  readonly price_currency: string | null;
  readonly price_amount: bigint | null;
};

export function bindingOf(row: BindingRow): BindingRecord {
  return {
    binding_id: row.binding_id,
    type: row.type,
    capability: row.capability,
    root_principal: row.root_principal,
    price: chargeOf(row.price_currency, row.price_amount),
    data: JSON.parse(row.data),
    issued_at: timeOf(row.issued_at),
    mac: row.mac ?? undefined,
  };
}

export function grantOf(row: Row<GrantRecord>): GrantRecord {
  return {
    ...row,
    chain: row.chain ?? undefined,
    scope: JSON.parse(row.scope),
    parameters: JSON.parse(row.parameters),
    preview_digest: row.preview_digest ?? undefined,
    session_id: row.session_id ?? undefined,
    approved_by: JSON.parse(row.approved_by),
    approved_through: JSON.parse(row.approved_through),
    issued_at: timeOf(row.issued_at),
    expires_at: timeOf(row.expires_at),
    max_uses: Number(row.max_uses),
    uses: Number(row.uses),
    mac: row.mac ?? undefined,
  };
}

export function idempotencyOf(row: Row<IdempotencyRecord>): IdempotencyRecord {
  return { ...row, answer: row.answer ?? undefined };
}

export type IntentRow = Row<Omit<IntentRecord, 'charge'>> & {
  readonly charge_currency: string | null;
  readonly charge_amount: bigint | null;
};

export function intentOf(row: IntentRow): IntentRecord {
  return {
    operation_id: row.operation_id,
    invocation_id: row.invocation_id,
    token_id: row.token_id,
    subject: row.subject,
    root_principal: row.root_principal,
    capability: row.capability,
    charge: chargeOf(row.charge_currency, row.charge_amount),
    facts: JSON.parse(row.facts),
    instance_id: row.instance_id,
    admitted_at: timeOf(row.admitted_at),
  };
}

/** The approvals come from their own table, in the order they were given. */
export function approvalOf(
  row: Row<Omit<ApprovalRecord, 'approvals'>>,
  approvals: readonly Row<ApprovalVote>[],
): ApprovalRecord {
  return {
    ...row,
    chain: row.chain ?? undefined,
    scope: JSON.parse(row.scope),
    requested_through: JSON.parse(row.requested_through),
    session_id: row.session_id ?? undefined,
    parameters: JSON.parse(row.parameters),
    preview: row.preview === null ? undefined : JSON.parse(row.preview),
    preview_digest: row.preview_digest ?? undefined,
    grant_policy: JSON.parse(row.grant_policy),
    approvals_required: Number(row.approvals_required),
    approvals: approvals.map(({ approver, approved_at, terms, mac }) => ({
      approver,
      approved_at: timeOf(approved_at),
      ...(terms !== null && { terms: JSON.parse(terms) }),
      mac: mac ?? undefined,
    })),
    created_at: timeOf(row.created_at),
    expires_at: timeOf(row.expires_at),
    decided_at: optionalTime(row.decided_at),
    decided_by: row.decided_by ?? undefined,
    reason: row.reason ?? undefined,
    grant_id: row.grant_id ?? undefined,
    mac: row.mac ?? undefined,
  };
}

export function deliveryOf(row: Row<DeliveryRecord>): DeliveryRecord {
  return {
    ...row,
    payload: JSON.parse(row.payload),
    attempts: Number(row.attempts),
    last_error: row.last_error ?? undefined,
    next_attempt_at: optionalTime(row.next_attempt_at),
    delivered_at: optionalTime(row.delivered_at),
  };
}

export function entryOf(row: Row<StoredEntry>): StoredEntry {
  return amended(row, {
    sequence: Number(row.sequence),
    capability: row.capability ?? undefined,
    invocation_id: row.invocation_id ?? undefined,
    client_reference_id: row.client_reference_id ?? undefined,
    task_id: row.task_id ?? undefined,
    parent_invocation_id: row.parent_invocation_id ?? undefined,
    timestamp: timeOf(row.timestamp),
    retain_until: optionalTime(row.retain_until),
    leaf: row.leaf ?? undefined,
    personal: row.personal ?? undefined,
  });
}

export function checkpointOf(row: Row<CheckpointRecord>): CheckpointRecord {
  return {
    ...row,
    sequence: Number(row.sequence),
    size: Number(row.size),
    created_at: timeOf(row.created_at),
  };
}

export function timeOf(milliseconds: bigint): Date {
  return new Date(Number(milliseconds));
}

export function optionalTime(milliseconds: bigint | null): Date | undefined {
  return milliseconds === null ? undefined : timeOf(milliseconds);
}

function chargeOf(currency: string | null, amount: bigint | null): Charge | undefined {
  return currency === null || amount === null ? undefined : { currency, amount };
}

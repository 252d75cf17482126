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
import { UNREADABLE } from '../port/row-forms.ts';

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
    data: jsonOf(row.data),
    issued_at: timeOf(row.issued_at),
    mac: row.mac ?? undefined,
  };
}

export function grantOf(row: Row<GrantRecord>): GrantRecord {
  return {
    ...row,
    chain: row.chain ?? undefined,
    scope: jsonOf(row.scope),
    parameters: jsonOf(row.parameters),
    preview_digest: row.preview_digest ?? undefined,
    session_id: row.session_id ?? undefined,
    approved_by: jsonOf(row.approved_by),
    approved_through: jsonOf(row.approved_through),
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
    facts: jsonOf(row.facts),
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
    scope: jsonOf(row.scope),
    requested_through: jsonOf(row.requested_through),
    session_id: row.session_id ?? undefined,
    parameters: jsonOf(row.parameters),
    preview: row.preview === null ? undefined : jsonOf(row.preview),
    preview_digest: row.preview_digest ?? undefined,
    grant_policy: jsonOf(row.grant_policy),
    approvals_required: Number(row.approvals_required),
    approvals: approvals.map(({ approver, approved_at, terms, place, mac }, index) => ({
      approver,
      approved_at: timeOf(approved_at),
      ...(terms !== null && { terms: jsonOf(terms) }),
      ...(Number(place) !== index && { place: Number(place) }),
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
    payload: jsonOf(row.payload),
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

/** A text that is no JSON was edited: the row is one whose MAC does not match. */
// biome-ignore lint/suspicious/noExplicitAny: what it is, the record's type says.
export function jsonOf(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return UNREADABLE;
  }
}

/** The ids of a token's lineage. */
export function lineageOf(text: string): string[] {
  const ids = jsonOf(text);
  return Array.isArray(ids) ? ids : [UNREADABLE as never];
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

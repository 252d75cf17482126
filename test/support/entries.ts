/**
 * Entries for the store contract, with the contents that the service would write for the same rows.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import {
  type EntryFields,
  type EntryRecord,
  entryOf,
  SALT_BYTES,
} from '../../src/domain/log/entry.ts';
import { grantFacts, issuanceFacts, requestFacts } from '../../src/domain/log/entry-facts.ts';
import { fromMinor } from '../../src/domain/values/money.ts';
import { ID_BYTES, type IdPrefix, idOf } from '../../src/domain/wire/ids.ts';
import type { Settlement } from '../../src/storage/port/invocation-store.ts';
import type {
  ApprovalRecord,
  Charge,
  FreezeRecord,
  GrantRecord,
  IntentRecord,
  TokenRecord,
} from '../../src/storage/port/records.ts';
import type { ApprovalDecision } from '../../src/storage/port/store.ts';

const T0 = Date.parse('2030-01-01T00:00:00.000Z');

/** The service that issued the tokens of the cases. */
export const ISSUER = 'contract';

/** A time, by its distance from the start of the case. */
export function at(milliseconds: number): Date {
  return new Date(T0 + milliseconds);
}

export function newId(prefix: IdPrefix): string {
  return idOf(prefix, randomBytes(ID_BYTES[prefix]));
}

export function entry(changed: Partial<EntryFields> = {}): EntryRecord {
  const fields: EntryFields = {
    entry_id: newId('ent_'),
    entry_type: 'invocation',
    actor_key: 'agent:actor',
    root_principal: 'human:root@example.com',
    event_class: 'low_risk_success',
    success: true,
    state: 'completed',
    timestamp: at(0).toISOString(),
    ...changed,
  };
  return entryOf(fields, randomBytes(SALT_BYTES));
}

/** An entry that no store can take: its hash is too short. */
export function unstorableEntry(): EntryRecord {
  const { leaf_hash, ...others } = entry();
  return { ...others, leaf_hash: leaf_hash.subarray(1) };
}

export function issuanceEntry(token: TokenRecord): EntryRecord {
  const { token_id, root_principal, capability } = token;
  const detail = issuanceFacts(ISSUER, token);
  return entry({ entry_type: 'issuance', token_id, root_principal, capability, detail });
}

export function revocationEntry(tokenId: string): EntryRecord {
  return entry({ entry_type: 'revocation', token_id: tokenId, detail: {} });
}

/** The cost of a call: the whole charge where the outcome is unknown, nothing without an effect. */
export function outcomeEntry(
  { invocation_id, root_principal, token_id, charge, facts }: IntentRecord,
  { outcome, actual, overrun }: Pick<Settlement, 'outcome' | 'actual' | 'overrun'>,
): EntryRecord {
  const cost = outcome === 'indeterminate' ? charge : costOf(charge, actual);
  const grantId = facts.approval_grant_id;
  const debt = overrun?.debt;
  const reported = cost && debt && { ...debt, amount: cost.amount + debt.amount };
  return entry({
    invocation_id,
    root_principal,
    token_id,
    state: outcome === 'no_effect' ? 'failed' : outcome,
    ...(cost && outcome !== 'no_effect' && { cost_actual: moneyOf(cost) }),
    ...(reported && { detail: { cost_reported: moneyOf(reported) } }),
    ...(typeof grantId === 'string' && { approval_grant_id: grantId }),
  });
}

/** The entry leaves out a cost that no store accepts. */
function costOf(charge: Charge | undefined, actual: bigint | undefined): Charge | undefined {
  return (
    charge && { ...charge, amount: actual === undefined || actual < 0n ? charge.amount : actual }
  );
}

function moneyOf({ currency, amount }: Charge) {
  return { currency, amount: fromMinor(amount, currency) };
}

export function reconcileEntry(invocation_id: string, refund: boolean): EntryRecord {
  const outcome = refund ? 'not_executed' : 'executed';
  return entry({ entry_type: 'operator', detail: { verb: 'reconcile', invocation_id, outcome } });
}

export function requestEntry(request: ApprovalRecord): EntryRecord {
  const { approval_request_id, capability, requested_through } = request;
  const detail = { ...requestFacts(request), requested_through: [...requested_through] };
  return entry({ entry_type: 'approval_request', approval_request_id, capability, detail });
}

/** One approver's vote, with the grant where it is the last. */
export function approvalEntry(
  { approval_request_id, capability }: Pick<ApprovalRecord, 'approval_request_id' | 'capability'>,
  { approver, terms }: Pick<ApprovalDecision, 'approver' | 'terms'>,
  grant?: GrantRecord,
): EntryRecord {
  return entry({
    entry_type: 'approval_decision',
    approval_request_id,
    capability,
    approval_grant_id: grant?.grant_id,
    root_principal: approver,
    detail: {
      decision: grant ? 'granted' : 'approved',
      terms: { ...terms },
      ...(grant && grantFacts(grant)),
    },
  });
}

export function freezeEntry({ what, target, reason, frozen_by, until }: FreezeRecord): EntryRecord {
  const end = until && { until: until.toISOString() };
  const detail = { verb: 'freeze', what, ...(target && { target }), reason, ...end };
  return entry({ entry_type: 'operator', actor_key: frozen_by, detail });
}

export function unfreezeEntry({
  what,
  target,
}: Pick<FreezeRecord, 'what' | 'target'>): EntryRecord {
  const detail = { verb: 'unfreeze', what, ...(target && { target }) };
  return entry({ entry_type: 'operator', detail });
}

/** One of many entries that queries can tell apart: few values of some fields, and some entries without them. */
export function variedEntry(n: number, time: Date): EntryRecord {
  return entry({
    invocation_id: `inv-${n.toString(16).padStart(12, '0')}`,
    root_principal: `human:${n % 9}`,
    entry_type: n % 4 === 0 ? 'operator' : 'invocation',
    ...(n % 3 !== 0 && { capability: `c${n % 5}` }),
    ...(n % 7 === 0 && { task_id: `t${n % 21}` }),
    ...(n % 50 === 0 && { client_reference_id: `ref ${n % 200}` }),
    ...(n % 11 === 0 && { parent_invocation_id: `inv-${'0'.repeat(11)}${n % 3}` }),
    timestamp: time.toISOString(),
  });
}

/**
 * Rows of the database and the records they stand for.
 *
 * A column without a value is a field that is left out. Where a row came as JSON its times are text
 * and its amounts are strings; the same readers take both forms.
 *
 * @module
 */

import type { GrantTerms } from '../../domain/authority/grant.ts';
import type { StoredEntry } from '../../domain/log/entry.ts';
import { toMinor } from '../../domain/values/money.ts';
import type { Budget } from '../../protocol/primitives.ts';
import type { StepRecord } from '../port/composition-store.ts';
import type {
  ApprovalRecord,
  BindingRecord,
  BudgetState,
  Charge,
  CheckpointRecord,
  DeliveryRecord,
  FreezeRecord,
  GrantRecord,
  IntentRecord,
  LineageLink,
  TokenRecord,
} from '../port/records.ts';
import { remembered, shared, TOKENS_REMEMBERED_MAX } from '../port/remembered.ts';
import { ceilingOf, revokedAt } from '../port/row-forms.ts';

/** A row as the driver or JSON gives it. */
export type Row = Readonly<Record<string, unknown>>;

/** Field by field, unlike the others: every call reads a token. */
export function tokenOf(row: Row): TokenRecord {
  const token = row as unknown as TokenRecord;
  return {
    token_id: token.token_id,
    parent_token_id: token.parent_token_id ?? undefined,
    lineage: token.lineage,
    chain: token.chain,
    subject: token.subject,
    root_principal: token.root_principal,
    scope: token.scope,
    capability: token.capability ?? undefined,
    purpose: token.purpose,
    budget: budgetFieldOf(row),
    caller_class: token.caller_class,
    concurrent_branches: token.concurrent_branches,
    depth: token.depth,
    max_delegation_depth: token.max_delegation_depth,
    session_id: token.session_id ?? undefined,
    issued_at: timeOf(row.issued_at),
    expires_at: timeOf(row.expires_at),
    kid: token.kid,
    claims_digest: token.claims_digest,
    mac: token.mac ?? undefined,
  };
}

/** What never changes in a token's row, of one text: the record is shared, and frozen. */
export const fixedOf = remembered(TOKENS_REMEMBERED_MAX, (json): FixedToken => {
  const row: Row = JSON.parse(json);
  const { currency, max } = row;
  return {
    token: shared(tokenOf(row)),
    budget: isAbsent(currency) ? undefined : { currency: String(currency), max: amountOf(max) },
  };
});

export interface FixedToken {
  readonly token: TokenRecord;
  readonly budget: Pick<BudgetState, 'currency' | 'max'> | undefined;
}

/** A link of a lineage; of the token that was asked for, `own`, the row has only what changes. */
export function linkOf(row: Row, own: FixedToken): LineageLink {
  const { token, budget } = isAbsent(row.fixed) ? own : fixedOf(String(row.fixed));
  const { token_id, subject, expires_at } = token;
  const revoked_mac = isAbsent(row.revoked_mac) ? undefined : String(row.revoked_mac);
  const time = isAbsent(row.revoked_at) ? undefined : timeOf(row.revoked_at);
  return {
    token_id,
    subject,
    exclusive: token.concurrent_branches === 'exclusive',
    expires_at,
    revoked_at: revokedAt(token, time, revoked_mac),
    revoked_mac,
    budget: budget && {
      token_id,
      currency: budget.currency,
      max: budget.max,
      reserved: amountOf(row.reserved),
      consumed: amountOf(row.consumed),
    },
    token,
  };
}

/** What the rows of a lineage must be when they are held, in the words of `writ_judge`. */
export function sealOf(lineage: readonly LineageLink[]): string {
  return lineage.map(({ token }) => SEALS.get(token) ?? madeSeal(token)).join(',');
}

/** A record never changes, and the same one comes with every call of its token. */
const SEALS = new WeakMap<TokenRecord, string>();

function madeSeal(token: TokenRecord): string {
  const { token_id, mac = '', expires_at, concurrent_branches } = token;
  const seal = `${token_id} ${mac} ${expires_at.getTime()} ${concurrent_branches}`;
  SEALS.set(token, seal);
  return seal;
}

/** The ceilings that the budgets of a lineage must have, in the words of `writ_reserve`. */
export function ceilingsOf(lineage: readonly LineageLink[]): Row | undefined {
  let ceilings: Record<string, string> | undefined;
  for (const { budget } of lineage) {
    if (!budget) continue;
    ceilings ??= {};
    ceilings[budget.token_id] = `${budget.currency} ${budget.max}`;
  }
  return ceilings;
}

export function budgetOf(row: Row): BudgetState {
  return {
    token_id: String(row.token_id),
    currency: String(row.currency),
    max: amountOf(row.max),
    reserved: amountOf(row.reserved),
    consumed: amountOf(row.consumed),
  };
}

/** Minor units of a token's budget. One that cannot be read was never checked: a defect. */
export function budgetMax({ currency, max_amount }: Budget): bigint {
  const max = toMinor(max_amount, currency);
  if (max === undefined) throw new Error(`Cannot keep a budget of ${max_amount} "${currency}"`);
  return max;
}

export function freezeOf(row: Row): FreezeRecord {
  return { ...given<FreezeRecord>(row), ...times(row, ['frozen_at', 'until']) };
}

export function grantOf(row: Row): GrantRecord {
  return { ...given<GrantRecord>(row), ...times(row, ['issued_at', 'expires_at']) };
}

export function bindingOf(row: Row): BindingRecord {
  return {
    ...given<BindingRecord>(row, ['currency', 'amount']),
    ...times(row, ['issued_at']),
    ...optional('price', chargeOf(row)),
  };
}

export function intentOf(row: Row): IntentRecord {
  return {
    ...given<IntentRecord>(row, ['currency', 'amount']),
    ...times(row, ['admitted_at']),
    ...optional('charge', chargeOf(row)),
  };
}

export function stepOf(row: Row): StepRecord {
  return given<StepRecord>(row);
}

export function approvalOf(row: Row): ApprovalRecord {
  const approvals = (row.approvals ?? []) as Row[];
  return {
    ...given<ApprovalRecord>(row),
    ...times(row, ['created_at', 'expires_at', 'decided_at']),
    approvals: approvals.map((approval, index) => ({
      approver: String(approval.approver),
      approved_at: timeOf(approval.approved_at),
      ...optional('terms', (approval.terms as GrantTerms | null) ?? undefined),
      ...optional('place', Number(approval.place) === index ? undefined : Number(approval.place)),
      ...optional('mac', (approval.mac as string | null) ?? undefined),
    })),
  };
}

export function deliveryOf(row: Row): DeliveryRecord {
  return { ...given<DeliveryRecord>(row), ...times(row, ['next_attempt_at', 'delivered_at']) };
}

export function storedEntryOf(row: Row): StoredEntry {
  return { ...given<StoredEntry>(row), sequence: Number(row.sequence) };
}

export function checkpointOf(row: Row): CheckpointRecord {
  return {
    ...given<CheckpointRecord>(row),
    sequence: Number(row.sequence),
    size: Number(row.size),
  };
}

/** An array parameter of one column of many records. */
export function column<Item>(
  items: readonly Item[],
  read: (item: Item) => unknown,
): readonly unknown[] {
  return items.map((item) => read(item) ?? null);
}

/** The columns that have a value, without those that are read otherwise. */
function given<Record_>(row: Row, without: readonly string[] = []): Record_ {
  const said = Object.entries(row).filter(
    ([name, value]) => !isAbsent(value) && !without.includes(name),
  );
  return Object.fromEntries(said) as Record_;
}

function times<Name extends string>(row: Row, names: readonly Name[]): { [N in Name]: Date } {
  const said = names.filter((name) => !isAbsent(row[name]));
  return Object.fromEntries(said.map((name) => [name, timeOf(row[name])])) as { [N in Name]: Date };
}

function optional<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { [N in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [N in Name]?: Value };
}

export function timeOf(value: unknown): Date {
  return value instanceof Date ? value : new Date(String(value));
}

function amountOf(value: unknown): bigint {
  return typeof value === 'bigint' ? value : BigInt(String(value));
}

export function chargeOf({ currency, amount }: Row): Charge | undefined {
  if (isAbsent(currency)) return undefined;
  return { currency: String(currency), amount: amountOf(amount) };
}

function budgetFieldOf({ currency, max }: Row): Budget | undefined {
  if (isAbsent(currency)) return undefined;
  const code = String(currency);
  return { currency: code, max_amount: ceilingOf(amountOf(max), code) };
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

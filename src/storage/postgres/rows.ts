/**
 * Rows of the database and their records.
 *
 * A record is sent as JSON, which the database turns into a row. In rows that come back as JSON, times are
 * text and amounts are strings; the same readers take both forms.
 *
 * @module
 */

import { amended } from '../../domain/values/amended.ts';
import type {
  BudgetState,
  Charge,
  IntentRecord,
  LineageLink,
  TokenRecord,
} from '../port/records.ts';
import { remembered, shared, TOKENS_REMEMBERED_MAX } from '../port/remembered.ts';
import { ceilingOf, revokedAt } from '../port/row-forms.ts';
import * as approvals from '../tables/approvals.ts';
import * as authority from '../tables/authority.ts';
import * as calls from '../tables/calls.ts';
import type { Description } from '../tables/description.ts';
import * as log from '../tables/log.ts';
import * as people from '../tables/people.ts';
import { AS_IS, type Dialect, type Row, type Table, tableIn } from '../tables/table.ts';

export const POSTGRES: Dialect = {
  codecs: {
    text: AS_IS,
    list: AS_IS,
    json: AS_IS,
    exact: AS_IS,
    integer: { write: AS_IS.write, read: Number },
    long: { write: AS_IS.write, read: Number },
    amount: { write: String, read: amountOf },
    time: { write: AS_IS.write, read: timeOf },
    bytes: { write: (bytes) => `\\x${Buffer.from(bytes).toString('hex')}`, read: AS_IS.read },
  },
  chargeColumns: () => ['currency', 'amount'],
};

export interface PostgresTable<Kept> extends Table<Kept> {
  /** Inserts the rows in the JSON parameter; `clauses` join and filter them. */
  insert(parameter: number, clauses?: string): string;
  /** The record as a row in JSON. */
  row(record: Kept): Row;
  /** The value of a parameter that `insert` reads. */
  rows(records: readonly Kept[]): string | null;
}

export function postgresTable<Kept>(description: Description<Kept>): PostgresTable<Kept> {
  const table = tableIn<Kept>(POSTGRES, description);
  const { name, columns, list, values } = table;
  const row = (record: Kept): Row => {
    const stored: Record<string, unknown> = {};
    for (const [place, value] of values(record).entries()) stored[columns[place] as string] = value;
    return stored;
  };
  return {
    ...table,
    insert: (parameter, clauses = '') =>
      `INSERT INTO ${name} (${list()}) SELECT ${list('new')}
       FROM jsonb_populate_recordset(NULL::${name}, $${parameter}::jsonb) new ${clauses}`,
    row,
    rows: (records) => (records.length === 0 ? null : JSON.stringify(records.map(row))),
  };
}

const described = { ...authority, ...calls, ...approvals, ...people, ...log };

export const TOKENS = postgresTable(described.TOKENS);
export const BUDGETS = postgresTable(described.BUDGETS);
export const FREEZES = postgresTable(described.FREEZES);
export const BINDINGS = postgresTable(described.BINDINGS);
export const GRANTS = postgresTable(described.GRANTS);
export const KEYS = postgresTable(described.KEYS);

/** A token's row with the currency and the ceiling of its budget. */
function tokenOf(row: Row): TokenRecord {
  const { currency, max } = row;
  const code = String(currency);
  return amended(TOKENS.read(row), {
    budget: isAbsent(currency)
      ? undefined
      : { currency: code, max_amount: ceilingOf(amountOf(max), code) },
  });
}

/** The immutable part of a token's row, from its text: the record is cached, shared and frozen. */
export const fixedOf = remembered(TOKENS_REMEMBERED_MAX, (json): FixedToken => {
  const row: Row = JSON.parse(json);
  const { currency, max } = row;
  return {
    token: shared(tokenOf(row)),
    budget: isAbsent(currency) ? undefined : { currency: String(currency), max: amountOf(max) },
  };
});

interface FixedToken {
  readonly token: TokenRecord;
  readonly budget: Pick<BudgetState, 'currency' | 'max'> | undefined;
}

/** A link of a lineage; for the requested token, `own`, the row has only the mutable part. */
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

/** What the locked rows of a lineage must equal, in the form of `writ_judge`. */
export function sealOf(lineage: readonly LineageLink[]): string {
  return lineage.map(({ token }) => SEALS.get(token) ?? madeSeal(token)).join(',');
}

/** A record never changes, and every call of a token uses the same one. */
const SEALS = new WeakMap<TokenRecord, string>();

function madeSeal(token: TokenRecord): string {
  const { token_id, mac = '', expires_at, concurrent_branches } = token;
  const seal = `${token_id} ${mac} ${expires_at.getTime()} ${concurrent_branches}`;
  SEALS.set(token, seal);
  return seal;
}

/** The ceilings that the budgets of a lineage must have, in the form of `writ_reserve`. */
export function ceilingsOf(lineage: readonly LineageLink[]): Row | undefined {
  let ceilings: Record<string, string> | undefined;
  for (const { budget } of lineage) {
    if (!budget) continue;
    ceilings ??= {};
    ceilings[budget.token_id] = `${budget.currency} ${budget.max}`;
  }
  return ceilings;
}

export function intentOf(row: Row): IntentRecord {
  const intent = row as unknown as IntentRecord;
  return {
    operation_id: intent.operation_id,
    invocation_id: intent.invocation_id,
    token_id: intent.token_id,
    subject: intent.subject,
    root_principal: intent.root_principal,
    capability: intent.capability,
    charge: chargeOf(row),
    facts: intent.facts,
    instance_id: intent.instance_id,
    admitted_at: timeOf(intent.admitted_at),
  };
}

/** An array parameter of one column of many records. */
export function column<Item>(
  items: readonly Item[],
  read: (item: Item) => unknown,
): readonly unknown[] {
  return items.map((item) => read(item) ?? null);
}

/** An array parameter of integers. The driver would quote each of them. */
export function integers(values: readonly (number | bigint)[]): string {
  return `{${values.join(',')}}`;
}

function timeOf(value: unknown): Date {
  return value instanceof Date ? value : new Date(String(value));
}

function amountOf(value: unknown): bigint {
  return typeof value === 'bigint' ? value : BigInt(String(value));
}

function chargeOf({ currency, amount }: Row): Charge | undefined {
  if (isAbsent(currency)) return undefined;
  return { currency: String(currency), amount: amountOf(amount) };
}

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

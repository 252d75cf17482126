/**
 * Rows of the database and their records.
 *
 * A record is sent as JSON, which the database turns into a row. In rows that come back as JSON, times are
 * text and amounts are strings; the same readers take both forms.
 *
 * @module
 */

import type { LineageLink, TokenRecord } from '../port/records.ts';
import * as approvals from '../tables/approvals.ts';
import * as authority from '../tables/authority.ts';
import * as calls from '../tables/calls.ts';
import type { Description } from '../tables/description.ts';
import { type FixedToken, fixedTokens, linkFrom } from '../tables/lineage.ts';
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

export const fixedOf = fixedTokens(TOKENS);

/** A link of a lineage; for the requested token, `own`, the row has only the mutable part. */
export function linkOf(row: Row, own: FixedToken): LineageLink {
  return linkFrom(isAbsent(row.fixed) ? own : fixedOf(String(row.fixed)), {
    revoked_at: isAbsent(row.revoked_at) ? undefined : timeOf(row.revoked_at),
    revoked_mac: isAbsent(row.revoked_mac) ? undefined : String(row.revoked_mac),
    reserved: isAbsent(row.reserved) ? undefined : amountOf(row.reserved),
    consumed: isAbsent(row.consumed) ? undefined : amountOf(row.consumed),
  });
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

function isAbsent(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

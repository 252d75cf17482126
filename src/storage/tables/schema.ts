/**
 * CREATE TABLE and CREATE INDEX of described tables, in the SQL of one database.
 *
 * @module
 */

import { type Column, readColumn, type TableSchema } from './description.ts';

export interface SchemaDialect {
  readonly name: 'sqlite' | 'postgres';
  chargeColumns(field: string): readonly [currency: string, amount: string];
  column(name: string, column: Column, isPlain: boolean): string;
  /** After the closing parenthesis. */
  options(options: string | undefined): string;
}

export function schemaOf(dialect: SchemaDialect, tables: readonly TableSchema[]): string {
  return tables.map((table) => `\n${createTable(dialect, table)}\n`).join('');
}

function createTable(dialect: SchemaDialect, table: TableSchema): string {
  const { name, fields, beside, constraints = [], indexes = [], isPlain = false } = table;
  const own = table[dialect.name] ?? {};
  const columns = Object.entries({ ...fields, ...beside, ...own.columns }).flatMap(
    ([field, text]) => {
      const column = readColumn(text);
      if (column.kind !== 'charge') return dialect.column(field, column, isPlain);
      const [currency, amount] = dialect.chargeColumns(field);
      return [
        dialect.column(currency, { ...column, kind: 'text' }, isPlain),
        dialect.column(amount, { ...column, kind: 'amount' }, isPlain),
      ];
    },
  );
  const lines = [...columns, ...constraints, ...(own.constraints ?? [])].join(',\n  ');
  return [
    `CREATE TABLE ${name} (\n  ${lines}\n)${dialect.options(own.options)};`,
    ...[...(own.indexes ?? []), ...indexes].map((index) => createIndex(name, index)),
  ].join('\n');
}

function createIndex(table: string, index: string): string {
  const [, unique = '', name, rest] = /^(UNIQUE )?(\w+) (.*)$/.exec(index) ?? [];
  return `CREATE ${unique}INDEX ${name} ON ${table} ${rest};`;
}

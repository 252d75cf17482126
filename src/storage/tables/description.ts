/**
 * Descriptions of tables: the columns of every table with their kinds, written once for both databases.
 *
 * A column is one text: its kind, a question mark where a record may lack the field, and then the clauses that both
 * databases have in CREATE TABLE (`schema.ts`). A new field of a record is one more line; the compiler compares the lines
 * with the record. `sqlite/rows.ts` and `postgres/rows.ts` define how a value of a kind is stored.
 *
 * @module
 */

import type { Charge } from '../port/records.ts';

/**
 * `amount` is minor units, `charge` a currency with an amount (two columns), `list` a list of texts, `long` an integer that
 * may need 64 bits. `exact` is JSON that is stored as it was written, in a row without a MAC: reading a damaged one throws.
 */
export type Kind =
  | 'text'
  | 'integer'
  | 'long'
  | 'amount'
  | 'time'
  | 'flag'
  | 'bytes'
  | 'list'
  | 'json'
  | 'exact'
  | 'charge';

/** By name: `integer CHECK (depth >= 0)`, `time?`. A kind that is not one of ours is a type of the database. */
export type Columns = Readonly<Record<string, string>>;

export interface TableSchema {
  readonly name: string;
  /** Of the record. */
  readonly fields: Columns;
  /** Columns beside the record. */
  readonly beside?: Columns;
  /** Over several columns. */
  readonly constraints?: readonly string[];
  /** `tokens_by_root (root_principal, issued_at)`, with `UNIQUE` before the name of a unique one. */
  readonly indexes?: readonly string[];
  readonly sqlite?: Difference;
  readonly postgres?: Difference;
  /**
   * Leaves to the records what other tables check a second time: that JSON text is an object or a list, that a key is not
   * null (SQLite), that times have no fractions of a millisecond (PostgreSQL).
   */
  readonly isPlain?: true;
}

/** What a table has in one database alone: more columns, or another text for one. */
interface Difference {
  readonly columns?: Columns;
  readonly constraints?: readonly string[];
  readonly indexes?: readonly string[];
  readonly options?: string;
}

/** A table of records. */
export interface Description<Kept> extends TableSchema {
  readonly fields: Fields<Kept>;
}

type Fields<Kept> = {
  readonly [Field in keyof Kept]-?: undefined extends Kept[Field]
    ? Clauses<`${KindOf<Exclude<Kept[Field], undefined>>}?`>
    : Clauses<KindOf<Kept[Field]>>;
};
type Clauses<Text extends string> = Text | `${Text} ${string}`;
type KindOf<Value> = [Value] extends [string]
  ? 'text'
  : [Value] extends [number]
    ? 'integer' | 'long'
    : [Value] extends [bigint]
      ? 'amount'
      : [Value] extends [Date]
        ? 'time'
        : [Value] extends [Uint8Array]
          ? 'bytes'
          : [Value] extends [readonly string[]]
            ? 'list'
            : [Value] extends [Charge]
              ? 'charge'
              : 'json' | 'exact';

export interface Column {
  readonly kind: Kind;
  /** A record may lack the field. */
  readonly isOptional: boolean;
  /** The column of an optional field, or of one that older rows lack: `NULL` is its first clause. */
  readonly isNullable: boolean;
  readonly clauses: string;
}

export function readColumn(text: string): Column {
  const [, kind = '', mark = '', none, clauses = ''] =
    /^([^\s?]+)(\?)?( NULL)? ?(.*)$/.exec(text) ?? [];
  const isOptional = mark !== '';
  return { kind: kind as Kind, isOptional, isNullable: isOptional || none !== undefined, clauses };
}

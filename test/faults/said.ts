/**
 * What a worker says to the test that started it: one JSON line for each thing it knows for certain.
 *
 * A worker says that a change was kept only after the store's promise has resolved, so each line is
 * an acknowledgement that some client may have acted on.
 *
 * @module
 */

export type Said =
  | { readonly said: 'opening' | 'ready' | 'mark' }
  | { readonly said: 'kept' | 'admitted' | 'settled'; readonly act: Act }
  /** Another outcome was recorded first. */
  | { readonly said: 'superseded'; readonly act: Act }
  /** The store said that nothing happened. */
  | { readonly said: 'refused'; readonly act: Act; readonly why: string }
  /** The store could not find out what happened. */
  | { readonly said: 'unknown'; readonly act: Act; readonly why: string }
  | { readonly said: 'defect'; readonly why: string };

export type Act =
  | { readonly append: readonly string[] }
  | { readonly admit: string; readonly invocation: string }
  | { readonly settle: string; readonly invocation: string; readonly entry: string };

export interface WorkerConfig {
  /** `sqlite:<file>`, or the address of a PostgreSQL database. */
  readonly url: string;
  readonly instance: string;
  /** Calls under way at once. */
  readonly lanes: number;
  readonly world: World;
  readonly postgres?: PostgresTimeouts | undefined;
  /** Kills itself as soon as it has told of a failure, before anything else can be written. */
  readonly diesOfFailure?: boolean | undefined;
}

export interface PostgresTimeouts {
  readonly connectTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly resolveTimeoutMs: number;
}

/** What was prepared for the workers to act on. */
export interface World {
  /** Root, middle, leaf: each has a budget. */
  readonly line: readonly string[];
  /** A child of the root under which one call at a time may run. */
  readonly exclusive: string;
  /** For calls under the leaf. */
  readonly grant: string;
}

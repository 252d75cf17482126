/**
 * The options of the PostgreSQL store, their defaults, and those that its address may contain.
 *
 * @module
 */

import { type Platform, system } from '../../platform.ts';
import type { OnStep } from '../port/versions.ts';

export interface PostgresOptions {
  readonly platform?: Platform | undefined;
  /** Connections for requests. Background work has its own, so that requests cannot starve it. */
  readonly poolSize?: number | undefined;
  /** Replaces the database's clock, for tests. */
  readonly clock?: (() => Date) | undefined;
  /** How often the sequencer runs without a write of this process. */
  readonly sequenceIntervalMs?: number | undefined;
  readonly connectTimeoutMs?: number | undefined;
  readonly lockTimeoutMs?: number | undefined;
  readonly statementTimeoutMs?: number | undefined;
  /** How long to resolve the outcome of a change whose answer was lost. */
  readonly resolveTimeoutMs?: number | undefined;
  /** Receives what an operator should know and no caller can act on. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Called after each step that brings an older store to the current version. */
  readonly onStep?: OnStep | undefined;
  /** False: refuses, and does not change, a database without a store of the current version. */
  readonly create?: boolean | undefined;
}

export type PostgresSettings = { readonly [Name in keyof PostgresOptions]-?: Setting<Name> };

type Setting<Name extends keyof PostgresOptions> = Name extends 'clock'
  ? PostgresOptions['clock']
  : NonNullable<PostgresOptions[Name]>;

export function settingsOf(options: PostgresOptions): PostgresSettings {
  return {
    platform: options.platform ?? system,
    poolSize: options.poolSize ?? POOL_SIZE,
    clock: options.clock,
    sequenceIntervalMs: options.sequenceIntervalMs ?? SEQUENCE_INTERVAL_MS,
    connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    lockTimeoutMs: options.lockTimeoutMs ?? LOCK_TIMEOUT_MS,
    statementTimeoutMs: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    resolveTimeoutMs: options.resolveTimeoutMs ?? RESOLVE_TIMEOUT_MS,
    onWarning: options.onWarning ?? (() => {}),
    create: options.create ?? true,
    onStep: options.onStep ?? (() => {}),
  };
}

/** Keeps a few cores of a database busy; six replicas stay below the server's default of 100. */
const POOL_SIZE = 16;

/** Another process's entries get their place within a quarter of a second. */
const SEQUENCE_INTERVAL_MS = 250;

/** For a new connection, and for a place in the pool: a caller that waits longer is refused. */
const CONNECT_TIMEOUT_MS = 5_000;

/** A transition holds its locks for milliseconds; one that holds them longer is stuck. */
const LOCK_TIMEOUT_MS = 5_000;

/**
 * Longer than the lock timeout, so that the two can be distinguished. No statement of ours runs for seconds.
 */
const STATEMENT_TIMEOUT_MS = 10_000;

/** Longer than a lock of the lost original can last; shorter than callers wait for an answer. */
const RESOLVE_TIMEOUT_MS = 8_000;

/** Connections that one process may ask for: more only wait for each other in the server. */
const POOL_SIZE_MAX = 1_000;

/** An address, and the options of ours that it contained. */
export interface Address {
  /** Without our own options, which the driver would not know. */
  readonly address: URL;
  readonly poolSize: number | undefined;
  /** False: statements have no names. PgBouncer before 1.21 in transaction mode needs that. */
  readonly isPrepared: boolean;
}

/** Messages leave out the address, because it contains a password. */
export function readAddress(url: string): Address {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  // A fragment means that the password contains an unescaped "#".
  if (address === undefined || address.hash !== '') throw unreadable();
  const size = taken(address, 'pool_size');
  const poolSize = size === undefined ? undefined : Number(size);
  if (size !== undefined && !(/^\d{1,4}$/.test(size) && isPoolSize(poolSize))) {
    throw new Error(
      `Cannot use the address of the database: expected pool_size from 1 to ${POOL_SIZE_MAX}`,
    );
  }
  const prepared = taken(address, 'prepared_statements') ?? 'on';
  if (prepared !== 'on' && prepared !== 'off') {
    throw new Error(
      'Cannot use the address of the database: expected prepared_statements to be on or off',
    );
  }
  return { address, poolSize, isPrepared: prepared === 'on' };
}

function isPoolSize(size: number | undefined): boolean {
  return size !== undefined && size >= 1 && size <= POOL_SIZE_MAX;
}

function taken({ searchParams }: URL, name: string): string | undefined {
  const value = searchParams.get(name) ?? undefined;
  searchParams.delete(name);
  return value;
}

function unreadable(): Error {
  const form = 'postgres://user:password@host:port/database';
  const escapes = '"#", "/", "?", "@" and "%" in a password written as %23, %2F, %3F, %40 and %25';
  return new Error(
    `Cannot read the address of the database: expected ${form}, with a port up to 65535 and ${escapes}`,
  );
}

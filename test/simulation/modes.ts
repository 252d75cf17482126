/**
 * Where the replicas of a run keep their data: the simulated store in memory, or the real SQLite store.
 *
 * @module
 */

import { type Platform, system } from '../../src/platform.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { IN_MEMORY, openConnection } from '../../src/storage/sqlite/connection.ts';
import { createSqliteStore } from '../../src/storage/sqlite/store.ts';
import { createMemoryDatabase } from './memory/database.ts';
import { openMemoryStore } from './memory/store.ts';
import { embeddedStore, type PortParts, remoteStore } from './port.ts';
import { replicaConnection } from './statements.ts';

export type StoreMode = 'memory' | 'sqlite';

interface OpenParts extends PortParts {
  readonly platform: Platform;
}

export interface Place {
  /** The store as one life of a replica reaches it. */
  open(parts: OpenParts): Store;
  /** A store without faults, for whoever looks from outside. */
  observe(): Store;
  close(): void;
}

export function openPlace(mode: StoreMode, clock: () => Date): Place {
  return mode === 'memory' ? openMemoryPlace(clock) : openSqlitePlace(clock);
}

/** One simulated database that the replicas reach over a network. */
function openMemoryPlace(clock: () => Date): Place {
  const database = createMemoryDatabase();
  const inner = openMemoryStore(database, { platform: { random: sameBytes }, clock });
  return {
    open: (parts) => remoteStore(inner, parts),
    observe: () => inner,
    close: () => undefined,
  };
}

/** Turns that end with the current promise jobs: the observer waits for no replica. */
const AT_ONCE: Platform = {
  ...system,
  turn: (run) => process.nextTick(run),
  random: sameBytes,
};

/** The log has the same id in every run. */
function sameBytes(size: number): Uint8Array {
  return new Uint8Array(size).fill(7);
}

/** One database in memory. Each replica has a store of its own on it. */
function openSqlitePlace(clock: () => Date): Place {
  const shared = openConnection(IN_MEMORY, undefined, AT_ONCE);
  const observer = createSqliteStore(shared, { clock, platform: AT_ONCE });
  return {
    open(parts) {
      const connection = replicaConnection(shared, parts, parts.platform);
      const store = createSqliteStore(connection, { clock, platform: parts.platform });
      connection.arm();
      return embeddedStore(store, { ...parts, batch: connection.batch });
    },
    observe: () => observer,
    close: () => shared.close(),
  };
}

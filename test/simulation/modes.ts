/**
 * Where the replicas of a run keep their data: the real SQLite store in memory, which they reach over a network or
 * have in their own processes.
 *
 * @module
 */

import { type Platform, system } from '../../src/platform.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { IN_MEMORY, openConnection } from '../../src/storage/sqlite/connection.ts';
import { createSqliteStore, openSqlite } from '../../src/storage/sqlite/store.ts';
import { embeddedStore, type PortParts, remoteStore } from './port.ts';
import { replicaConnection } from './statements.ts';
import type { Owner, World, WorldTimer } from './world.ts';

/** `remote`: one store for all replicas, over a network. `embedded`: each replica has a store on one database. */
export type StoreMode = 'remote' | 'embedded';

export const STORE_MODES: readonly StoreMode[] = ['remote', 'embedded'];

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

interface PlaceParts {
  readonly world: World;
  /** Work of no replica. */
  readonly outside: Owner;
  /** The clock of the rules. */
  readonly clock: () => Date;
}

export async function openPlace(mode: StoreMode, parts: PlaceParts): Promise<Place> {
  const options = { clock: parts.clock, platform: outsidePlatform(parts) };
  if (mode === 'embedded') return embeddedPlace(options);
  return remotePlace(await openSqlite(IN_MEMORY, options));
}

function remotePlace(inner: Store): Place {
  return {
    open: (parts) => remoteStore(inner, parts),
    observe: () => inner,
    close: () => void inner.close(),
  };
}

/** One database in memory. Each replica has a store of its own on it. */
function embeddedPlace({ clock, platform }: { clock: () => Date; platform: Platform }): Place {
  const shared = openConnection(IN_MEMORY, undefined, platform);
  const observer = createSqliteStore(shared, { clock, platform });
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

/**
 * The platform of a store that no replica has. Its turns end with the current promise jobs, so a call is executed
 * within one step of the world, and the observer waits for no step. The log has the same id in every run.
 */
function outsidePlatform({ world, outside, clock }: PlaceParts): Platform {
  const loop = world.queue(outside);
  return {
    ...system,
    now: () => clock().getTime(),
    after: (ms, run) => ({ ...world.after(ms, loop, run), unref: () => undefined }),
    cancel: (timer) => (timer as (WorldTimer & typeof timer) | undefined)?.cancel(),
    turn: queueMicrotask,
    random: (size) => new Uint8Array(size).fill(7),
  };
}

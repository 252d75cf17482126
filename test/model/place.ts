/**
 * The services of a run: one or two on the same store, asked over their HTTP surface, with a clock that only the run
 * moves.
 *
 * @module
 */

import { join } from 'node:path';
import { system } from '../../src/platform.ts';
import { emptyStore } from '../support/empty-store.ts';
import { temporaryFolder } from '../support/ends.ts';
import { newFile } from '../support/store-places.ts';
import { type TestOptions, type TestService, testService } from '../support/world.ts';
import { createGates, type Gates, modelService, SETTINGS } from './catalog.ts';

export interface Place {
  readonly services: readonly TestService[];
  readonly gates: Gates;
  now(): number;
  pass(ms: number): void;
}

/** A whole second, so that the ends of tokens are whole seconds of the run too. */
const BEGIN = Date.UTC(2030, 0, 1);

/** In milliseconds. The clock jumps, so a process that is merely idle must not count as dead. */
const NEVER_MS = 10 ** 12;

async function openPlace(store: string, count: number, wrap?: TestOptions['wrap']): Promise<Place> {
  let time = BEGIN;
  const gates = createGates();
  const definition = modelService(gates);
  const platform = { ...system, now: () => time };
  const keys = join(temporaryFolder(), 'keys');
  const recovery = { intervalMs: 3_600_000, silentMs: NEVER_MS };
  const services: TestService[] = [];
  for (let place = 0; place < count; place++) {
    const options = { store, definition, settings: SETTINGS, keys, recovery, platform };
    services.push(await testService({ ...options, ...(wrap && { wrap }) }));
  }
  return {
    services,
    gates,
    now: () => time,
    pass(ms) {
      time += ms;
    },
  };
}

interface PlaceKind {
  readonly name: string;
  /** Seeds in the suite: more where two services share a store. */
  readonly seeds: number;
  open(wrap?: TestOptions['wrap']): Promise<Place>;
}

export const ONE_SQLITE: PlaceKind = {
  name: 'one service on a SQLite file',
  seeds: 20,
  open: (wrap) => openPlace(`sqlite:${newFile()}`, 1, wrap),
};

export const TWO_SQLITE: PlaceKind = {
  name: 'two services on one SQLite file',
  seeds: 30,
  open: (wrap) => openPlace(`sqlite:${newFile()}`, 2, wrap),
};

const TWO_POSTGRES: PlaceKind = {
  name: 'two services on one PostgreSQL database',
  seeds: 25,
  open: async (wrap) => openPlace((await emptyStore()).url, 2, wrap),
};

export const PLACES: readonly PlaceKind[] = [ONE_SQLITE, TWO_SQLITE, TWO_POSTGRES];

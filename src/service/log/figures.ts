/**
 * Figures: what operators watch of a running service beside its counters.
 *
 * A scraper must not load the store, so what the store is asked for is kept for some seconds, and one question runs at a time.
 * While the store does not answer, its figures are absent.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';
import type { Store, StoreFigures } from '../../storage/port/store.ts';
import type { SealingState } from './sealer.ts';

export interface Figures {
  /** Entries that are acknowledged and have no place in the tree yet. */
  readonly backlog: number;
  /** Absent before the first checkpoint, and where the log is not sealed. */
  readonly checkpointAgeSeconds?: number | undefined;
  readonly store?: StoreFigures | undefined;
}

/** In milliseconds: how long the store is not asked again. Scrapers come every 15 to 60 seconds. */
const STORE_FIGURES_MS = 10_000;

/** Never rejects. */
export function createFigures(
  store: Pick<Store, 'now' | 'backlog' | 'figures'>,
  { monotonic }: Platform,
  sealing: () => SealingState | undefined,
): () => Promise<Figures> {
  let asked: { at: number; figures: Promise<StoreFigures | undefined> } | undefined;
  return async () => {
    if (!asked || monotonic() - asked.at >= STORE_FIGURES_MS) {
      const figures = store.figures(store.now()).catch(() => undefined);
      asked = { at: monotonic(), figures };
    }
    const checkpoint = sealing()?.checkpoint;
    const ageMs = checkpoint && store.now().getTime() - checkpoint.created_at.getTime();
    return {
      backlog: store.backlog().waiting,
      checkpointAgeSeconds: ageMs === undefined ? undefined : Math.max(0, ageMs / 1_000),
      store: await asked.figures,
    };
  };
}

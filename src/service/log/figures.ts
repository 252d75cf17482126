/**
 * Figures: what operators watch of a running service beside its counters.
 *
 * A scraper must not load the store, so what the store is asked for is kept for some seconds, and one question runs at a time.
 * While the store does not answer, a scrape waits a second for it and then goes without its figures: all others are
 * needed most at such a time.
 *
 * @module
 */

import type { Platform, Timer } from '../../platform.ts';
import type { PoolFigures, Store, StoreFigures } from '../../storage/port/store.ts';
import type { SealingState } from './sealer.ts';

export interface Figures {
  /** Entries that are acknowledged and have no place in the tree yet. */
  readonly backlog: number;
  /** Absent before the first checkpoint, and where the log is not sealed. */
  readonly checkpointAgeSeconds?: number | undefined;
  readonly pool?: PoolFigures | undefined;
  readonly store?: StoreFigures | undefined;
}

/** In milliseconds: how long the store is not asked again. Scrapers come every 15 to 60 seconds. */
const STORE_FIGURES_MS = 10_000;

/** In milliseconds. Scrapers give up after ten seconds, and lose all figures then. */
const STORE_WAIT_MS = 1_000;

/** Never rejects. */
export function createFigures(
  store: Pick<Store, 'now' | 'backlog' | 'figures' | 'pool'>,
  platform: Platform,
  sealing: () => SealingState | undefined,
): () => Promise<Figures> {
  const { monotonic } = platform;
  let asked: { answeredAt: number; figures: Promise<StoreFigures | undefined> } | undefined;
  const ask = () => {
    const question = {
      answeredAt: Number.POSITIVE_INFINITY,
      figures: store
        .figures(store.now())
        .catch(() => undefined)
        .finally(() => {
          question.answeredAt = monotonic();
        }),
    };
    return question;
  };
  return async () => {
    if (!asked || monotonic() - asked.answeredAt >= STORE_FIGURES_MS) asked = ask();
    const answered = await soon(platform, asked.figures);
    const checkpoint = sealing()?.checkpoint;
    const ageMs = checkpoint && store.now().getTime() - checkpoint.created_at.getTime();
    return {
      backlog: store.backlog().waiting,
      checkpointAgeSeconds: ageMs === undefined ? undefined : Math.max(0, ageMs / 1_000),
      pool: store.pool?.(),
      store: answered,
    };
  };
}

/** What a promise resolves to, if it does so soon. */
async function soon<Value>(
  { after, cancel }: Platform,
  promise: Promise<Value>,
): Promise<Value | undefined> {
  let timer: Timer | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = after(STORE_WAIT_MS, () => resolve(undefined));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel(timer);
  }
}

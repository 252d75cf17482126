/**
 * The database's clock, without a query for each reading.
 *
 * Between measurements this machine's monotonic clock advances the time, so a wrong or adjusted wall clock
 * here has no effect. All replicas of one database therefore agree on what has expired, to within half a
 * round trip.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';
import type { Database, Statement } from './connection.ts';
import type { PostgresSettings } from './options.ts';

/** Monotonic clocks drift apart by milliseconds in this time. */
const REFRESH_MS = 10_000;

/** A larger difference between two measurements means that a clock was set or a machine was suspended. */
const DRIFT_MS_MAX = 1_000;

/** The fastest of a few round trips gives the best measurement. */
const SAMPLES = 3;

export interface Clock {
  now(): Date;
  stop(): void;
}

export async function startClock(database: Database, settings: PostgresSettings): Promise<Clock> {
  const { clock, platform } = settings;
  if (clock) return { now: clock, stop: () => {} };

  let offset = await measure(database, platform);
  const timer = platform.every(REFRESH_MS, () => {
    // Other queries report a database that does not answer; the last measurement stays in use.
    measure(database, platform).then(refresh, () => {});
  });
  timer.unref();

  function refresh(measured: number): void {
    const drift = Math.round(measured - offset);
    offset = measured;
    if (Math.abs(drift) <= DRIFT_MS_MAX) return;
    settings.onWarning(`The database's clock and ours drifted apart by ${drift} ms`);
  }

  return {
    now: () => new Date(platform.monotonic() + offset),
    stop: () => platform.cancel(timer),
  };
}

/** The difference between the database's time and our monotonic clock, in milliseconds. */
async function measure(database: Database, { monotonic }: Platform): Promise<number> {
  let best = { trip: Number.POSITIVE_INFINITY, offset: 0 };
  for (let sample = 0; sample < SAMPLES; sample++) {
    const sent = monotonic();
    const [row] = await database.read<{ now: number }>(NOW);
    const trip = monotonic() - sent;
    const offset = Number(row?.now) - (sent + trip / 2);
    if (trip < best.trip) best = { trip, offset };
  }
  return best.offset;
}

const NOW: Statement = {
  name: 'now',
  text: 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now',
};

/**
 * Load shedding: refuses work before it costs anything, so that accepted work stays fast.
 *
 * A slot counts work. A waiting request holds none: for its body, behind another on its connection, or for a
 * client to read its answer. connection.ts bounds those.
 *
 * @module
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Platform } from '../../platform.ts';
import {
  LATE_SAMPLES_MIN,
  LOOP_DELAY_MAX_MS,
  QUEUED_WORK_MIN,
  REQUESTS_IN_WORK_MAX,
} from './limits.ts';

/** How often the delay is sampled. The histogram is reset each time. */
const SAMPLE_MS = 500;

/** Calls `see` with the median event loop delay in milliseconds for each sample. Returns what ends it. */
type DelaySource = (see: (medianMs: number) => void) => () => void;

export interface Load {
  /** Requests that are arriving or in work now. */
  readonly inWork: () => number;
  /** The median event loop delay of the last sample. */
  readonly delayMs: () => number;
  /** Headers received; not counted as work until the body arrives. */
  enter(): WorkSlot;
  /** Why the last entered request is refused, or `undefined`. */
  overload(): string | undefined;
  close(): void;
}

export interface WorkSlot {
  /** The body is there: the work begins. */
  begin(): void;
  /** What was asked before the body is answered: the request waits for its body again. */
  wait(): void;
  /** The answer is made, whether or not it is read. Repeated calls have no effect. */
  leave(): void;
  /** The client has left. Running work continues, and keeps its slot until its answer is made. */
  abandon(): void;
}

interface LoadBounds {
  readonly inWorkMax?: number;
  readonly loopDelayMaxMs?: number;
  readonly delays?: DelaySource;
}

export function watchLoad(platform: Platform, bounds: LoadBounds = {}): Load {
  const { inWorkMax = REQUESTS_IN_WORK_MAX, loopDelayMaxMs = LOOP_DELAY_MAX_MS } = bounds;
  let arriving = 0;
  let working = 0;
  let delayMs = 0;
  let lateSamples = 0;
  const close = (bounds.delays ?? loopDelays(platform))((medianMs) => {
    delayMs = medianMs;
    lateSamples = medianMs > loopDelayMaxMs ? lateSamples + 1 : 0;
  });

  return {
    inWork: () => arriving + working,
    delayMs: () => delayMs,
    enter() {
      let state: 'arriving' | 'working' | 'left' = 'arriving';
      arriving += 1;
      const leave = () => {
        if (state === 'working') working -= 1;
        else if (state === 'arriving') arriving -= 1;
        state = 'left';
      };
      return {
        begin() {
          if (state !== 'arriving') return;
          state = 'working';
          arriving -= 1;
          working += 1;
        },
        wait() {
          if (state !== 'working') return;
          state = 'arriving';
          working -= 1;
          arriving += 1;
        },
        leave,
        abandon() {
          if (state === 'arriving') leave();
        },
      };
    },
    overload() {
      if (working >= inWorkMax) return `${inWorkMax} requests are in work`;
      // A machine without CPU time for us also delays the event loop. Refusing a caller shortens the delay
      // only where queued work causes it.
      if (lateSamples < LATE_SAMPLES_MIN || working < QUEUED_WORK_MIN) return undefined;
      return `event loop delay is ${Math.round(delayMs)} ms, with ${working} requests in work`;
    },
    close,
  };
}

const loopDelays =
  ({ every, cancel }: Platform): DelaySource =>
  (see) => {
    const histogram = monitorEventLoopDelay({ resolution: 20 });
    histogram.enable();
    const timer = every(SAMPLE_MS, () => {
      // The median: a single long turn is over when it is seen.
      see(histogram.percentile(50) / 1e6);
      histogram.reset();
    });
    timer.unref();
    return () => {
      cancel(timer);
      histogram.disable();
    };
  };

/**
 * Load shedding: turns work away before it costs anything, so that accepted work stays quick.
 *
 * @module
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { ARRIVING_PER_WORK, LOOP_DELAY_MAX_MS, REQUESTS_IN_WORK_MAX } from './limits.ts';

/** How often the delay is looked at. The histogram is cleared each time, so that it forgets. */
const SAMPLE_MS = 500;

export interface Load {
  /** Requests that are arriving or in work now. */
  readonly inWork: () => number;
  /** A request's headers are there. It is no work yet: its body may be long in coming. */
  enter(): { begin(): void; leave(): void };
  /** Why the request that entered last is refused, or `undefined`. */
  overload(): string | undefined;
  close(): void;
}

interface LoadBounds {
  readonly inWorkMax?: number;
  readonly loopDelayMaxMs?: number;
}

export function watchLoad(bounds: LoadBounds = {}): Load {
  const { inWorkMax = REQUESTS_IN_WORK_MAX, loopDelayMaxMs = LOOP_DELAY_MAX_MS } = bounds;
  const histogram = monitorEventLoopDelay({ resolution: 20 });
  histogram.enable();
  let arriving = 0;
  let working = 0;
  let delayMs = 0;
  const timer = setInterval(() => {
    // The middle one: a single long turn is over when it is seen, and no reason to turn work away.
    delayMs = histogram.percentile(50) / 1e6;
    histogram.reset();
  }, SAMPLE_MS);
  timer.unref();

  return {
    inWork: () => arriving + working,
    enter() {
      let begun = false;
      arriving += 1;
      return {
        begin() {
          begun = true;
          arriving -= 1;
          working += 1;
        },
        leave() {
          if (begun) working -= 1;
          else arriving -= 1;
        },
      };
    },
    overload() {
      if (working >= inWorkMax) return `${inWorkMax} requests are in work`;
      const arrivingMax = inWorkMax * ARRIVING_PER_WORK;
      if (arriving > arrivingMax) return `${arrivingMax} requests are on their way`;
      if (delayMs > loopDelayMaxMs) return `a turn takes ${Math.round(delayMs)} ms`;
      return undefined;
    },
    close() {
      clearInterval(timer);
      histogram.disable();
    },
  };
}

/**
 * Load shedding: turns work away before it costs anything, so that accepted work stays quick.
 *
 * A place counts work. A request that only waits holds none: for its body, behind another on its
 * connection, or, once its answer is made, for a client to read it. Those are bounded by connection.ts.
 *
 * @module
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { LOOP_DELAY_MAX_MS, REQUESTS_IN_WORK_MAX } from './limits.ts';

/** How often the delay is looked at. The histogram is cleared each time, so that it forgets. */
const SAMPLE_MS = 500;

export interface Load {
  /** Requests that are arriving or in work now. */
  readonly inWork: () => number;
  /** Headers received; not counted as work until the body arrives. */
  enter(): Place;
  /** Why the request that entered last is refused, or `undefined`. */
  overload(): string | undefined;
  close(): void;
}

export interface Place {
  /** The body is there: the work begins. */
  begin(): void;
  /** The answer is made, whether or not it is read. Has no effect the second time. */
  leave(): void;
  /** The client has left. Work that began goes on, and keeps its place until its answer is made. */
  abandon(): void;
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
        leave,
        abandon() {
          if (state === 'arriving') leave();
        },
      };
    },
    overload() {
      if (working >= inWorkMax) return `${inWorkMax} requests are in work`;
      if (delayMs > loopDelayMaxMs) return `event loop delay is ${Math.round(delayMs)} ms`;
      return undefined;
    },
    close() {
      clearInterval(timer);
      histogram.disable();
    },
  };
}

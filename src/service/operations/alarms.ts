/**
 * Alarms: events that occur only when data was changed outside the service. Every alarm is counted.
 * The log gets one line for each subject.
 *
 * A caller can make the service read the same altered row again and again. So a recently logged
 * subject is counted and not logged again.
 *
 * @module
 */

import { createRecent } from '../../domain/values/recent.ts';
import type { Logger } from '../../log.ts';

export interface Alarms {
  /** `about` names the altered thing, for the log. */
  raise(alarm: string, about: Readonly<Record<string, string>>, message: string): void;
  /** Calls the listener for every later alarm. */
  watch(listener: (alarm: string) => void): void;
}

/** Recently logged subjects to remember. */
const RAISED_MAX = 1_000;

export function createAlarms(log: Logger): Alarms {
  const listeners = new Set<(alarm: string) => void>();
  const raised = createRecent<string, true>(RAISED_MAX);
  return {
    raise(alarm, about, message) {
      for (const listener of listeners) listener(alarm);
      const subject = JSON.stringify([alarm, about]);
      if (raised.get(subject)) return;
      raised.set(subject, true);
      log.error({ alarm, ...about }, message);
    },
    watch: (listener) => void listeners.add(listener),
  };
}

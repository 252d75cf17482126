/**
 * Alarms: things that an honest service never meets. Each is counted; the log tells of each once.
 *
 * A caller can make the service meet the same altered row as often as it likes, so a line in the log
 * is written for a subject that was not told of lately, while the counter counts every time.
 *
 * @module
 */

import { createRecent } from '../../domain/values/recent.ts';
import type { Logger } from '../../log.ts';

export interface Alarms {
  /** `about` names what is wrong, for the log. */
  raise(alarm: string, about: Readonly<Record<string, string>>, message: string): void;
  /** Tells of every alarm that is raised from now on. */
  watch(listener: (alarm: string) => void): void;
}

/** Subjects that the log has told of. */
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

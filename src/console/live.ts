/**
 * Keeps what is shown true: asks for the pulse of the service while the page is visible, and knows whether the
 * service answers.
 *
 * Asks by polling: every replica can answer, and a page that is closed or hidden holds nothing at the service.
 *
 * @module
 */

import { signal } from '@preact/signals';
import type { Pulse } from '../protocol/console/views.ts';
import { ask, Refused } from './api.ts';

/** Milliseconds between two questions, and between two while the service does not answer. */
const PULSE_MS = 2_000;
const RETRY_MS_MAX = 15_000;

export const pulse = signal<Pulse | undefined>(undefined);

/** `over`: the session has ended. */
type Connection = 'live' | 'lost' | 'over';
export const connection = signal<Connection>('live');

/** Milliseconds that the clock of the service is ahead of this one. */
let ahead = 0;

/** When the service was last heard, by its clock. */
export const heardAt = signal<number>(0);

/** The time of the service, which decides about expiry; it moves once a second. */
export const now = signal(Date.now());

export function startLive(): void {
  let waitMs = PULSE_MS;
  let timer: number | undefined;
  const beat = async () => {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        const heard = await ask('pulse', {});
        ahead = Date.parse(heard.now) - Date.now();
        heardAt.value = Date.parse(heard.now);
        // Not only at the next second: a browser whose clock is wrong would first show everything as expired.
        now.value = heardAt.value;
        pulse.value = heard;
        connection.value = 'live';
        waitMs = PULSE_MS;
      } catch (error) {
        const isOver = error instanceof Refused && error.failure.type === 'authentication_required';
        connection.value = isOver ? 'over' : 'lost';
        waitMs = Math.min(waitMs * 2, RETRY_MS_MAX);
      }
    }
    timer = setTimeout(() => void beat(), waitMs);
  };
  setInterval(() => {
    now.value = Date.now() + ahead;
  }, 1_000);
  const soon = () => {
    waitMs = PULSE_MS;
    void beat();
  };
  addEventListener('visibilitychange', soon);
  addEventListener('online', soon);
  void beat();
}

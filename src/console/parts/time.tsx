/**
 * Times: relative and exact, by the clock of the service. The relative part moves in place.
 *
 * @module
 */

import { useComputed } from '@preact/signals';
import { now } from '../live.ts';

interface At {
  readonly at: string;
}

/** "22 min ago, 14:18:25 UTC". */
export function Ago({ at }: At) {
  const words = useComputed(() => agoOf(Date.parse(at), now.value));
  return (
    <time class="ago" dateTime={at}>
      {words}, <Exact at={at} />
    </time>
  );
}

/** "2 h left", amber in the last ten minutes, "expired" afterwards. */
export function Left({ until }: { readonly until: string }) {
  const end = Date.parse(until);
  const words = useComputed(() => leftOf(end - now.value));
  const look = useComputed(() => (end - now.value < SOON_MS ? 'time soon' : 'time'));
  return (
    <time class={look} dateTime={until}>
      <b>{words}</b> <Exact at={until} />
    </time>
  );
}

/** The clock alone on the same day, otherwise with the day. */
function Exact({ at }: At) {
  const words = useComputed(() => shortOf(at, now.value));
  return <small class="unit">{words}</small>;
}

/** "Tue 17 Nov 2026, 14:40:03 UTC". */
export function exact(at: string): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return at;
  const day = `${DAYS[time.getUTCDay()]} ${time.getUTCDate()} ${MONTHS[time.getUTCMonth()]}`;
  return `${day} ${time.getUTCFullYear()}, ${clockOf(time)}`;
}

/** "14:40:03 UTC". */
export function clockOf(time: Date): string {
  return `${time.toISOString().slice(11, 19)} UTC`;
}

/** "14:40:03 UTC" for a time of today, otherwise as `exact`. */
export function shortOf(at: string, nowMs: number): string {
  const isToday = at.slice(0, 10) === new Date(nowMs).toISOString().slice(0, 10);
  return isToday && at.endsWith('Z') ? `${at.slice(11, 19)} UTC` : exact(at);
}

/** "2 h", "90 min", "40 s": whole units, rounded down, so that no time is promised that is not there. */
export function spanWords(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000));
  if (seconds < MINUTE_S) return `${seconds} s`;
  if (seconds < 2 * HOUR_S) return `${Math.floor(seconds / MINUTE_S)} min`;
  if (seconds < 2 * DAY_S) return `${Math.floor(seconds / HOUR_S)} h`;
  return `${Math.floor(seconds / DAY_S)} days`;
}

const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;

/** Below this the time is amber. */
const SOON_MS = 600_000;

const DAYS = 'Sun Mon Tue Wed Thu Fri Sat'.split(' ');
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

function agoOf(time: number, nowMs: number): string {
  const passed = nowMs - time;
  if (passed < -1_000) return `in ${spanWords(-passed)}`;
  return passed < 2_000 ? 'just now' : `${spanWords(passed)} ago`;
}

function leftOf(milliseconds: number): string {
  return milliseconds <= 0 ? 'expired' : `${spanWords(milliseconds)} left`;
}

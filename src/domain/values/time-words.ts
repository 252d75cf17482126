/**
 * Times in words, in UTC: exact, and relative to a clock that the caller names.
 *
 * @module
 */

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
export function shortTime(at: string, nowMs: number): string {
  const isToday = at.slice(0, 10) === new Date(nowMs).toISOString().slice(0, 10);
  return isToday && at.endsWith('Z') ? `${at.slice(11, 19)} UTC` : exact(at);
}

/** "22 min ago". */
export function agoOf(time: number, nowMs: number): string {
  const passed = nowMs - time;
  if (passed < -1_000) return `in ${spanWords(-passed)}`;
  return passed < 2_000 ? 'just now' : `${spanWords(passed)} ago`;
}

/** "2 h left", "expired" afterwards. */
export function leftOf(milliseconds: number): string {
  return milliseconds <= 0 ? 'expired' : `${spanWords(milliseconds)} left`;
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

const DAYS = 'Sun Mon Tue Wed Thu Fri Sat'.split(' ');
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

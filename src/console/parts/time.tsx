/**
 * Times: relative and exact, by the clock of the service. The relative part moves in place.
 *
 * @module
 */

import { useComputed } from '@preact/signals';
import { agoOf, leftOf, shortTime } from '../../domain/values/time-words.ts';
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
  const words = useComputed(() => shortTime(at, now.value));
  return <small class="unit">{words}</small>;
}

/** Below this the time is amber. */
const SOON_MS = 600_000;

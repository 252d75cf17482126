/**
 * Appends the entries of a call that was not admitted with its overrun (`stories/overruns.ts`).
 *
 * @module
 */

import type { Overrun } from '../../port/invocation-store.ts';
import { insertOverrun } from '../../stories/overruns.ts';
import type { Database } from '../connection.ts';
import { type Appended, appendIn } from '../log/entries.ts';
import type { Repeats } from '../log/repeats.ts';
import { storyIn } from '../story.ts';

/** Appends entries with their overruns. Once: when the entries exist, so do the overruns. */
export function createOverrunAppend(
  database: Database,
  repeats: Repeats,
): (appended: Appended, overrun: Overrun, isRepeat: boolean) => Promise<void> {
  return async ({ entries, bindings }, overrun, isRepeat) => {
    const added = isRepeat ? await repeats.unstored(entries) : entries;
    if (added.length === 0 && entries.length > 0) return;
    await repeats.attempt(added, (batch) =>
      database.transaction(async (session) => {
        const isFirst = await appendIn(session, { entries: added, bindings }, batch);
        if (isFirst) await storyIn(session, (sql) => insertOverrun(sql, overrun));
      }),
    );
  };
}

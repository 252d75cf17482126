/**
 * Row logs: under which log of the store a row gives authority.
 *
 * When an operator accepts that signed entries are lost, a new log begins and everything before it is
 * void. A row that gives authority carries a MAC for the log that was current when it was kept, so a row of
 * before cannot pass for one of now, whatever else is put back beside it. The first log has no name in
 * these texts: its rows are those of a store that never broke.
 *
 * @module
 */

import { rowLabelOf } from '../../domain/log/origin.ts';
import type { Store } from '../../storage/port/store.ts';

export interface RowLogs {
  /** The name that rows of the current log carry. */
  current(): string;
  /** The names of the logs before it. */
  older(): readonly string[];
  /** Reads the logs of the store again. */
  look(): Promise<void>;
}

export async function openRowLogs(store: Pick<Store, 'origins'>): Promise<RowLogs> {
  let current = '';
  let older: readonly string[] = [];
  const look = async () => {
    const labels = (await store.origins()).map(rowLabelOf);
    current = labels.at(-1) ?? '';
    older = labels.slice(0, -1);
  };
  await look();
  return { current: () => current, older: () => older, look };
}

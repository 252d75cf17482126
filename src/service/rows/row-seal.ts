/**
 * The seal of the rows: a MAC over the id of the log, which the first start stores.
 *
 * A seal that does not verify means that the row key was lost or replaced. Then the start fails, instead of every call.
 * A seal under a key that is compromised by now only shows that the rows were sealed, which is all that it is asked. A
 * store with rows and no seal was altered: no service writes a row before its store has a seal.
 *
 * @module
 */

import type { RowKeys } from '../../keyring/row-keys.ts';
import type { Store } from '../../storage/port/store.ts';

type SealedStore = Pick<Store, 'logId' | 'sealRows'>;

/** Rejects when the rows cannot be trusted. The message says how to repair that. */
export async function sealStore(store: SealedStore, rows: RowKeys): Promise<void> {
  await store.sealRows(({ seal, isEmpty }) => {
    const text = sealText(store.logId);
    if (seal === undefined) {
      if (!isEmpty) throw new Error(UNSEALED);
      return rows.macOf(text);
    }
    if (!rows.wasMacOf(text, seal)) throw new Error(unverifiable(seal));
    return seal.startsWith(`${rows.kid()}.`) ? undefined : rows.macOf(text);
  });
}

/** For commands that change rows beside a service. Rejects when the keys do not match the store. */
export async function demandSeal(store: SealedStore, rows: RowKeys): Promise<void> {
  await store.sealRows(({ seal }) => {
    if (seal === undefined) throw new Error(NEVER_SEALED);
    if (!rows.wasMacOf(sealText(store.logId), seal)) throw new Error(unverifiable(seal));
    return undefined;
  });
}

/** For fsck: the fault in the seal of a store whose rows have MACs. Changes nothing. */
export async function sealFault(
  store: SealedStore,
  rows: Pick<RowKeys, 'wasMacOf'>,
): Promise<string | undefined> {
  let fault: string | undefined;
  await store.sealRows(({ seal }) => {
    if (seal === undefined) fault = 'the rows have MACs, and the store has no seal any more';
    else if (!rows.wasMacOf(sealText(store.logId), seal)) fault = 'no key verifies its seal';
    return undefined;
  });
  return fault;
}

const NEVER_SEALED =
  'Cannot change the rows of the store: they have no seal; start the service once with its keys';

function sealText(logId: string): string {
  return `writ row seal\n${logId}`;
}

function unverifiable(seal: string): string {
  const [kid] = seal.split('.', 1);
  const mend = 'restore the row key (row-*.json in the folder of the keys, or WRIT_ROW_KEYS)';
  return `Cannot verify any row of the store: its rows are authenticated under row key "${kid}", which does not verify the store's seal; ${mend}`;
}

const UNSEALED =
  'Cannot trust the rows of the store: it has rows and no seal, so the database was altered; bring back the right database, or restore a backup';

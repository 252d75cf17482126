/**
 * Gives the rows of an older version their MACs once, at the first start with a row key. From then
 * on a row without a MAC does not match.
 *
 * The store holds a seal: a MAC over the id of its log. A seal that does not verify means that the
 * row key was lost or replaced. Then the start fails, instead of every call. A seal under a key that
 * is compromised by now only shows that the rows were sealed, which is all that it is asked. Removing the seal must
 * not make altered rows valid. So where the keys have a folder, a file there remembers that this
 * log was sealed. Where the keys are in the environment, an operator has to allow the sealing once.
 *
 * @module
 */

import { claimsOf } from '../../domain/authority/claims.ts';
import { rowLabelOf } from '../../domain/log/origin.ts';
import { digestOf } from '../../domain/wire/canonical.ts';
import type { RowKeys } from '../../keyring/row-keys.ts';
import { rowText } from '../../storage/port/row-forms.ts';
import type { RowSealing, RowState, StoredRow } from '../../storage/port/row-store.ts';
import type { Store } from '../../storage/port/store.ts';
import { currentOrigin } from '../log/compare-log.ts';

export interface RowSealOptions {
  readonly store: Store;
  readonly rows: RowKeys;
  readonly serviceId: string;
  /** Whether the store outlives this process. Only then the sealing is remembered. */
  readonly isKept: boolean;
  /** An operator allows the rows of this store to be sealed. */
  readonly adopt: boolean;
  readonly onWarning: (message: string) => void;
}

/** Rejects when the rows cannot be trusted. The message says how to repair that. */
export async function sealStore(parts: RowSealOptions): Promise<void> {
  const { store, rows, isKept } = parts;
  const label = rowLabelOf(await currentOrigin(store));
  await store.sealRows((state) => sealingOf(parts, state, label));
  const fault = isKept ? rows.sealedLogs?.add(store.logId) : undefined;
  if (fault !== undefined) parts.onWarning(fault);
}

/** For commands that change rows beside a service. Rejects when the keys do not match the store. */
export async function demandSeal(
  store: RowSealOptions['store'],
  rows: RowSealOptions['rows'],
): Promise<void> {
  await store.sealRows(({ seal }) => {
    if (seal === undefined) throw new Error(NEVER_SEALED);
    if (!rows.wasMacOf(sealText(store.logId), seal)) throw new Error(unverifiable(seal));
    return undefined;
  });
}

/** For fsck: the fault in the seal of a store whose rows have MACs. Changes nothing. */
export async function sealFault(
  store: RowSealOptions['store'],
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

function sealingOf(
  parts: RowSealOptions,
  { seal, isEmpty }: RowState,
  label: string,
): RowSealing | undefined {
  const { store, rows, adopt } = parts;
  const text = sealText(store.logId);
  if (seal !== undefined) {
    if (!rows.wasMacOf(text, seal)) throw new Error(unverifiable(seal));
    return seal.startsWith(`${rows.kid()}.`) ? undefined : { seal: rows.macOf(text) };
  }
  const remembered = rows.sealedLogs?.find(store.logId);
  if (remembered !== undefined) throw new Error(unsealed(remembered));
  // Keys that already sealed a store do not adopt another one by themselves: its id may be forged.
  const isUsed = rows.sealedLogs === undefined || rows.sealedLogs.any();
  if (!isEmpty && isUsed && !adopt) throw new Error(UNADOPTED);
  return { seal: rows.macOf(text), macOf: (row) => adoptedMac(parts, row, label) };
}

/**
 * The MAC of an adopted row. A token whose columns differ from its claims was altered before, and
 * so was a row that cannot be read. Such a row gets no MAC.
 */
function adoptedMac(
  { rows, serviceId }: RowSealOptions,
  { kind, row }: StoredRow,
  label: string,
): string | undefined {
  let text: string;
  try {
    if (kind === 'token' && digestOf(claimsOf(serviceId, row)) !== row.claims_digest) {
      return undefined;
    }
    text = rowText(kind, row, label);
  } catch {
    return undefined;
  }
  return rows.macOf(text);
}

function unverifiable(seal: string): string {
  const [kid] = seal.split('.', 1);
  const mend = 'restore the row key (row-*.json in the folder of the keys, or WRIT_ROW_KEYS)';
  return `Cannot verify any row of the store: its rows are authenticated under row key "${kid}", which does not verify the store's seal; ${mend}`;
}

function unsealed(file: string): string {
  const state = 'the database was altered, or it is a copy from before that';
  const mend = `bring back the right database, or remove "${file}" to authenticate what this one holds`;
  return `Cannot trust the rows of the store: they were authenticated once, and the store has no seal any more; ${state}; ${mend}`;
}

const UNADOPTED =
  'Cannot trust the rows of the store: it holds rows and no seal; if an older version of the service kept them, start once with WRIT_ADOPT_ROWS=once';

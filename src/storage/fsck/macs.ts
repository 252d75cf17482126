/**
 * Fsck of rows that carry authority: verifies the MAC of each.
 *
 * Needs the row keys, so it is a separate check. Finds a row that was changed or inserted outside the
 * service. The comparison with the log finds a missing row, and a row restored to an older state with the MAC
 * of that state; of sessions, accounts, connected accounts and consents it finds neither, because no entry states what they contain.
 *
 * @module
 */

import { rowLabelOf } from '../../domain/log/origin.ts';
import { type RowKind, rowText } from '../port/row-forms.ts';
import { ROW_PAGE, ROW_TABLES, type StoredRow } from '../port/row-store.ts';
import type { Store } from '../port/store.ts';

export interface MacReport {
  readonly rows: number;
  /** How many rows each key authenticates: a key with none is no longer needed. */
  readonly byKey: ReadonlyMap<string, number>;
  /** The first rows that do not match, as kind and id, and how many there are. */
  readonly altered: readonly string[];
  readonly alteredCount: number;
  /** The first bindings, sessions, identities and invitations of a log that an operator ended, and how many there are: none may remain. */
  readonly voided: readonly string[];
  readonly voidedCount: number;
}

/** What `voidPromises` deletes. */
const DELETED: ReadonlySet<RowKind> = new Set(['binding', 'session', 'identity', 'invitation']);

/** Rows that are listed. */
const ALTERED_MAX = 100;

export async function checkMacs(
  store: Store,
  isMacOf: (text: string, mac: string) => boolean,
): Promise<MacReport> {
  const byKey = new Map<string, number>();
  const altered: string[] = [];
  const voided: string[] = [];
  const labels = (await store.origins()).map(rowLabelOf).reverse();
  let rows = 0;
  let voidedCount = 0;
  for await (const row of allRows(store)) {
    rows += 1;
    const name = `${row.kind} "${row.id}"`;
    const key = row.mac?.split('.', 1)[0] ?? '';
    const place = labels.findIndex((label) => isMatch(row, label, isMacOf));
    if (place >= 0) byKey.set(key, (byKey.get(key) ?? 0) + 1);
    else if (altered.length < ALTERED_MAX) altered.push(name);
    // Other rows of an ended log stay; the comparison with the log checks the state of tokens, requests and grants.
    if (place <= 0 || !DELETED.has(row.kind)) continue;
    voidedCount += 1;
    if (voided.length < ALTERED_MAX) voided.push(name);
  }
  const matching = [...byKey.values()].reduce((sum, count) => sum + count, 0);
  return { rows, byKey, altered, alteredCount: rows - matching, voided, voidedCount };
}

async function* allRows(store: Store): AsyncGenerator<StoredRow> {
  for (const table of ROW_TABLES) {
    let after: string | undefined;
    do {
      const { rows, next } = await store.scanRows(table, after, ROW_PAGE);
      yield* rows;
      after = next;
    } while (after !== undefined);
  }
}

/** The service writes no row without a canonical text. */
function isMatch(
  { kind, row, mac = '' }: StoredRow,
  label: string,
  isMacOf: (text: string, mac: string) => boolean,
): boolean {
  let text: string;
  try {
    text = rowText(kind, row, label);
  } catch {
    return false;
  }
  return isMacOf(text, mac);
}

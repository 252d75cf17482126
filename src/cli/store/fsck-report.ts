/**
 * What `writ fsck` prints: what it checked and what it found, for people and as JSON.
 *
 * @module
 */

import { countText } from '../../domain/values/count-text.ts';
import type { FsckReport, Marked } from '../../storage/fsck/fsck.ts';
import type { MacReport } from '../../storage/fsck/macs.ts';

export interface Checked {
  readonly report: FsckReport;
  /** Absent without the keys. */
  readonly macs: MacReport | undefined;
  /** Absent if no mark of this log was read. */
  readonly marked: Marked | undefined;
  /** Findings outside the log and its rows, as lines to print: a store that was deleted here, the seal of the rows. */
  readonly others: readonly string[];
}

export interface Sources {
  readonly url: string;
  /** The key folder; empty without one. */
  readonly keys: string;
  readonly erasing: readonly string[] | undefined;
}

/** The number of findings of every kind. */
export function findingsOf({ report, macs, others }: Checked): number {
  return report.findingsCount + macsFound(macs) + others.length;
}

/** What `--json` prints. */
export function jsonReport(checked: Checked, { url, keys, erasing }: Sources): object {
  const { report, macs, marked, others } = checked;
  const { logId, entries, erased, nodes, checkpoints, ledger, root, findings } = report;
  const { notes, ...rows } = ledger;
  return {
    store: withoutPassword(url),
    log: logId,
    entries,
    erased,
    tree_nodes: nodes,
    checkpoints,
    root,
    signatures_checked: keys !== '',
    mark: markOf(marked),
    rows: snakeCased(rows),
    macs: macs ? { rows: macs.rows, by_key: Object.fromEntries(macs.byKey) } : null,
    not_compared: [...notes, ...(erased > 0 && !erasing ? [UNCONFIGURED] : [])],
    findings_count: findingsOf(checked),
    findings: [
      ...findings,
      ...others.map((detail) => ({ what: 'store', detail })),
      ...(macs?.altered ?? []).map((row) => ({ what: 'row', where: row, detail: ALTERED })),
      ...(macs?.voided ?? []).map((row) => ({ what: 'row', where: row, detail: VOIDED })),
    ],
  };
}

function markOf(marked: Marked | undefined): object | null {
  if (!marked?.checkpoint) return null;
  const { sequence, size } = marked.checkpoint;
  return { sequence, entries: size };
}

function snakeCased(counts: Readonly<Record<string, unknown>>): object {
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [snake(name), count]));
}

const ALTERED = 'its MAC does not match';
const VOIDED = 'it is of a log that an operator ended';

export function textReport(checked: Checked, { url, keys, erasing }: Sources): string {
  const { report, macs, marked, others } = checked;
  const { entries, erased, nodes, checkpoints, findings } = report;
  const findingsCount = findingsOf(checked);
  const lines = [
    `store        ${withoutPassword(url)}`,
    `log          ${report.logId}`,
    `entries      ${entries}${erased > 0 ? ` (${erased} erased: only their hashes, not their time, type or state)` : ''}`,
    `tree nodes   ${nodes}`,
    `checkpoints  ${checkpoints} (roots and notes; ${signaturesSummary(keys)})`,
    `mark         ${markSummary(marked)}`,
    `rows         ${rowsSummary(report.ledger)}`,
    `MACs         ${macsSummary(macs)}`,
    ...report.ledger.notes.map((note) => `not compared ${note}`),
    ...(erased > 0 && !erasing ? [`not compared ${UNCONFIGURED}`] : []),
    `root         ${report.root}`,
    '',
    ...findings.map(({ what, where, detail }) => `${what} ${where}: ${detail}`),
    ...others,
    ...(macs?.altered ?? []).map((row) => `row ${row}: ${ALTERED}`),
    ...(macs?.voided ?? []).map((row) => `row ${row}: ${VOIDED}`),
  ];
  const rows = (macs?.altered.length ?? 0) + (macs?.voided.length ?? 0);
  const named = findings.length + others.length + rows;
  const more = findingsCount - named;
  if (more > 0) lines.push(`and ${more} more`);
  const well = checkpoints === 0 || marked?.checkpoint ? 'All is well' : UNMARKED;
  lines.push(findingsCount === 0 ? well : `Found: ${findingsCount}`);
  return `${lines.join('\n')}\n`;
}

/** Counts of the rows that were compared with the log. */
function rowsSummary(ledger: FsckReport['ledger']): string {
  const { tokens, budgets, requests, grants, freezes, openCalls } = ledger;
  const kinds = [
    `${tokens} tokens`,
    `${budgets} budgets`,
    `${requests} approval requests`,
    `${grants} grants`,
    `${freezes} freezes`,
  ];
  return `${kinds.join(', ')} (${openCalls} calls are open)`;
}

function macsFound(macs: MacReport | undefined): number {
  return macs ? macs.alteredCount + macs.voidedCount : 0;
}

function macsSummary(macs: MacReport | undefined): string {
  if (macs === undefined) return 'not checked: they need the keys';
  const keys = [...macs.byKey].map(([kid, count]) => `${count} under ${kid}`).join(', ');
  return `${countText(macs.rows, 'row')}${keys === '' ? '' : ` (${keys})`}`;
}

const UNCONFIGURED =
  'erased entries with the retention policies: name the policies with --retention';

/** An older copy of the store is consistent too, so only the mark shows which is newest. */
const UNMARKED =
  'The store is consistent; without its mark, fsck cannot check whether it is the newest copy';

function markSummary(marked: Marked | undefined): string {
  if (!marked?.checkpoint)
    return marked?.status === 'accepted' ? 'none yet, as accepted' : 'none read';
  const { sequence, size } = marked.checkpoint;
  return `checkpoint ${sequence}, ${countText(size, 'entry', 'entries')}`;
}

function signaturesSummary(keys: string): string {
  return keys === '' ? 'signatures need the keys' : `signatures by the keys in ${keys}`;
}

/** A password is before the host, up to the last "@", or among the parameters. */
function withoutPassword(url: string): string {
  return url.replace(/^(\w+:\/\/[^:@/]*):.*@/s, '$1:…@').replace(/([?&]password=)[^&]*/g, '$1…');
}

/**
 * `writ audit`: shows entries of a service's log, or saves the log so that it can be verified.
 *
 * @module
 */

import { printable } from '../../domain/wire/printable.ts';
import type { AuditEntry } from '../../protocol/audit.ts';
import { EXIT_FAILED, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';
import { exportAudit } from './export.ts';
import { AUDIT_USAGE, type AuditOptions, auditOptions } from './options.ts';
import { pagesOf } from './pages.ts';

export async function audit(args: readonly string[], io: Io): Promise<number> {
  const [verb, ...rest] = args;
  if (verb === '--help' || verb === '-h' || rest.includes('--help')) {
    io.out(AUDIT_USAGE);
    return EXIT_OK;
  }
  try {
    const run = VERBS.get(verb ?? '');
    if (!run) throw new Error('expected "writ audit query" or "writ audit export"');
    await run(await auditOptions(rest, io), io);
    return EXIT_OK;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.err(`Cannot read the log: ${printable(why)}\n`);
    return EXIT_FAILED;
  }
}

const VERBS = new Map([
  ['query', query],
  ['export', exportAudit],
]);

async function query({ remote, limit, filters }: AuditOptions, io: Io): Promise<void> {
  let left = limit;
  if (io.isTerminal?.out) io.out(`${rowOf(COLUMNS.map(([heading]) => heading))}\n`);
  for await (const entries of pagesOf(remote, filters)) {
    for (const entry of entries.slice(0, left)) {
      io.out(io.isTerminal?.out ? `${rowOf(cellsOf(entry))}\n` : `${JSON.stringify(entry)}\n`);
    }
    left -= entries.length;
    if (left <= 0) return;
  }
}

/** The columns of the table: heading, field of the entry, width. */
const COLUMNS = [
  ['time', 'timestamp', 24],
  ['type', 'entry_type', 12],
  ['capability', 'capability', 22],
  ['state', 'state', 13],
  ['failure', 'failure_type', 26],
  ['actor', 'actor_key', 30],
  ['invocation', 'invocation_id', 16],
] as const;

function cellsOf(entry: AuditEntry): string[] {
  return COLUMNS.map(([, field]) => printable(entry[field] ?? ''));
}

/** Long cells are not cut: a cut could hide the part that a reader looks for. */
function rowOf(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(COLUMNS[index]?.[2] ?? 0))
    .join(' ')
    .trimEnd();
}

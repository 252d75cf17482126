/**
 * `writ audit query`: shows entries of the log of a service, the newest first.
 *
 * @module
 */

import type { Client, Reply } from '../../client/index.ts';
import { type AuditAnswer, type AuditEntry, EntryType } from '../../protocol/audit.ts';
import { answerOrExit, clientFor, SERVICE_OPTIONS } from '../login/session.ts';
import { type Io, leaf } from '../shell/command.ts';
import { choice, flag, type Given, number, value } from '../shell/options.ts';
import { type Column, printJson, printLine, startTable } from '../shell/output.ts';
import { PAGE_SIZE } from './pages.ts';

const LIMIT_DEFAULT = 50;

/** The filters of `writ audit query` and `writ audit tail`: those of POST /svc/audit, by the names of options. */
export const FILTER_OPTIONS = {
  capability: value('<name>', 'entries of this capability'),
  since: value('<time>', 'entries from this time on, such as 2026-01-31T12:00:00Z'),
  'invocation-id': value('<id>', 'entries of this invocation'),
  'client-reference-id': value('<id>', 'entries with this reference of the caller'),
  'task-id': value('<id>', 'entries of this task'),
  'parent-invocation-id': value('<id>', 'entries of calls that this invocation made'),
  type: choice([...EntryType.options, 'all'], 'entries of this type (default: invocation)'),
} as const;

export const queryCommand = leaf({
  name: 'query',
  summary: 'show entries of the log, the newest first',
  about:
    'Shows entries of the log of a service, the newest first: your own trail, or every entry with the scope operator:audit. --json prints one entry a line.',
  options: {
    ...FILTER_OPTIONS,
    limit: number('<n>', `how many at most (default: ${LIMIT_DEFAULT})`),
    leaf: flag('with the leaf of each, to verify it; for --json'),
    ...SERVICE_OPTIONS,
  },
  examples: [
    ['writ audit query --type all --limit 5', 'the newest entries at the service of your login'],
    ['writ audit query --capability book_flight --json', 'calls of one capability, as JSON lines'],
  ],
  cannot: 'read the log',
  async run(given, io) {
    const client = await clientFor(given, io);
    const filters = { ...givenFilters(given), ...(given.leaf && { include: 'leaf' as const }) };
    const print = entryPrinter(given, io);
    const { limit = LIMIT_DEFAULT, json } = given;
    let left = limit;
    for await (const entries of pagesAt(client, { filters, limit, json }, io)) {
      const wanted = entries.slice(0, left);
      for (const entry of wanted) print(entry);
      left -= wanted.length;
      if (left <= 0) return;
    }
    if (left === limit && !json) printLine(io, 'No entries.');
  },
});

interface Asked {
  readonly filters: Filters & { readonly include?: 'leaf' };
  readonly limit: number;
  readonly json: boolean;
}

/** Pages of entries, newest first, until there are no more. */
async function* pagesAt(
  client: Client,
  { filters, limit, json }: Asked,
  io: Io,
): AsyncGenerator<readonly AuditEntry[]> {
  let cursor: string | null = null;
  do {
    const page = { limit: Math.min(limit, PAGE_SIZE), ...(cursor !== null && { cursor }) };
    const reply: Reply<AuditAnswer> = await client.ask('audit.query', { ...filters, ...page });
    const answer: AuditAnswer = answerOrExit(reply, { json }, io);
    yield answer.entries;
    cursor = answer.next_cursor;
  } while (cursor !== null);
}

/** Prints one entry a line: as a row of a table, or as JSON. */
export function entryPrinter({ json }: { json: boolean }, io: Io): (entry: AuditEntry) => void {
  return json ? (entry) => printJson(io, entry) : startTable(io, COLUMNS);
}

const COLUMNS: readonly (Column<AuditEntry> & { readonly width: number })[] = [
  { heading: 'time', cell: ({ timestamp }) => timestamp, width: 24 },
  { heading: 'type', cell: ({ entry_type }) => entry_type, width: 17 },
  { heading: 'capability', cell: ({ capability }) => capability, width: 22 },
  { heading: 'state', cell: ({ state }) => state, width: 13, style: styleOf },
  { heading: 'failure', cell: ({ failure_type }) => failure_type, width: 26 },
  { heading: 'actor', cell: ({ actor_key }) => actor_key, width: 30 },
  { heading: 'invocation', cell: ({ invocation_id }) => invocation_id, width: 16 },
];

function styleOf({ success, state }: AuditEntry) {
  if (success) return undefined;
  return state === 'refused' ? 'yellow' : 'red';
}

type FiltersGiven = Given<typeof FILTER_OPTIONS>;

/** Fields of the request by their wire names. */
export function givenFilters(given: FiltersGiven) {
  return {
    capability: given.capability,
    since: given.since,
    invocation_id: given['invocation-id'],
    client_reference_id: given['client-reference-id'],
    task_id: given['task-id'],
    parent_invocation_id: given['parent-invocation-id'],
    entry_type: given.type,
  };
}

export type Filters = ReturnType<typeof givenFilters>;

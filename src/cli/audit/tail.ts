/**
 * `writ audit tail`: prints the newest entries of a log, and then each entry when it comes.
 *
 * Asks for the entries of every type since the last one it has seen, and applies the filters here: a filter that
 * matches nothing then costs the service no search. Positions in the log only grow, and an entry is visible only when
 * all before it are, so the position of the last entry is enough to miss and to repeat none.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pauseFor } from '../../client/pace.ts';
import { printable } from '../../domain/wire/printable.ts';
import type { AuditAnswer, AuditEntry } from '../../protocol/audit.ts';
import type { InputOf } from '../../protocol/operations.ts';
import { answerOrExit, clientFor, SERVICE_OPTIONS } from '../login/session.ts';
import { type Io, leaf, stopSignal } from '../shell/command.ts';
import { CommandFault, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { flag, type Given, number } from '../shell/options.ts';
import { PAGE_SIZE } from './pages.ts';
import { entryPrinter, FILTER_OPTIONS, type Filters, givenFilters } from './query.ts';
import { openSpool, type Spool } from './spool.ts';
import { Busy, currentClient, type Patience, patiently } from './stream/patience.ts';

const LIMIT_DEFAULT = 10;

/** Entries from before the start, which are held until the oldest of them has come. */
const LIMIT_MAX = 1_000;

const INTERVAL_SECONDS = 2;

/** In milliseconds. */
const TIMEOUT_MS = 30_000;

/** At the first contact: a wrong address is reported at once. */
const TRIES_FIRST = 2;

/** Entries that are held in memory until they can be printed oldest first; more go to a temporary file. */
const HELD_MAX = 1_000;

const OPTIONS = {
  ...FILTER_OPTIONS,
  limit: number('<n>', `entries from before the start (default: ${LIMIT_DEFAULT})`),
  interval: number('<seconds>', `between two looks for entries (default: ${INTERVAL_SECONDS})`),
  leaf: flag('with the leaf of each, to verify it; for --json'),
  ...SERVICE_OPTIONS,
} as const;

export const tailCommand = leaf({
  name: 'tail',
  summary: 'follow the log: print each entry when it comes',
  about:
    'Prints the newest entries, the oldest of them first, and then each entry when it comes, until it is stopped: your own trail, or every entry with the scope operator:audit. Waits while the service is busy or away, and then prints what came meanwhile. --json prints one entry a line.',
  options: OPTIONS,
  examples: [
    ['writ audit tail', 'your calls at the service of your login'],
    [
      'writ audit tail --type all --limit 100 --json',
      'every entry that you may see, for a program',
    ],
  ],
  exits: [
    [EXIT_OK, 'it was stopped'],
    [EXIT_FOUND, 'the service refused, or an entry that was printed is no longer in the log'],
  ],
  cannot: 'read the log',
  run: tail,
});

async function tail(given: Given<typeof OPTIONS>, io: Io): Promise<void> {
  const { limit = LIMIT_DEFAULT, interval = INTERVAL_SECONDS } = given;
  if (limit > LIMIT_MAX) throw new Error(`expected --limit of at most ${LIMIT_MAX}`);
  const stop = stopSignal(io);
  const patience: Patience = {
    signal: stop,
    tries: TRIES_FIRST,
    pause: pauseFor,
    say: sayOnce(io),
  };
  const filters = givenFilters(given);
  const print = entryPrinter(given, io);
  try {
    const ask = await askerFor(given, patience, io);
    let { last, backlog } = await beginning(ask, filters, limit);
    for (const entry of backlog.toReversed()) print(entry);
    patience.tries = Number.POSITIVE_INFINITY;
    for (;;) {
      await patience.pause(interval * 1_000, stop);
      last = await printNew({ ask, last, filters, print });
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  }
}

/** One line for each reason to wait, however often it occurs. */
function sayOnce(io: Io): Patience['say'] {
  const said = new Set<string>();
  return (text) => {
    if (said.has(text) || said.size > 100) return;
    said.add(text);
    io.err(`${printable(text)}\n`);
  };
}

type Ask = (query: Partial<InputOf<'audit.query'>>) => Promise<AuditAnswer>;

async function askerFor(given: Given<typeof OPTIONS>, patience: Patience, io: Io): Promise<Ask> {
  const include = given.leaf ? ('leaf' as const) : undefined;
  const first = await clientFor(given, io);
  const bounds = { timeoutMs: TIMEOUT_MS, retries: 0, signal: patience.signal };
  return (query) =>
    patiently(patience, async () => {
      const client = await currentClient(first, given['token-file'], io);
      const reply = await client.ask('audit.query', { ...query, include }, bounds);
      const isAway = !reply.ok && (!reply.answer || AWAY.has(reply.failure.type));
      if (!isAway) return answerOrExit(reply, given, io);
      throw new Busy(reply.failure.detail, { retryAfterMs: reply.retryAfterMs });
    });
}

/** Failures of a service that may answer later. */
const AWAY: ReadonlySet<string> = new Set(['rate_limited', 'service_unavailable']);

interface Beginning {
  readonly last: AuditEntry | undefined;
  /** Entries up to the last, newest first. */
  readonly backlog: readonly AuditEntry[];
}

async function beginning(ask: Ask, filters: Filters, limit: number): Promise<Beginning> {
  // Read first: what comes after it is no part of the backlog.
  const [last] = (await ask({ entry_type: 'all', limit: 1 })).entries;
  const backlog: AuditEntry[] = [];
  let cursor: string | null = null;
  do {
    const page: AuditAnswer = await ask({
      ...filters,
      limit: Math.min(limit, PAGE_SIZE),
      ...(cursor !== null && { cursor }),
    });
    backlog.push(...page.entries.filter(({ sequence }) => sequence <= (last?.sequence ?? -1)));
    cursor = page.next_cursor;
  } while (backlog.length < limit && cursor !== null);
  return { last, backlog: backlog.slice(0, limit) };
}

interface TailRead {
  readonly ask: Ask;
  readonly last: AuditEntry | undefined;
  readonly filters: Filters;
  print(entry: AuditEntry): void;
}

/** Prints what came since the last entry, the oldest first. Resolves with the new last entry. */
async function printNew({ ask, last, filters, print }: TailRead): Promise<AuditEntry | undefined> {
  const held = createHeld();
  let newest: AuditEntry | undefined;
  try {
    for await (const page of newPages(ask, last)) {
      newest ??= page[0];
      held.add(page.filter((entry) => matches(entry, filters)));
    }
    for (const entry of held.backwards()) print(entry);
    return newest ?? last;
  } finally {
    held.drop();
  }
}

/** Pages of entries after the last, newest first. While nothing comes, one entry is read. */
async function* newPages(
  ask: Ask,
  last: AuditEntry | undefined,
): AsyncGenerator<readonly AuditEntry[]> {
  const after = last?.sequence ?? -1;
  let cursor: string | null = null;
  let limit = 1;
  for (let isFirst = true; ; isFirst = false) {
    const asked = { entry_type: 'all' as const, limit, ...(cursor !== null && { cursor }) };
    const { entries, next_cursor }: AuditAnswer = await ask(asked);
    if (isFirst && last) refuseOtherLog(entries[0], last);
    yield entries.filter(({ sequence }) => sequence > after);
    // No entry between the lowest here and the last one: positions are whole numbers.
    const lowest = entries.at(-1)?.sequence;
    const between = lowest === undefined ? PAGE_SIZE : lowest - after - 1;
    if (between <= 0 || next_cursor === null) return;
    cursor = next_cursor;
    limit = Math.min(between, PAGE_SIZE);
  }
}

/** Throws when the newest entry shows that the last one is not in the log any more: then positions say nothing. */
function refuseOtherLog(newest: AuditEntry | undefined, last: AuditEntry): void {
  const position = newest?.sequence ?? -1;
  const isSame = newest?.leaf_hash === last.leaf_hash;
  if (position > last.sequence || (position === last.sequence && isSame)) return;
  const why = `entry ${last.sequence} is not in the log any more (${last.leaf_hash})`;
  throw new CommandFault(why, { exit: EXIT_FOUND });
}

/** By the rules of the service: without a type, invocations. */
function matches(entry: AuditEntry, { since, entry_type = 'invocation', ...named }: Filters) {
  if (entry_type !== 'all' && entry.entry_type !== entry_type) return false;
  if (since !== undefined && Date.parse(entry.timestamp) < Date.parse(since)) return false;
  return Object.entries(named).every(
    ([field, wanted]) => wanted === undefined || entry[field as keyof typeof named] === wanted,
  );
}

type Held = Spool<AuditEntry>;

/** A spool that begins in memory. */
function createHeld(): Held {
  const pages: (readonly AuditEntry[])[] = [];
  let count = 0;
  let spool: Held | undefined;
  return {
    add(page) {
      count += page.length;
      if (page.length > 0) pages.push(page);
      if (count <= HELD_MAX) return;
      spool ??= openSpool(join(tmpdir(), `writ-tail-${randomUUID()}`));
      for (const each of pages.splice(0)) spool.add(each);
    },
    *backwards() {
      if (spool) yield* spool.backwards();
      else for (const page of pages.toReversed()) yield* page.toReversed();
    },
    drop: () => spool?.drop(),
  };
}

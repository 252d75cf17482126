/**
 * The store on PostgreSQL: many processes, one database, the same contract.
 *
 * Assembles the parts, refuses new calls once it is closing, and lets admissions wait while the log is too far
 * behind. Only the parts contain statements.
 *
 * @module
 */

import { countText } from '../../domain/values/count-text.ts';
import type { Platform, Timer } from '../../platform.ts';
import { createSight } from '../log/search.ts';
import type { Overrun } from '../port/invocation-store.ts';
import { type Store, StoreUnavailable } from '../port/store.ts';
import { methodsOf, type Sql, type SqlReader, type SqlWriter } from '../sql/sql.ts';
import { CHANGES, READS, REPEATABLE, WRITES } from '../stories/stories.ts';
import { createAdmission } from './calls/admission.ts';
import { createIntents } from './calls/intents.ts';
import { createLedgerReader } from './calls/ledger.ts';
import { createLoad } from './calls/load.ts';
import { createOverrunAppend } from './calls/overruns.ts';
import { createPermits } from './calls/permits.ts';
import { resolved } from './calls/resolve.ts';
import { createSettlement } from './calls/settlement.ts';
import { startClock } from './clock.ts';
import { type Database, openDatabase, type Statement } from './connection.ts';
import { createCopies } from './copies.ts';
import { isStoreFailure } from './failure.ts';
import { inspectDatabase } from './inspect.ts';
import { createAppend } from './log/entries.ts';
import { createLog, type LogParts } from './log/log.ts';
import { createRecent } from './log/recent.ts';
import { createRepeats } from './log/repeats.ts';
import { type Sequencer, startSequencer } from './log/sequencer.ts';
import { createUpkeep } from './log/upkeep.ts';
import { type PostgresOptions, readAddress, settingsOf } from './options.ts';
import { migrate } from './schema/migrations.ts';
import { refuseOtherSession } from './schema/session.ts';
import { readStory, writeStory } from './sql.ts';
import { changeStory } from './story.ts';
import { createTokens } from './tokens.ts';
import { createTurns } from './turns.ts';

export type { PostgresOptions } from './options.ts';

/** One for the sequencer, one for queries that wait for it and for the clock. */
const BACKGROUND_POOL_SIZE = 2;

/** In milliseconds: how often a server is asked which copy it is, beside each new connection. */
const LOOK_MS = 5_000;

export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  const settings = settingsOf(options);
  const poolSize = readAddress(url).poolSize ?? settings.poolSize;
  const { track, finish, pending } = createLifetime();
  const copies = createCopies(pending);
  const requests = openDatabase(url, settings, poolSize, { copies, changesWait: true });
  // Its changes depend on nothing that was read from an earlier copy, or compare it.
  const background = openDatabase(url, settings, BACKGROUND_POOL_SIZE, {
    copies,
    changesWait: false,
  });
  try {
    await refuseOtherSession(background, settings);
    const logId = await migrate(background, settings);
    const clock = await startClock(background, settings);
    const sight = createSight();
    // A piece of work takes longer than the background may wait.
    const recent = createRecent();
    const upkeep = createUpkeep(requests, settings, { damaged: sight.damaged, recent });
    const sequencer = startSequencer(background, settings, upkeep.nudge);
    const { platform, resolveTimeoutMs } = settings;
    const log = { sequencer, sight, upkeep, recent };
    const operations = operationsOf(requests, log, { now: clock.now, resolveTimeoutMs });
    // Other queries report a database that does not answer.
    const looks = platform.every(LOOK_MS, () => void background.look().catch(() => undefined));
    looks.unref();

    async function closeAll(): Promise<void> {
      await finish();
      clock.stop();
      platform.cancel(looks);
      await sequencer.stop();
      await upkeep.stop();
      await Promise.all([requests.close(), background.close()]);
    }
    let closing: Promise<void> | undefined;
    return {
      logId,
      now: clock.now,
      backlog: sequencer.backlog,
      pool: requests.pool,
      onOtherCopy: copies.watch,
      ...noticed(operations, track, sequencer),
      close() {
        closing ??= closeAll();
        return closing;
      },
    };
  } catch (error) {
    await Promise.all([requests.close(), background.close()]);
    throw error;
  }
}

type Operations = Omit<Store, 'logId' | 'now' | 'backlog' | 'pool' | 'onOtherCopy' | 'close'>;

function operationsOf(
  database: Database,
  log: LogParts,
  { now, resolveTimeoutMs }: { now: () => Date; resolveTimeoutMs: number },
): Operations {
  const { sequencer, sight, recent } = log;
  const { sequence } = sequencer;
  const repeats = createRepeats({ database, sight, sequence, resolveTimeoutMs });
  const admit = createAdmission(database, resolveTimeoutMs);
  const append = createAppend(database, repeats, recent);
  const appendOverrun = createOverrunAppend(database, repeats);
  /** After a lost answer, where the change is repeatable. */
  const certain = (name: string, attempt: () => Promise<unknown>) => {
    if (!REPEATABLE.has(name)) return attempt();
    return resolved(database.platform, resolveTimeoutMs, attempt, attempt);
  };
  const changes = methodsOf<Sql, typeof CHANGES>(CHANGES, (story, name) =>
    certain(name, () => changeStory(database, { now, wrote: sequencer.wrote }, story)),
  );
  const inTurn = createTurns();
  return {
    ...createTokens(database),
    ...createIntents(database, now, sight),
    ...methodsOf<SqlReader, typeof READS>(READS, (story) => readStory(database, story)),
    ...methodsOf<SqlWriter, typeof WRITES>(WRITES, (story, name) =>
      certain(name, () => writeStory(database, story)),
    ),
    ...changes,
    requestApproval: (request, ...rest) =>
      inTurn(request.root_principal, () => changes.requestApproval(request, ...rest)),
    takePermits: createPermits(database),
    ...createLog(database, log),
    load: createLoad(database, now),
    append: (entries, bindings = [], overrun = undefined, isRepeat = false) =>
      overrun
        ? appendOverrun({ entries, bindings }, overrun, isRepeat)
        : append({ entries, bindings }, isRepeat),
    settle: createSettlement(database, resolveTimeoutMs, recent),
    inspect: () => inspectDatabase(database),
    readLedger: createLedgerReader(database),
    admit(request) {
      if (!sequencer.backlog().overloaded) return admit(request);
      return placeFirst(database.platform, sequencer).then(() => admit(request));
    },
    async probe() {
      await database.write(PROBE, [now()]);
    },
  };
}

/** A call that finds the sequencer behind waits so long for the entries to get their places. */
const PLACE_WAIT_MS = 5_000;

/**
 * Places the entries that wait. The sequencer of a process that starts, stops or has little CPU is late, which is no
 * reason to refuse a call; one that cannot place them is.
 */
async function placeFirst({ after, cancel }: Platform, sequencer: Sequencer): Promise<void> {
  const { waiting } = sequencer.backlog();
  const refusal = (cause?: unknown) =>
    new StoreUnavailable(
      `Cannot admit: ${countText(waiting, 'entry', 'entries')} wait for their place in the log`,
      {
        cause,
      },
    );
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = after(PLACE_WAIT_MS, () => reject(refusal()));
  });
  try {
    await Promise.race([sequencer.sequence(), late]);
  } catch (error) {
    // Also where the outcome is unknown: it is that of the places, and nothing was admitted.
    throw isStoreFailure(error) ? refusal(error) : error;
  } finally {
    cancel(timer);
  }
}

/** How many entries a transition that is no story has queued, from its arguments and its result. */
const ENTRIES: Readonly<Record<string, (args: readonly unknown[], result: unknown) => number>> = {
  insertRoot: () => 1,
  insertChild: (_, result) => (result === 'inserted' ? 1 : 0),
  settle: ([settlement], result) => (result === 'settled' ? 1 + frozenBy(settlement) : 0),
  append: ([entries, , overrun]) => (entries as readonly unknown[]).length + frozenBy({ overrun }),
  reconcile: ([, , , by], result) => (result === undefined ? 0 : 1 + frozenBy(by ?? {})),
};

/** The entry of a freeze that follows an overrun. */
function frozenBy(kept: unknown): number {
  return (kept as { readonly overrun?: Overrun }).overrun?.freeze ? 1 : 0;
}

type Operation = (...args: unknown[]) => Promise<unknown>;

/** The same operations, refused after close, and with their entries reported to the sequencer. */
function noticed(
  operations: Operations,
  track: Lifetime['track'],
  sequencer: Sequencer,
): Operations {
  const wrapped = Object.entries(operations).map(([name, operation]) => {
    const entries = ENTRIES[name];
    const notice = (args: unknown[], result: unknown) => {
      if (entries) sequencer.wrote(entries(args, result));
    };
    return [name, track(operation as Operation, notice)];
  });
  return Object.fromEntries(wrapped) as Operations;
}

/** An operation that throws rejects. */
function begun(operation: Operation, args: unknown[]): Promise<unknown> {
  try {
    return operation(...args);
  } catch (error) {
    return Promise.reject(error);
  }
}

interface Lifetime {
  /** The operation, refused when the store is closed. `notice` runs with each result. */
  track(operation: Operation, notice: (args: unknown[], result: unknown) => void): Operation;
  /** Waits for the calls that run now. */
  pending(): Promise<unknown>;
  /** Refuses new calls and waits for running ones. */
  finish(): Promise<void>;
}

function createLifetime(): Lifetime {
  const running = new Set<Promise<unknown>>();
  let isOpen = true;
  return {
    track:
      (operation, notice) =>
      (...args) => {
        if (!isOpen)
          return Promise.reject(new StoreUnavailable('Cannot use the store: it is closed'));
        const result = begun(operation, args);
        // Runs before what the caller does with the result, and handles a failure that no caller awaits.
        const ended: Promise<unknown> = result.then(
          (value) => {
            running.delete(ended);
            notice(args, value);
          },
          () => running.delete(ended),
        );
        running.add(ended);
        return result;
      },
    pending: () => Promise.allSettled(running),
    async finish() {
      isOpen = false;
      await Promise.allSettled(running);
    },
  };
}

const PROBE: Statement = {
  name: 'probe',
  text: `INSERT INTO probes (at) VALUES ($1) ON CONFLICT (one) DO UPDATE SET at = EXCLUDED.at`,
};

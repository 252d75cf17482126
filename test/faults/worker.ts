/**
 * A process that uses one store as a service does, until it is told to stop or is killed.
 *
 * Several lanes append, admit and settle at random, and say what was acknowledged. Whatever else it
 * meets than the store's two failures is a defect, an unhandled rejection too. It is told to stop by
 * the end of its input, which also comes when the test that started it dies.
 *
 * @module
 */

import { randomInt } from 'node:crypto';
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { system } from '../../src/platform.ts';
import { startRecovery } from '../../src/service/invoke/recovery.ts';
import type { Admission, Settlement } from '../../src/storage/port/invocation-store.ts';
import type { GrantRecord, TokenRecord } from '../../src/storage/port/records.ts';
import { OutcomeUnknown, type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { openPostgres } from '../../src/storage/postgres/store.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { admission, entry, keyOf, settlement, usd, useOf } from '../support/fixtures.ts';
import { newOperationId, outcomeEntry, unknownOutcome } from './outcome.ts';
import type { Act, Said, WorkerConfig } from './said.ts';

/** In milliseconds: often, so that a few seconds of test see many passes. */
const HEARTBEAT_MS = 200;

/** In milliseconds. A process that is only slow is superseded, which must do no harm either. */
const SILENT_MS = 1_500;

/** After a failure: a store that is gone must not be asked in a tight loop. */
const PAUSE_MS = 20;

/** An outcome is tried again as often as the store fails; then recovery has to close the call. */
const SETTLE_TRIES = 5;

/** In milliseconds. A store that never lets go must not leave a process behind. */
const STOP_MS_MAX = 90_000;

const config = JSON.parse(process.argv[2] ?? '') as WorkerConfig;
let isStopping = false;

process.on('unhandledRejection', (error) => say({ said: 'defect', why: `unhandled: ${error}` }));
process.stdin.on('end', () => {
  isStopping = true;
  setTimeout(() => process.exit(1), STOP_MS_MAX).unref();
});
process.stdin.resume();

say({ said: 'opening' });
const store = await persistently(open);
const recovery = await untilRecovering(store);
const actors = await actorsOf(store);
say({ said: 'ready' });
await Promise.all(Array.from({ length: config.lanes }, (_, lane) => work(lane)));
await recovery.stop();
await store.close();
process.stdin.destroy();

/** Written at once: what was said before a kill has been said. */
function say(said: Said): void {
  writeSync(1, `${JSON.stringify(said)}\n`);
}

function open(): Promise<Store> {
  const { url, postgres } = config;
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length));
  return openPostgres(url, { sequenceIntervalMs: 25, poolSize: 6, ...postgres });
}

function untilRecovering(opened: Store) {
  return persistently(() =>
    startRecovery({
      platform: system,
      store: opened,
      instanceId: config.instance,
      close: unknownOutcome,
      onRecovered: ({ failed }) => failed.forEach(({ error }) => void isDefect(error)),
      onError: isDefect,
      intervalMs: HEARTBEAT_MS,
      silentMs: SILENT_MS,
    }),
  );
}

/** A server that loses connections may lose those of a beginning too. */
async function persistently<Result>(act: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (isDefect(error) || isStopping) process.exit(0);
    }
    await sleep(PAUSE_MS);
  }
}

interface Actors {
  readonly leaf: TokenRecord;
  readonly exclusive: TokenRecord;
  readonly grant: GrantRecord;
}

function actorsOf(opened: Store): Promise<Actors> {
  const { line, exclusive, grant } = config.world;
  return persistently(async () => {
    const byLeaf = await opened.load({ tokenId: line.at(-1) ?? '', grantId: grant });
    const alone = await opened.load({ tokenId: exclusive });
    if (!byLeaf.token || !byLeaf.grant || !alone.token) throw new Error('the world is gone');
    return { leaf: byLeaf.token, grant: byLeaf.grant, exclusive: alone.token };
  });
}

/** The first lane has the exclusive token to itself, but for those of other processes. */
async function work(lane: number): Promise<void> {
  while (!isStopping) {
    if (lane === 0) await invoke(actors.exclusive);
    else if (randomInt(2) === 0) await invoke(actors.leaf, actors.grant);
    else await append();
    if (randomInt(20) === 0) await attempt(undefined, () => store.sequence());
  }
}

const APPEND_TRIES = 4;

async function append(): Promise<void> {
  const entries = Array.from({ length: randomInt(1, 4) }, () => entry({ entry_type: 'operator' }));
  const act = { append: entries.map(({ entry_id }) => entry_id) };
  // As a service does: a repetition says that it is one.
  let isRepeat = false;
  const call = () => {
    const again = isRepeat;
    isRepeat = true;
    return store.append(entries, [], undefined, again);
  };
  if (await attempt(act, call, APPEND_TRIES)) say({ said: 'kept', act });
}

async function invoke(token: TokenRecord, grant?: GrantRecord): Promise<void> {
  const operation_id = newOperationId();
  const call = admission(token, {
    charge: usd(BigInt(randomInt(1, 10))),
    idempotency: keyOf(token, operation_id),
    ...(grant && { grant: useOf(grant) }),
    intent: { operation_id, instance_id: config.instance },
  });
  const act = { admit: operation_id, invocation: call.intent.invocation_id };
  const answer = await attempt(act, () => store.admit(call));
  if (!answer) return;
  if (!answer.value.admitted) return refused(answer.value.reason);

  say({ said: 'admitted', act });
  await settle(call);
}

/** Only the exclusive token may be busy: nothing else can refuse a call here. */
async function refused(reason: string): Promise<void> {
  if (reason !== 'busy') say({ said: 'defect', why: `refused for reason "${reason}"` });
  await sleep(PAUSE_MS);
}

async function settle({ intent, charge }: Admission): Promise<void> {
  const most = Number(charge?.amount ?? 0n);
  const outcome = (['completed', 'failed', 'no_effect'] as const)[randomInt(3)] ?? 'failed';
  const spent = outcome === 'no_effect' ? 0 : randomInt(most + 1);
  const closing: Settlement = settlement(
    { intent },
    {
      outcome,
      actual: BigInt(spent),
      entry: outcomeEntry(intent, outcome === 'completed' ? outcome : 'failed', spent),
    },
  );
  const { operation_id, invocation_id } = intent;
  const act = {
    settle: operation_id,
    invocation: invocation_id,
    entry: closing.entry.entry_id,
  };
  const answer = await attempt(act, () => store.settle(closing), SETTLE_TRIES);
  if (answer) say({ said: answer.value, act });
}

/** What the store answered; `undefined`, and said, when it failed every time. */
async function attempt<Result>(
  act: Act | undefined,
  call: () => Promise<Result>,
  triesMax = 1,
): Promise<{ value: Result } | undefined> {
  let said: 'refused' | 'unknown' = 'refused';
  for (let tries = 1; ; tries++) {
    const answer = await answerOf(call);
    if (!(answer instanceof Error)) return answer;
    if (isDefect(answer)) return undefined;

    if (answer instanceof OutcomeUnknown) said = 'unknown';
    const isLast = tries === triesMax || isStopping;
    if (isLast && act) tellFailure({ said, act, why: answer.message });
    await sleep(PAUSE_MS);
    if (isLast) return undefined;
  }
}

async function answerOf<Result>(call: () => Promise<Result>): Promise<{ value: Result } | Error> {
  try {
    return { value: await call() };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function tellFailure(failure: Extract<Said, { why: string; act: Act }>): void {
  say(failure);
  if (config.diesOfFailure) process.kill(process.pid, 'SIGKILL');
}

/** Says what is neither of the store's failures. */
function isDefect(error: unknown): boolean {
  if (error instanceof StoreUnavailable || error instanceof OutcomeUnknown) return false;
  say({ said: 'defect', why: error instanceof Error ? `${error.stack}` : String(error) });
  return true;
}

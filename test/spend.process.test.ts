/**
 * Real service processes that are killed while they spend: no overspend, nothing spent twice, and an
 * entry for every call that was acknowledged or admitted.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { entryView } from '../src/domain/log/entry.ts';
import type { AuditEntry } from '../src/protocol/audit.ts';
import type { IssueAnswer } from '../src/protocol/token.ts';
import { checkStore } from '../src/storage/fsck/fsck.ts';
import { openStore } from '../src/storage/open.ts';
import type { Store } from '../src/storage/port/store.ts';
import { closedAtEnd } from './ends.ts';
import { ALICE } from './invoke/principals.ts';
import {
  buildProgram,
  issue,
  newPlace,
  type Place,
  post,
  type Running,
  start,
} from './invoke/processes.ts';
import { startProxy } from './invoke/proxy.ts';
import { freshDatabase } from './postgres.ts';

/** What one call costs, in minor units, and how many the root's budget covers. */
const PRICE = 1_000n;
const COVERED = 300;

/** The load: so many callers at once, each call with its own key, until all kills are done. */
const CALLERS = 12;
const CALLS_PER_CALLER_MAX = 100;
const TRIES_PER_CALL_MAX = 100;
const PAUSE_MS = 100;
const KILLS = 3;

/** Words that must have been heard before each kill, so that every life of a process did some work. */
const HEARD_PER_LIFE = 6;
const TEST_MS_MAX = 180_000;

await buildProgram();

/** One answer that was received whole. */
interface Acknowledged {
  readonly key: string;
  readonly status: number;
  readonly text: string;
}

/** Spends under one key until somebody gives a word on it, whoever of the processes that is. */
async function spend(
  urls: () => readonly string[],
  { token, capability }: { token: string; capability: string },
  key: string,
): Promise<Acknowledged | undefined> {
  for (let tries = 0; tries < TRIES_PER_CALL_MAX; tries++) {
    const live = urls();
    const url = live[Math.floor(Math.random() * live.length)];
    try {
      if (url === undefined) throw new Error('Cannot call: no process runs');
      const response = await post(
        `${url}/svc/invoke/${capability}`,
        token,
        { parameters: {}, client_reference_id: key },
        { 'idempotency-key': key },
      );
      const text = await response.text();
      if (!JSON.parse(text).failure?.retry) return { key, status: response.status, text };
    } catch {
      // Cut off, or not there: the same key may be asked for again.
    }
    await sleep(PAUSE_MS);
  }
  return undefined;
}

/** Lets callers spend under two children of one budget while `harm` is done to the processes. */
async function spendUnder(
  urls: () => readonly string[],
  harm: (heard: readonly Acknowledged[]) => Promise<void>,
  capability = 'pay',
): Promise<{ root: IssueAnswer; heard: Acknowledged[] }> {
  const url = urls()[0] as string;
  const budget = { currency: 'USD', max_amount: (COVERED * Number(PRICE)) / 100 };
  const root = await issue(url, ALICE, { budget });
  const children = await Promise.all(
    [0, 1].map((n) =>
      issue(url, root.token, { parent_token: root.token_id, subject: `agent:child-${n}` }),
    ),
  );
  const heard: Acknowledged[] = [];
  let harmed = false;
  const caller = async (n: number) => {
    for (let i = 0; i < CALLS_PER_CALLER_MAX && !harmed; i++) {
      const token = (children[(n + i) % 2] as IssueAnswer).token;
      const answer = await spend(urls, { token, capability }, `call-${n}-${i}`);
      if (answer) heard.push(answer);
      await sleep(PAUSE_MS);
    }
  };
  const harming = harm(heard).finally(() => {
    harmed = true;
  });
  await Promise.all([harming, ...Array.from({ length: CALLERS }, (_, n) => caller(n))]);
  return { root, heard };
}

/** Kills again and again, each time a moment after a process has shown that it works. */
async function killAll(heard: readonly Acknowledged[], kill: (n: number) => Promise<void>) {
  for (let n = 0; n < KILLS; n++) {
    const enough = heard.length + HEARD_PER_LIFE;
    while (heard.length < enough) await sleep(5);
    await sleep(Math.random() * 200);
    await kill(n);
  }
}

/** Waits until no admitted call is open any more: the living close what the dead left. */
async function recovered(store: Store): Promise<void> {
  const future = new Date(Date.now() + 3_600_000);
  for (let tries = 0; tries < 300; tries++) {
    if ((await store.abandonedIntents(future, 1)).length === 0) return;
    await sleep(100);
  }
  assert.fail('admitted calls stayed open');
}

/** The file belongs to one process at a time, so one more runs until it has closed what is open. */
async function recoveredFile(place: Place): Promise<Store> {
  for (let tries = 0; tries < 20; tries++) {
    const store = await openStore(place.store);
    const open = await store.abandonedIntents(new Date(Date.now() + 3_600_000), 1);
    if (open.length === 0) return store;
    await store.close();
    const running = await start(place);
    await sleep(500);
    await running.stop();
  }
  return assert.fail('admitted calls stayed open');
}

async function allInvocations(store: Store): Promise<AuditEntry[]> {
  const { size } = await store.sequence();
  const entries: AuditEntry[] = [];
  while (entries.length < size) {
    entries.push(...(await store.scanEntries(entries.length, 1_000)).map(entryView));
  }
  return entries.filter(({ entry_type }) => entry_type === 'invocation');
}

/** What must hold whatever was killed and when. */
async function assertHonest(
  store: Store,
  place: Place,
  { root, heard }: { root: IssueAnswer; heard: Acknowledged[] },
): Promise<void> {
  const entries = await allInvocations(store);
  const charged = entries.filter(({ cost_actual }) => cost_actual !== null);
  const effects = readFileSync(place.effects, 'utf8').trimEnd().split('\n').filter(Boolean);
  const described = await store.describeToken(root.token_id, 10);
  const budget = described?.lineage[0]?.budget;
  assert.ok(budget);

  // No overspend: the ledger, the entries and the effects agree with the ceiling.
  assert.equal(budget.reserved, 0n);
  assert.ok(budget.consumed <= budget.max);
  assert.equal(budget.consumed, PRICE * BigInt(charged.length));
  assert.ok(effects.length <= COVERED);
  assert.ok(effects.length > 0);

  // Nothing twice: one effect for a key, one for an invocation, one entry for an invocation.
  assert.equal(new Set(effects.map((line) => line.split(' ')[0])).size, effects.length);
  const byId = new Map(entries.map((entry) => [entry.invocation_id, entry]));
  assert.equal(byId.size, entries.length);

  // No effect without its entry, and none whose entry says that nothing happened.
  for (const line of effects) {
    const entry = byId.get(line.split(' ')[1] as string);
    assert.ok(entry?.state === 'completed' || entry?.state === 'indeterminate', line);
  }

  // Every answer that was heard is in the log as it was told, and every success had its effect.
  const acted = new Set(effects.map((line) => line.split(' ')[1]));
  for (const { status, text } of heard) {
    const body = JSON.parse(text);
    const entry = byId.get(body.invocation_id);
    assert.equal(entry?.success, status === 200);
    assert.deepEqual(body.audit, { entry_id: entry?.entry_id, leaf_hash: entry?.leaf_hash });
    if (status === 200) assert.ok(acted.has(body.invocation_id));
    else assert.match(body.failure.type, /^(?:budget_exceeded|outcome_unknown)$/);
  }
  assert.ok(heard.some(({ status }) => status === 200));
}

test('two processes on one PostgreSQL respect a budget while they are killed at random', {
  timeout: TEST_MS_MAX,
}, async () => {
  const database = await freshDatabase();
  const place = newPlace(database.url);
  const store = closedAtEnd(await openStore(database.url));
  const processes: Running[] = [await start(place), await start(place)];
  const spent = await spendUnder(
    () => processes.map(({ url }) => url),
    (heard) =>
      killAll(heard, async (n) => {
        await processes[n % 2]?.kill();
        processes[n % 2] = await start(place);
      }),
  );
  await recovered(store);

  await assertHonest(store, place, spent);
});

test('a process on a SQLite file respects a budget over every kill and restart', {
  timeout: TEST_MS_MAX,
}, async () => {
  const place = newPlace();
  let running = await start(place);
  const spent = await spendUnder(
    () => [running.url],
    (heard) =>
      killAll(heard, async () => {
        await running.kill();
        running = await start(place);
      }),
  );
  await running.stop();
  const store = closedAtEnd(await recoveredFile(place));

  await assertHonest(store, place, spent);
});

/** The findings of one moment, and how many calls are open then. */
async function ledgerOf(url: string) {
  const store = await openStore(url);
  const { findings, ledger } = await checkStore(store);
  await store.close();
  return { findings, openCalls: ledger.openCalls };
}

/** Waits, with a process that runs, until nothing is open: composed calls are adopted. */
async function allClosed(url: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const { findings, openCalls } = await ledgerOf(url);
    assert.deepEqual(findings, []);
    if (openCalls === 0) return;
    await sleep(100);
  }
  assert.fail('admitted calls stayed open');
}

for (const kind of ['SQLite file', 'PostgreSQL'] as const) {
  test(`composed calls on a ${kind} leave a ledger that equals the log, for a kill at any time`, {
    timeout: TEST_MS_MAX,
  }, async () => {
    const database = kind === 'PostgreSQL' ? await freshDatabase() : undefined;
    const place = newPlace(database?.url);
    let running = await start(place);
    await spendUnder(
      () => [running.url],
      (heard) =>
        killAll(heard, async () => {
          await running.kill();
          assert.deepEqual((await ledgerOf(place.store)).findings, []);
          running = await start(place);
        }),
      'trip',
    );
    await allClosed(place.store);
  });
}

test('a call whose answer was lost after the commit gets the same answer when repeated', {
  timeout: TEST_MS_MAX,
}, async () => {
  const place = newPlace();
  const running = await start(place);
  const { hostname: host, port } = new URL(running.url);
  const proxy = closedAtEnd(await startProxy({ host, port: Number(port) }));
  const { token } = await issue(running.url, ALICE, {});
  const throughProxy = `http://127.0.0.1:${proxy.port}`;
  for (let round = 0; round < 10; round++) {
    proxy.cutAfter(0);
    const call = (base: string) =>
      post(
        `${base}/svc/invoke/pay`,
        token,
        { parameters: {}, client_reference_id: `cut-${round}` },
        { 'idempotency-key': `cut-${round}` },
      );

    await assert.rejects(call(throughProxy));
    const again = await call(running.url);
    const text = await again.text();

    assert.equal(again.status, 200);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.ok(proxy.lost().at(-1)?.toString().endsWith(text));
  }
  const effects = readFileSync(place.effects, 'utf8').trimEnd().split('\n');
  assert.equal(effects.length, 10);
});

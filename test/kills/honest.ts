/**
 * What must hold whatever was killed and when: what clients heard, the log, the ledger and the effects agree.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { entryView } from '../../src/domain/log/entry.ts';
import { createCheckpointCheck } from '../../src/keyring/checkpoint-check.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import { checkStore, type FsckReport } from '../../src/storage/fsck/fsck.ts';
import { openMark, openStore } from '../../src/storage/open.ts';
import type { Store } from '../../src/storage/port/store.ts';
import type { Place } from '../invoke/processes.ts';
import { type Acknowledged, type Heard, PRICE } from './load.ts';

/** In milliseconds. Only to end a wait for what never comes. */
const CLOSED_MS_MAX = 60_000;

/** What a check has counted. */
export interface Found {
  readonly entries: number;
  readonly checkpoints: number;
  readonly effects: number;
}

/** At any moment, while processes run: the store is sound, and nothing that was acknowledged is missing. */
export async function checkNow(place: Place, known: Heard): Promise<Found> {
  // Before anything is read: an answer that is heard meanwhile may be missing in what was read.
  const heard = [...known.heard];
  const store = await openStore(place.store);
  try {
    const report = await fsckOf(store, place);
    assert.deepEqual(report.findings, []);
    const entries = await allInvocations(store);
    const effects = effectsOf(place);
    checkAnswers(entries, effects, { ...known, heard });
    return { entries: report.entries, checkpoints: report.checkpoints, effects: effects.length };
  } finally {
    await store.close();
  }
}

/** Waits, while a process runs, until no admitted call is open: the living close what the dead left. */
export async function allClosed(place: Place): Promise<void> {
  const end = performance.now() + CLOSED_MS_MAX;
  while (performance.now() < end) {
    const store = await openStore(place.store);
    const { findings, ledger } = await fsckOf(store, place);
    await store.close();
    assert.deepEqual(findings, []);
    if (ledger.openCalls === 0) return;
    await sleep(100);
  }
  assert.fail('admitted calls stayed open');
}

/** When no call is open any more. */
export async function assertHonest(store: Store, place: Place, known: Heard): Promise<void> {
  const entries = await allInvocations(store);
  const charged = entries.filter(({ cost_actual }) => cost_actual !== null);
  const effects = effectsOf(place);
  const described = await store.describeToken(known.root.token_id, 10);
  const budget = described?.lineage[0]?.budget;
  assert.ok(budget);

  // No overspend: the ledger, the entries and the effects agree with the ceiling.
  assert.equal(budget.reserved, 0n);
  assert.ok(budget.consumed <= budget.max);
  assert.equal(budget.consumed, PRICE * BigInt(charged.length));
  assert.ok(effects.length <= known.covered);
  assert.ok(effects.length > 0);

  // No effect without its entry, and none whose entry says that nothing happened.
  const byId = new Map(entries.map((entry) => [entry.invocation_id, entry]));
  for (const { invocation, key } of effects) {
    const state = byId.get(invocation)?.state;
    assert.ok(state === 'completed' || state === 'indeterminate', `${key} is ${state}`);
  }
  checkAnswers(entries, effects, known);
  assert.ok(known.heard.some(({ status }) => status === 200));
}

/** What clients paid for, at one price. */
export interface Charged {
  readonly tokenId: string;
  /** The invocations that were answered with a result. */
  readonly spent: ReadonlySet<string>;
  /** In minor units. */
  readonly price: bigint;
}

/** When no call is open: each paid call has one entry, and the budget of the root is what they cost. */
export async function checkCharged(
  store: Store,
  place: Place,
  { tokenId, spent, price }: Charged,
): Promise<void> {
  const { findings } = await fsckOf(store, place);
  assert.deepEqual(findings, []);
  const entries = await allInvocations(store);
  const ids = new Set(entries.map(({ invocation_id }) => invocation_id));
  assert.equal(ids.size, entries.length, 'one entry for a call');
  const missing = [...spent].filter((id) => !ids.has(id));
  assert.deepEqual(missing, [], 'what was acknowledged is in the log');
  const budget = (await store.describeToken(tokenId, 10))?.lineage[0]?.budget;
  assert.deepEqual([budget?.reserved, budget?.consumed], [0n, price * BigInt(spent.size)]);
}

/** Nothing twice, and every answer that was heard is in the log as it was told. */
function checkAnswers(
  entries: readonly AuditEntry[],
  effects: readonly Effect[],
  { heard, outlived }: Heard,
): void {
  assert.equal(new Set(effects.map(({ key }) => key)).size, effects.length, 'one effect for a key');
  const byId = new Map(entries.map((entry) => [entry.invocation_id, entry]));
  assert.equal(byId.size, entries.length, 'one entry for a call');
  const acted = new Set(effects.map(({ invocation }) => invocation));
  for (const answer of heard)
    checkAnswer(answer, byId.get(JSON.parse(answer.text).invocation_id), acted);
  assert.deepEqual(outlived, [], 'a revoked token works no more');
}

/**
 * A process that could not learn whether a call was admitted, or how it ended, says so and names no entry: another
 * process, or the same one later, enters what is known. Every other answer names the entry that says the same.
 */
function checkAnswer(
  { key, status, text }: Acknowledged,
  entry: AuditEntry | undefined,
  acted: ReadonlySet<string>,
): void {
  const { audit, failure, invocation_id } = JSON.parse(text);
  if (failure?.type === 'outcome_unknown' && audit === undefined) return;
  assert.equal(entry?.success, status === 200, `${key}: ${text}`);
  assert.deepEqual(audit, { entry_id: entry?.entry_id, leaf_hash: entry?.leaf_hash });
  if (status !== 200) assert.match(failure.type, EXPECTED, text);
  else if (entry?.capability === 'pay') {
    assert.ok(acted.has(invocation_id), `${key} was answered and has no effect`);
  }
}

/** The last is how a composed call ends whose second step finds that it cannot. */
const EXPECTED = /^(?:budget_exceeded|outcome_unknown|composition_child_failed)$/;

interface Effect {
  readonly key: string;
  readonly invocation: string;
}

/** Each line of the file of effects. Those of a composed call name the call alone, so it is their key too. */
function effectsOf({ effects }: Place): Effect[] {
  const lines = readFileSync(effects, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => {
    const [key = '', invocation = ''] = line.split(' ');
    return { key: key === 'held' ? invocation : key, invocation };
  });
}

async function allInvocations(store: Store): Promise<AuditEntry[]> {
  const { size } = await store.sequence();
  const entries: AuditEntry[] = [];
  while (entries.length < size) {
    entries.push(...(await store.scanEntries(entries.length, 1_000)).map(entryView));
  }
  return entries.filter(({ entry_type }) => entry_type === 'invocation');
}

/** With the signatures of the checkpoints and the mark, where the service seals. */
async function fsckOf(store: Store, { keys, mark: place }: Place): Promise<FsckReport> {
  if (place === undefined) return checkStore(store);
  const mark = await openMark(place, { create: false });
  const options = { now: () => new Date(), onWarning: () => undefined };
  const keyring = openKeyring({ folder: keys }, options);
  try {
    // Before the store is read: what was signed by then must be in it.
    const checkpoint = await mark.read(store.logId);
    const status = await mark.status(store.logId);
    const check = createCheckpointCheck(keyring.jwks().keys, keyring.noteKeys);
    return await checkStore(store, check, { checkpoint, status });
  } finally {
    keyring.close();
    await mark.close();
  }
}

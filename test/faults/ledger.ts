/**
 * What clients were told, and whether the store kept its word.
 *
 * The ledger only listens to workers. The check reads the store afterwards: what was acknowledged is
 * there once, what was refused is not there, and money, grant uses and leases are what the log says.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { StoredEntry } from '../../src/domain/log/entry.ts';
import { recoverIntents } from '../../src/service/invoke/recovery.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { money } from '../store/observe.ts';
import {
  admission,
  cents,
  chain,
  childToken,
  FAR,
  granted,
  insert,
  settlement,
} from '../support/fixtures.ts';
import { outcomeEntry, outcomeOf, unknownOutcome } from './outcome.ts';
import type { Act, Said, World } from './said.ts';

/** More than any run makes. */
const ALL = 1_000_000;

/** Answers that are looked up by their keys: the last ones, since those are most at risk. */
const ANSWERS_CHECKED = 50;

export interface Ledger {
  hear(said: Said): void;
  /** How often each was said. */
  readonly counts: Record<Said['said'], number>;
  readonly kept: Set<string>;
  readonly refused: Set<string>;
  /** Invocations whose admission was acknowledged, and those whose admission was refused. */
  readonly admitted: Set<string>;
  readonly notAdmitted: Set<string>;
  /** Entry and operation by invocation. */
  readonly settled: Map<string, { entry: string; operation: string }>;
  readonly defects: string[];
}

export function createLedger(): Ledger {
  const none = { opening: 0, ready: 0, mark: 0, kept: 0, admitted: 0, settled: 0 };
  const ledger: Ledger = {
    counts: { ...none, superseded: 0, refused: 0, unknown: 0, defect: 0 },
    kept: new Set(),
    refused: new Set(),
    admitted: new Set(),
    notAdmitted: new Set(),
    settled: new Map(),
    defects: [],
    hear(said) {
      ledger.counts[said.said] += 1;
      if (said.said === 'defect') ledger.defects.push(said.why);
      else if (said.said === 'refused') noteRefusal(ledger, said.act);
      else if ('act' in said && said.said !== 'unknown' && said.said !== 'superseded') {
        noteSuccess(ledger, said.act);
      }
    },
  };
  return ledger;
}

function noteSuccess(ledger: Ledger, act: Act): void {
  if ('append' in act) for (const id of act.append) ledger.kept.add(id);
  else if ('admit' in act) ledger.admitted.add(act.invocation);
  else {
    ledger.kept.add(act.entry);
    ledger.settled.set(act.invocation, { entry: act.entry, operation: act.settle });
  }
}

function noteRefusal(ledger: Ledger, act: Act): void {
  if ('append' in act) for (const id of act.append) ledger.refused.add(id);
  else if ('admit' in act) ledger.notAdmitted.add(act.invocation);
  else ledger.refused.add(act.entry);
}

/** Tokens and a grant that no run uses up. */
export async function prepareWorld(store: Store): Promise<World> {
  const budget = cents(1_000_000_000);
  const [root, middle, leaf] = await chain(store, [{ budget }, { budget }, { budget }]);
  assert.ok(root && middle && leaf);
  const exclusive = await insert(
    store,
    childToken(root, { concurrent_branches: 'exclusive', budget: root.budget }),
  );
  const grant = await granted(store, leaf, { max_uses: ALL });
  return {
    line: [root, middle, leaf].map(({ token_id }) => token_id),
    exclusive: exclusive.token_id,
    grant: grant.grant_id,
  };
}

/** Closes what dead workers left open, then holds everything against what was said. */
export async function checkLedger(store: Store, world: World, ledger: Ledger): Promise<void> {
  assert.deepEqual(ledger.defects, []);
  await closeAll(store);
  const log = await wholeLog(store);
  checkEntries(log, ledger);
  checkOutcomes(log, ledger);
  await checkMoney(store, world, log);
  await checkGrant(store, world, log);
  await checkIndeterminate(store, log);
  await checkAnswers(store, world, ledger);
  await checkLease(store, world);
}

async function closeAll(store: Store): Promise<void> {
  const { failed } = await recoverIntents(store, {
    silentSince: FAR,
    limit: ALL,
    close: unknownOutcome,
  });
  assert.deepEqual(failed, []);
  assert.deepEqual(await store.abandonedIntents(FAR, ALL), []);
}

async function wholeLog(store: Store): Promise<readonly StoredEntry[]> {
  const { size } = await store.sequence();
  const { findings } = await checkStore(store);
  assert.deepEqual(findings, []);

  const log = await store.scanEntries(0, ALL);
  assert.equal(log.length, size);
  assert.ok(log.every(({ sequence }, place) => sequence === place));
  return log;
}

function checkEntries(log: readonly StoredEntry[], { kept, refused }: Ledger): void {
  const ids = new Set(log.map(({ entry_id }) => entry_id));

  assert.equal(ids.size, log.length, 'every entry is there once');
  assert.deepEqual(missing(kept, ids), [], 'what was acknowledged is kept');
  assert.deepEqual(shared(refused, ids), [], 'what was refused did not happen');
}

/** Each call that was admitted has one outcome, and the one that was acknowledged. */
function checkOutcomes(log: readonly StoredEntry[], ledger: Ledger): void {
  const outcomes = log.filter(outcomeOf);
  const byInvocation = new Map(outcomes.map((stored) => [stored.invocation_id ?? '', stored]));

  assert.equal(byInvocation.size, outcomes.length, 'no call has two outcomes');
  assert.deepEqual(missing(ledger.admitted, byInvocation), [], 'admitted calls are kept');
  assert.deepEqual(shared(ledger.notAdmitted, byInvocation), [], 'refused calls did not happen');
  const others = [...ledger.settled].filter(
    ([invocation, { entry }]) => byInvocation.get(invocation)?.entry_id !== entry,
  );
  assert.deepEqual(others, [], 'acknowledged outcomes are those of the log');
}

async function checkMoney(
  store: Store,
  { line, exclusive }: World,
  log: readonly StoredEntry[],
): Promise<void> {
  const spentOn = (...tokens: readonly string[]): bigint => {
    const outcomes = log.map(outcomeOf).filter((outcome) => outcome !== undefined);
    const ours = outcomes.filter(({ tokenId }) => tokens.includes(tokenId));
    return ours.reduce((sum, { spent }) => sum + spent, 0n);
  };
  const leaf = line.at(-1) as string;

  assert.deepEqual(
    await money(
      store,
      line.map((token_id) => ({ token_id })),
    ),
    [
      [0n, spentOn(leaf, exclusive)],
      [0n, spentOn(leaf)],
      [0n, spentOn(leaf)],
    ],
  );
}

/** One use for each call under the leaf, also for those that came to nothing. */
async function checkGrant(
  store: Store,
  { line, grant: grantId }: World,
  log: readonly StoredEntry[],
): Promise<void> {
  const leaf = line.at(-1) as string;
  const calls = log.filter((stored) => outcomeOf(stored)?.tokenId === leaf);

  const { grant } = await store.load({ tokenId: leaf, grantId });

  assert.equal(grant?.uses, calls.length);
}

async function checkIndeterminate(store: Store, log: readonly StoredEntry[]): Promise<void> {
  const told = log.map(outcomeOf).filter((outcome) => outcome?.state === 'indeterminate');
  const open = await store.indeterminate(ALL);

  assert.deepEqual(
    open.map(({ invocation_id }) => invocation_id).sort(),
    told.map((outcome) => outcome?.invocation).sort(),
  );
}

/** A retry of an acknowledged call gets the very answer. */
async function checkAnswers(store: Store, world: World, { settled }: Ledger): Promise<void> {
  for (const { operation } of [...settled.values()].slice(-ANSWERS_CHECKED)) {
    const idempotency = { capability: 'book_flight', key: operation };
    const answers = await Promise.all(
      [world.line.at(-1) as string, world.exclusive].map(async (tokenId) => {
        const { idempotency: record } = await store.load({ tokenId, idempotency });
        return record?.answer && new TextDecoder().decode(record.answer);
      }),
    );
    assert.ok(answers.includes(`answer of ${operation}`), `the answer of "${operation}" is kept`);
  }
}

/** Nothing is open, so nobody holds the exclusive token. */
async function checkLease(store: Store, { exclusive }: World): Promise<void> {
  const { token } = await store.load({ tokenId: exclusive });
  assert.ok(token);
  const call = admission(token);

  assert.equal((await store.admit(call)).admitted, true);

  const told = outcomeEntry(call.intent, 'completed', 0);
  await store.settle(settlement(call, { outcome: 'no_effect', entry: told }));
}

function missing(wanted: Iterable<string>, there: { has(id: string): boolean }): string[] {
  return [...wanted].filter((id) => !there.has(id));
}

function shared(unwanted: Iterable<string>, there: { has(id: string): boolean }): string[] {
  return [...unwanted].filter((id) => there.has(id));
}

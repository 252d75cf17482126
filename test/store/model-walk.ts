/**
 * Random walks: the same transitions on a store and on the model, compared after every step.
 *
 * A walk is a function of its seed, so that a failure can be repeated. Time moves on with the steps,
 * and the numbers are small, so that refusals of every kind are as frequent as admissions.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import type { Admission, Settlement } from '../../src/storage/port/invocation-store.ts';
import type { TokenRecord } from '../../src/storage/port/records.ts';
import type { Store } from '../../src/storage/port/store.ts';
import {
  freezeEntry,
  issuanceEntry,
  reconcileEntry,
  revocationEntry,
  unfreezeEntry,
} from '../support/entries.ts';
import {
  admission,
  at,
  childToken,
  FAR,
  freezeOf,
  granted,
  happened,
  keyOf,
  rootToken,
  SECOND,
  settlement,
  usd,
  useOf,
} from '../support/fixtures.ts';
import {
  admit,
  createModel,
  insertChild,
  insertToken,
  type Model,
  reconcile,
  renew,
  revoke,
  settle,
} from './model.ts';
import { livingCount } from './observe.ts';

interface Walk {
  readonly store: Store;
  readonly model: Model;
  readonly random: Random;
  /** Entries that must be in the log. */
  entries: number;
  now: number;
}

interface Random {
  /** A whole number from 0 up to, and not including, `end`. */
  below(end: number): number;
  pick<Item>(items: readonly Item[]): Item;
  chance(percent: number): boolean;
}

const CHILDREN_MAX = 3;
const TOKENS_MAX = 14;

export async function walk(store: Store, seed: number, steps: number): Promise<void> {
  const state = { store, model: createModel(), random: randomOf(seed), entries: 0, now: 0 };
  await addRoot(state);
  for (let step = 0; step < steps; step++) {
    state.now += state.random.below(3) * SECOND;
    const act = state.random.pick(ACTS);
    await act(state);
    await compareMoney(state, `seed ${seed}, step ${step}, ${act.name}`);
  }
  assert.equal((await store.sequence()).size, state.entries, 'entries in the log');
  await compareCalls(state);
  assert.deepEqual((await checkStore(store)).findings, []);
}

type Act = (state: Walk) => Promise<void>;

async function addRoot(state: Walk): Promise<void> {
  if (state.model.tokens.size >= TOKENS_MAX) return;
  const token = rootToken(randomLimits(state));

  await state.store.insertRoot(token, issuanceEntry(token));

  insertToken(state.model, token);
  state.entries += 1;
}

async function addChild(state: Walk): Promise<void> {
  if (state.model.tokens.size >= TOKENS_MAX) return;
  const parent = randomToken(state);
  const token = childToken(parent, within(parent, randomLimits(state)));
  const bounds = { now: at(state.now), childrenMax: CHILDREN_MAX };

  const result = await state.store.insertChild(token, issuanceEntry(token), bounds);

  const expected = insertChild(state.model, token, bounds.now, CHILDREN_MAX);
  assert.equal(result, expected);
  if (result === 'inserted') state.entries += 1;
}

async function addGrant(state: Walk): Promise<void> {
  const max_uses = 1 + state.random.below(2);
  const expires_at = at(state.now + 20 * SECOND);
  const record = await granted(state.store, randomToken(state), { max_uses, expires_at });

  state.model.grants.set(record.grant_id, { record, uses: 0 });
  state.entries += 2;
}

async function revokeOne(state: Walk): Promise<void> {
  // Rarely: with all tokens dead every later step is refused.
  if (!state.random.chance(30)) return;
  const { token_id } = randomToken(state);
  const now = at(state.now);

  const revoked = state.store.revokeToken(token_id, now, () => revocationEntry(token_id));
  const result = happened(await revoked);

  const ended = result?.wasAlive ? 1 + (await livingCount(state.store, token_id, now)) : 0;
  assert.equal(ended, revoke(state.model, token_id, now));
  state.entries += 1;
}

async function admitOne(state: Walk): Promise<void> {
  const request = randomAdmission(state);

  const result = await state.store.admit(request);

  const reason = admit(state.model, request);
  assert.equal(result.admitted ? 'admitted' : result.reason, reason ?? 'admitted');
}

async function settleOne(state: Walk): Promise<void> {
  const call = randomCall(state, 'open');
  if (!call) return;
  const done = randomSettlement(state, call.request);
  const wasOpen = call.state === 'open';

  const result = await state.store.settle(done);

  assert.equal(result, settle(state.model, done));
  if (result !== 'settled') return;
  assert.equal(wasOpen, true);
  assert.equal(await state.store.settle(done), 'settled', 'repeated with the same entry');
  state.entries += 1;
}

async function reconcileOne(state: Walk): Promise<void> {
  const call = randomCall(state, 'indeterminate');
  if (!call) return;
  const { invocation_id, operation_id } = call.request.intent;
  const refund = state.random.chance(50);

  const result = await state.store.reconcile(invocation_id, refund, () =>
    reconcileEntry(invocation_id, refund),
  );

  assert.equal(result !== undefined, reconcile(state.model, operation_id, refund));
  if (result) state.entries += 1;
}

async function renewOne(state: Walk): Promise<void> {
  const call = randomCall(state, 'open');
  if (call?.state !== 'open') return;
  const { operation_id } = call.request.intent;
  const until = at(state.now + 5 * SECOND);

  const result = await state.store.renewLeases(operation_id, until);

  assert.equal(result, renew(state.model, operation_id, until));
}

async function freezeOne(state: Walk): Promise<void> {
  const what = state.random.pick(['service', 'capability', 'root_principal'] as const);
  const { root_principal } = randomToken(state);
  const target = { service: '', capability: 'book_flight', root_principal }[what];
  const until = at(state.now + state.random.below(4) * SECOND);
  const freeze = freezeOf({ what, target, ...(state.random.chance(80) ? { until } : {}) });

  await state.store.freeze(freeze, freezeEntry(freeze));

  state.model.freezes.set(`${what} ${target}`, freeze);
  state.entries += 1;
}

async function unfreezeAll(state: Walk): Promise<void> {
  for (const [text, freeze] of state.model.freezes) {
    assert.equal(await state.store.unfreeze(freeze, unfreezeEntry(freeze)), true);
    state.model.freezes.delete(text);
    state.entries += 1;
  }
}

/** Weighted: calls come most often. */
const ACTS: readonly Act[] = [
  addRoot,
  addChild,
  addChild,
  addGrant,
  revokeOne,
  freezeOne,
  unfreezeAll,
  unfreezeAll,
  admitOne,
  admitOne,
  admitOne,
  admitOne,
  admitOne,
  admitOne,
  admitOne,
  admitOne,
  settleOne,
  settleOne,
  settleOne,
  reconcileOne,
  renewOne,
  renewOne,
];

/** Every budget is what the model says, and within its bounds. */
async function compareMoney({ store, model }: Walk, where: string): Promise<void> {
  const tokens = [...model.tokens.values()];
  const loads = tokens.map(({ record }) => store.load({ tokenId: record.token_id }));
  for (const [place, { lineage }] of (await Promise.all(loads)).entries()) {
    const expected = tokens[place]?.budget;
    const budget = lineage.at(-1)?.budget;
    assert.deepEqual(
      budget && [budget.reserved, budget.consumed],
      expected && [expected.reserved, expected.consumed],
      where,
    );
    if (!budget) continue;
    assert.equal(budget.reserved >= 0n && budget.consumed >= 0n, true, where);
    assert.equal(budget.reserved + budget.consumed <= budget.max, true, where);
  }
}

async function compareCalls({ store, model }: Walk): Promise<void> {
  const inState = (state: string) =>
    [...model.calls].filter(([, call]) => call.state === state).map(([operation]) => operation);
  const open = await store.abandonedIntents(FAR, model.calls.size + 1);
  const lost = await store.indeterminate(model.calls.size + 1);

  assert.deepEqual(open.map(({ operation_id }) => operation_id).sort(), inState('open').sort());
  assert.deepEqual(
    lost.map(({ operation_id }) => operation_id).sort(),
    inState('indeterminate').sort(),
  );
  for (const [id, { record, uses }] of model.grants) {
    const tokenId = [...model.tokens.keys()][0] ?? '';
    const { grant } = await store.load({ tokenId, grantId: id });
    assert.equal(grant?.uses, uses, `uses of ${record.grant_id}`);
  }
}

function randomLimits({ random, now }: Walk): Partial<TokenRecord> {
  const currency = random.chance(95) ? 'USD' : 'EUR';
  return {
    max_delegation_depth: TOKENS_MAX,
    expires_at: at(now + (60 + random.below(300)) * SECOND),
    concurrent_branches: random.chance(35) ? 'exclusive' : 'allowed',
    ...(random.chance(60) ? { budget: { currency, max_amount: random.below(60) / 100 } } : {}),
  };
}

/** A delegation only narrows; fsck would report anything else. */
function within(
  { expires_at, concurrent_branches, budget }: TokenRecord,
  limits: Partial<TokenRecord>,
): Partial<TokenRecord> {
  const { expires_at: end = expires_at, budget: asked = budget } = limits;
  const amounts = [budget, asked].map((each) => each?.max_amount ?? Number.POSITIVE_INFINITY);
  return {
    ...limits,
    expires_at: end < expires_at ? end : expires_at,
    ...(concurrent_branches === 'exclusive' ? { concurrent_branches } : {}),
    ...(budget ? { budget: { ...budget, max_amount: Math.min(...amounts) } } : {}),
  };
}

function randomToken({ random, model }: Walk): TokenRecord {
  return random.pick([...model.tokens.values()]).record;
}

/** Mostly one in this state, else any, to try impossible transitions too. */
function randomCall({ random, model }: Walk, state: 'open' | 'indeterminate') {
  const all = [...model.calls.values()];
  const fitting = all.filter((call) => call.state === state);
  const calls = fitting.length > 0 && random.chance(80) ? fitting : all;
  return calls.length === 0 ? undefined : random.pick(calls);
}

function randomAdmission(state: Walk): Admission {
  const { random, model } = state;
  const grants = [...model.grants.values()].map(({ record }) => record);
  const grant = grants.length > 0 && random.chance(20) ? random.pick(grants) : undefined;
  // A grant is mostly used by its owner, else by any token.
  const owner = [...model.tokens.values()].find(({ record }) => record.chain === grant?.chain);
  const token = owner && random.chance(80) ? owner.record : randomToken(state);
  const { chain } = token;
  const keepUntil = at(state.now + random.below(30) * SECOND);
  return admission(token, {
    now: at(state.now),
    leaseUntil: at(state.now + random.below(20) * SECOND),
    ...(random.chance(70) ? { charge: usd(BigInt(random.below(20))) } : {}),
    ...(grant ? { grant: useOf(grant, { chain }) } : {}),
    ...(random.chance(30)
      ? { idempotency: { ...keyOf(token, `key-${random.below(3)}`), keepUntil } }
      : {}),
  });
}

function randomSettlement({ random, now }: Walk, request: Admission): Settlement {
  const outcome = random.pick([
    'completed',
    'failed',
    'no_effect',
    'indeterminate',
    'indeterminate',
  ]);
  const isSpent = outcome === 'completed' || outcome === 'failed';
  const actual = BigInt(random.below(Number(request.charge?.amount ?? 0n) + 1));
  return settlement(request, {
    outcome: outcome as Settlement['outcome'],
    now: at(now),
    ...(request.charge && isSpent && random.chance(60) ? { actual } : {}),
  });
}

/** Mulberry32: small, and the same on every machine. */
function randomOf(seed: number): Random {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(next() * end);
  return {
    below,
    pick: <Item>(items: readonly Item[]) => items[below(items.length)] as Item,
    chance: (percent) => below(100) < percent,
  };
}

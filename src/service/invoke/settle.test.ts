import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../test/support/ends.ts';
import {
  admission,
  at,
  cents,
  entry,
  insert,
  rootToken,
  settlement,
  usd,
} from '../../../test/support/fixtures.ts';
import { createLog } from '../../log.ts';
import { system } from '../../platform.ts';
import { openStore } from '../../storage/open.ts';
import type { Settlement } from '../../storage/port/invocation-store.ts';
import { OutcomeUnknown, type Store, StoreUnavailable } from '../../storage/port/store.ts';
import type { Settler } from '../operations/parts.ts';
import { createSettler } from './settle.ts';

let store: Store;
let settler: Settler;
let lines: string[];
/** Errors that the store throws instead of settling, in this order. Then it settles. */
let faults: Error[];

beforeEach(async () => {
  store = closedAtEnd(await openStore('memory:', { clock: () => at(1_000) }));
  lines = [];
  faults = [];
  const settle: Store['settle'] = async (request) => {
    const fault = faults.shift();
    if (fault) throw fault;
    return store.settle(request);
  };
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  settler = closedAtEnd(createSettler({ ...store, settle }, system, log));
});

/** A call that was admitted for a hundred cents. */
async function admitted(): Promise<Settlement> {
  const token = rootToken({ budget: cents(100) });
  await insert(store, token);
  const call = admission(token, { charge: usd(100n) });
  assert.equal((await store.admit(call)).admitted, true);
  return settlement(call);
}

async function untilNothingWaits(): Promise<void> {
  for (let tries = 0; tries < 1_000 && settler.waiting() > 0; tries++) await sleep(10);
  assert.equal(settler.waiting(), 0);
}

const isOpen = async () => (await store.abandonedIntents(at(3_600_000), 10)).length === 1;
const entryCount = async () => (await store.sequence()).size;

test('settle() returns superseded when another outcome was recorded', async () => {
  const call = await admitted();
  await store.settle({ ...call, outcome: 'indeterminate', entry: entry() });

  assert.equal(await settler.settle(call), 'superseded');
  assert.equal(settler.waiting(), 0);
});

test('release() closes a call that the store had admitted', async () => {
  const call = await admitted();
  const before = await entryCount();

  settler.release({ ...call, outcome: 'no_effect' }, () => undefined);
  await untilNothingWaits();

  assert.equal(await isOpen(), false);
  assert.equal(await entryCount(), before + 1);
});

test('release() appends the entry of a call that was never admitted', async () => {
  const call = settlement(admission(rootToken()));
  faults = [new StoreUnavailable('Cannot write')];

  settler.release({ ...call, outcome: 'no_effect' }, () => undefined);
  await untilNothingWaits();

  const {
    entries: [kept],
  } = await store.queryEntries({ limit: 1 });
  assert.equal(kept?.entry_id, call.entry.entry_id);
});

test('close() leaves waiting settlements to recovery', async () => {
  const call = await admitted();
  faults = Array.from({ length: 100 }, () => new StoreUnavailable('Cannot write'));
  await settler.settle(call);

  settler.close();
  await untilNothingWaits();

  assert.equal(await isOpen(), true);
});

test('insist() repeats a change until the store takes it', async () => {
  const answers = [new StoreUnavailable('away'), new OutcomeUnknown('lost')];

  const result = await settler.insist(async () => {
    const fault = answers.shift();
    if (fault) throw fault;
    return 'kept';
  });

  assert.equal(result, 'kept');
  assert.equal(settler.waiting(), 0);
});

test('insist() rejects at once on a defect, and on a store failure when the service stops', async () => {
  const defect = new Error('a defect');
  const away = new StoreUnavailable('away');
  let tries = 0;

  await assert.rejects(
    settler.insist(() => Promise.reject(defect)),
    defect,
  );
  const waiting = settler.insist(() => {
    tries += 1;
    return Promise.reject(away);
  });
  settler.close();
  await assert.rejects(waiting, away);
  assert.ok(tries <= 2);
});

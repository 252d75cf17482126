import assert from 'node:assert/strict';
import { test } from 'vitest';
import { atEnd } from '../../../test/support/ends.ts';
import { entry } from '../../../test/support/fixtures.ts';
import type { EntryRecord } from '../../domain/log/entry.ts';
import { foldPeaks } from '../../domain/log/merkle.ts';
import { generateJwk } from '../../keyring/es256.ts';
import { openKeyring } from '../../keyring/keyring.ts';
import { createLog } from '../../log.ts';
import { type Platform, system } from '../../platform.ts';
import type { SignedReceipt } from '../../protocol/invocation.ts';
import { openStore } from '../../storage/open.ts';
import { openRowLogs } from '../rows/row-check.ts';
import { createReceiptSigner } from './receipts.ts';

async function signer(platform: Pick<Platform, 'turn'> = system) {
  const store = await openStore('memory:', {});
  atEnd(() => store.close());
  const keys = {
    tokenKeys: JSON.stringify([generateJwk()]),
    logKeys: JSON.stringify([generateJwk()]),
  };
  const keyring = openKeyring(keys, { now: () => new Date(), onWarning: assert.fail });
  const log = createLog('silent', { write: () => undefined });
  const [definition, logs] = [{ id: 'desk' }, await openRowLogs(store)];
  const parts = { definition, store, keyring, log, platform, logs };
  return { store, logs, receipts: createReceiptSigner(parts) };
}

const named = (index: number) => {
  return { entry_id: `ent_${index}`, leaf_hash: index.toString(16).padStart(64, '0') };
};

test('sign() signs what one turn asked for with one signature, and at most 1,024 receipts with each', async () => {
  const { receipts } = await signer();

  const asked = Array.from({ length: 2_049 }, (_, index) => receipts.sign(named(index)));
  const signed = (await Promise.all(asked)) as SignedReceipt[];
  const next = await receipts.sign(named(0));

  const sizes = new Map<string, number>();
  for (const { signature } of signed) sizes.set(signature, (sizes.get(signature) ?? 0) + 1);
  assert.deepEqual([...sizes.values()], [1_024, 1_024, 1]);
  assert.deepEqual(
    [0, 1_023, 1_024, 2_048].map((at) => signed[at]?.leaf_index),
    [0, 1_023, 0, 0],
  );
  assert.equal(Math.max(...signed.map(({ path }) => path.length)), 10);
  assert.ok(next && !sizes.has(next.signature));
  assert.deepEqual([next.tree_size, next.path], [1, []]);
});

test('signStored() signs only what the current log has', async () => {
  const { store, receipts } = await signer();
  const kept = entry({});
  const leaf_hash = Buffer.from(kept.leaf_hash).toString('hex');

  const before = await receipts.signStored({ entry_id: kept.entry_id, leaf_hash });
  await store.append([kept]);
  const after = await receipts.signStored({ entry_id: kept.entry_id, leaf_hash });
  const unreadable = await receipts.signStored({ entry_id: kept.entry_id, leaf_hash: 'none' });

  assert.deepEqual([before, unreadable], [undefined, undefined]);
  assert.equal(after?.tree_size, 1);
});

const receiptOf = ({ entry_id, leaf_hash }: EntryRecord) => {
  return { entry_id, leaf_hash: Buffer.from(leaf_hash).toString('hex') };
};

/** An operator accepts a loss; the first log has an entry, and nothing signed. */
async function brokenLog(platform: Pick<Platform, 'turn'> = system) {
  const { store, ...rest } = await signer(platform);
  const [before, after] = [entry(), entry()];
  await store.append([before]);
  const begin = async () => {
    assert.ok(await store.beginOrigin(await store.sequence(), 'next', entry()));
    await store.append([after]);
  };
  return { store, ...rest, before, after, begin };
}

test('sign() promises an entry of an ended log to no later log', async () => {
  const { receipts, logs, before, after, begin } = await brokenLog();
  await begin();
  await logs.look();

  assert.equal(await receipts.sign(receiptOf(before)), undefined);
  assert.equal((await receipts.sign(receiptOf(after)))?.log_id, 'next');
});

test('sign() signs no entry where the process learns of a new log before it signs', async () => {
  let sign = () => {};
  const turn = (run: () => void) => {
    sign = run;
  };
  const { receipts, logs, before, begin } = await brokenLog({ turn });
  await begin();

  const asked = receipts.sign(receiptOf(before));
  await logs.look();
  sign();

  assert.equal(await asked, undefined);
});

test('sign() promises nothing of an ended log whose last checkpoint it cannot read any more', async () => {
  const { store, receipts, after, begin } = await brokenLog();
  await begin();
  const { first, size, peaks } = await store.sequence();
  const facts = { size, root: foldPeaks(peaks), created_at: store.now() };
  const signed = { signature: 'a..b', note: '' };
  const sequence = first + 1;
  assert.ok(
    await store.insertCheckpoint({ checkpoint_id: 'ckpt-1', sequence, ...facts, ...signed }),
  );

  assert.equal(await receipts.sign(receiptOf(after)), undefined);
});

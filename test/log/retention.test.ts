import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readRootText } from '../../src/domain/log/checkpoint.ts';
import { hashLeaf } from '../../src/domain/log/merkle.ts';
import { verifyInclusion } from '../../src/domain/log/merkle-proof.ts';
import { fromHex, sha256, toHex } from '../../src/domain/wire/hash.ts';
import { system } from '../../src/platform.ts';
import type { AuditEntry, CheckpointDetail } from '../../src/protocol/audit.ts';
import { eraseDue, startRetention } from '../../src/service/log/retention.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { closedAtEnd } from '../support/ends.ts';
import { admitCall, FAR, insert, keyOf, rootToken, settlement } from '../support/fixtures.ts';
import { ALICE, OPERATOR, STORES, type TestService, testService } from '../support/world.ts';
import { calmDesk, sealed } from './support.ts';

const HOUR = 3_600_000;
const FLIGHT = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

async function trail(service: TestService, bearer: string): Promise<AuditEntry[]> {
  return (await service.ask('POST', '/svc/audit?include=leaf', { bearer })).body.entries;
}

function isProved({ inclusion_proof: proof, merkle_root, tree_size }: CheckpointDetail): boolean {
  assert.ok(proof);
  return verifyInclusion({
    index: proof.leaf_index,
    size: tree_size,
    leaf: fromHex(proof.leaf_hash) as Uint8Array,
    proof: proof.hashes.map((hash) => fromHex(hash) as Uint8Array),
    root: readRootText(merkle_root) as Uint8Array,
  });
}

for (const store of STORES) {
  test(`retention erases the contents of a class of entries, and every proof still verifies, on ${store.name}`, async () => {
    const { url } = await store.open();
    const service = await testService({ store: url, definition: calmDesk });
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const { body: call } = await service.invoke(token, 'search_flights', FLIGHT);
    const before = await sealed(service);
    const after = (days: number) => new Date(service.store.now().getTime() + days * 24 * HOUR);
    const policy = { low_risk_success: 'P1D' } as const;

    // The capability keeps its entries for 90 days, which counts before the word of the class.
    await eraseDue(service.store, policy, after(2));
    assert.equal((await trail(service, ALICE)).length, 1);
    await eraseDue(service.store, policy, after(91));

    assert.deepEqual(await trail(service, ALICE), []);
    const [entry] = await trail(service, OPERATOR);
    assert.equal(entry?.erased, 'contents');
    assert.equal(entry?.leaf_hash, call.audit.leaf_hash);
    assert.deepEqual([entry?.actor_key, entry?.capability, entry?.leaf], [null, null, undefined]);
    const acts = await service.ask('POST', '/svc/audit?entry_type=issuance', { bearer: ALICE });
    assert.equal(acts.body.entries[0].erased, undefined);
    for (const id of [before.checkpoint_id, (await sealed(service)).checkpoint_id]) {
      const path = `/svc/checkpoints/${id}?include_proof=true&leaf_hash=${call.audit.leaf_hash}`;
      assert.ok(isProved((await service.ask('GET', path)).body));
    }
    service.advance(91 * 24 * HOUR);
    const { findings, erased } = await checkStore(service.store);
    assert.deepEqual([findings, erased], [[], 1]);
  });

  test(`personal fields are erased alone, and a holder of a copy can still prove it, on ${store.name}`, async () => {
    const { url } = await store.open();
    const service = await testService({ store: url, definition: calmDesk });
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    await service.invoke(token, 'search_flights', FLIGHT, {
      fields: { client_reference_id: 'for Ann Lee' },
    });
    const [before] = await trail(service, ALICE);
    const now = new Date(service.store.now().getTime() + HOUR);

    await eraseDue(service.store, { personal: 'PT1H' }, now);

    const [after] = await trail(service, OPERATOR);
    assert.equal(after?.erased, 'personal');
    assert.equal(after?.capability, 'search_flights');
    assert.equal(after?.client_reference_id, null);
    assert.equal(after?.leaf, before?.leaf);
    const leaf = Buffer.from(after?.leaf ?? '', 'base64');
    assert.equal(leaf.includes('Ann Lee') || leaf.includes('alice'), false);
    assert.equal(toHex(hashLeaf(leaf)), after?.leaf_hash);
    const kept = Buffer.from(before?.personal ?? '', 'base64');
    assert.equal(JSON.parse(kept.toString()).client_reference_id, 'for Ann Lee');
    assert.equal(JSON.parse(leaf.toString()).personal, `sha256:${toHex(sha256(kept))}`);
    assert.deepEqual((await checkStore(service.store)).findings, []);
  });
}

test('eraseDue() erases nothing without configuration, or when no entry is old enough', async () => {
  const service = await testService({ definition: calmDesk });
  await service.issue(ALICE, { scope: ['travel.search'] });
  const before = await service.store.scanEntries(0, 10);
  const now = service.store.now();

  await eraseDue(service.store, {}, new Date(now.getTime() + 1_000 * HOUR));
  await eraseDue(service.store, { high_risk_success: 'P1D', personal: 'P1D' }, now);

  assert.deepEqual(await service.store.scanEntries(0, 10), before);
});

test('startRetention() erases by itself, in one of two processes', async () => {
  const service = await testService({ definition: calmDesk });
  await service.issue(ALICE, { scope: ['travel.search'] });
  let turns = 0;
  let done = () => {};
  const twice = new Promise<void>((resolve) => {
    done = resolve;
  });
  const store = {
    ...service.store,
    erase: async (...policy: Parameters<typeof service.store.erase>) => {
      const reached = await service.store.erase(...policy);
      turns += 1;
      // Two turns of two policies each: the class, and what entries say themselves.
      if (turns === 4) done();
      return reached;
    },
  };
  service.advance(25 * HOUR);
  const log = { info: () => {}, error: assert.fail } as never;
  const policy = { high_risk_success: 'P1D' } as const;

  const both = ['one', 'other'].map((instanceId) =>
    startRetention({ platform: system, store, policy, instanceId, log, intervalMs: 20 }),
  );
  await twice;
  await Promise.all(both.map((retention) => retention.stop()));

  const [entry] = await service.store.scanEntries(0, 1);
  assert.equal(entry?.leaf, undefined);
});

test('startRetention() deletes expired idempotency keys, even when no entry is to be erased', async () => {
  const store = closedAtEnd(await openSqlite(':memory:', { clock: () => FAR }));
  const token = await insert(store, rootToken());
  const call = await admitCall(store, token, { idempotency: keyOf(token, 'key') });
  await store.settle(settlement(call));
  let retention: ReturnType<typeof startRetention> | undefined;
  const forgotten = new Promise<number>((resolve) => {
    const forgetKeys = async (...asked: Parameters<typeof store.forgetKeys>) => {
      const count = await store.forgetKeys(...asked);
      resolve(count);
      return count;
    };
    const log = { info: () => {}, error: assert.fail } as never;
    const told = { policy: {}, instanceId: 'one', log, intervalMs: 20 };
    retention = startRetention({ platform: system, store: { ...store, forgetKeys }, ...told });
  });

  assert.equal(await forgotten, 1);

  await retention?.stop();
});

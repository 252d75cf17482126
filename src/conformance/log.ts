/**
 * The log: what a caller finds of its own trail, and what it can prove about it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readRootText } from '../domain/log/checkpoint.ts';
import { hashLeaf } from '../domain/log/merkle.ts';
import { isConsistent, verifyInclusion } from '../domain/log/merkle-proof.ts';
import { fromHex, toHex } from '../domain/wire/hash.ts';
import { readKeys } from '../verify/keys.ts';
import { verifySignedReceipt } from '../verify/receipt.ts';
import { AGENT_KEY, HUMAN_KEY, OPERATOR_KEY, type Scenarios } from './desk.ts';

const bytes = (hex: string) => fromHex(hex) as Uint8Array;

export const LOG_SCENARIOS: Scenarios = {
  'the trail has what was done and what was refused, newest first': async (desk) => {
    const { token } = await desk.rootToken(['travel.extras']);
    const task_id = `trail-${Date.now()}-${Math.trunc(performance.now() * 1_000)}`;
    await desk.success(token, 'buy_lounge_pass', { task_id });
    await desk.refused(token, 'find_traveler', { task_id });
    const { entries } = await desk.answer('audit.query', { task_id }, HUMAN_KEY);
    const page = await desk.answer('audit.query', { task_id, limit: 1 }, HUMAN_KEY);
    const cursor = page.next_cursor;
    const rest = await desk.answer('audit.query', { task_id, limit: 1, cursor }, HUMAN_KEY);

    assert.deepEqual(
      entries.map(({ capability, event_class, state, failure_type }) => [
        capability,
        event_class,
        state,
        failure_type,
      ]),
      [
        ['find_traveler', 'low_risk_failure', 'refused', 'scope_insufficient'],
        ['buy_lounge_pass', 'high_risk_success', 'completed', null],
      ],
    );
    assert.deepEqual([...page.entries, ...rest.entries], entries);
  },

  'no caller sees the trail of another': async (desk) => {
    const { token } = await desk.rootToken(['travel.extras']);
    const { invocation_id } = await desk.success(token, 'buy_lounge_pass');
    const { entries } = await desk.answer('audit.query', { invocation_id }, AGENT_KEY);

    assert.deepEqual(entries, []);
  },

  'a sealed checkpoint proves the entry that an answer named': async (desk) => {
    const { token } = await desk.rootToken(['travel.extras']);
    const { audit, invocation_id } = await desk.success(token, 'buy_lounge_pass');
    const { checkpoint } = await desk.answer('operator.checkpoints', {}, OPERATOR_KEY);
    const leaf_hash = audit?.leaf_hash ?? '';
    const detail = await desk.answer('checkpoints.get', {
      checkpoint_id: checkpoint.checkpoint_id,
      include_proof: true,
      leaf_hash,
    });
    const trail = { invocation_id, include: 'leaf' } as const;
    const { entries } = await desk.answer('audit.query', trail, HUMAN_KEY);

    const proof = detail.inclusion_proof;
    assert.ok(proof);
    const claim = {
      index: proof.leaf_index,
      size: detail.tree_size,
      leaf: bytes(leaf_hash),
      proof: proof.hashes.map(bytes),
      root: readRootText(detail.merkle_root) as Uint8Array,
    };
    assert.ok(verifyInclusion(claim));
    assert.ok(!verifyInclusion({ ...claim, index: claim.index + 1 }));
    assert.equal(toHex(hashLeaf(Buffer.from(entries[0]?.leaf ?? '', 'base64'))), leaf_hash);
  },

  'a receipt is signed where the caller asks for it, also of a refusal': async (desk) => {
    const { token } = await desk.rootToken(['travel.extras']);
    const { svc_discovery } = await desk.answer('discovery', {});
    const keys = readKeys({ jwks: await desk.answer('jwks', {}), pinned: 'all' });
    assert.ok('keys' in keys);
    const ground = { keys, now: new Date(), serviceId: svc_discovery.service_id };
    const verdictOf = async (receipt: unknown) =>
      (await verifySignedReceipt(receipt, ground)).verdict;
    const prefer = 'receipt=signed';

    const plain = await desk.success(token, 'buy_lounge_pass');
    const signed = await desk.success(token, 'buy_lounge_pass', { prefer });
    const { body: refusal } = await desk.invoke(token, 'find_traveler', { prefer });

    assert.deepEqual(Object.keys(plain.audit ?? {}), ['entry_id', 'leaf_hash']);
    assert.equal(await verdictOf(signed.audit), 'verified');
    assert.equal(await verdictOf(refusal.audit), 'verified');
    assert.equal(await verdictOf({ ...signed.audit, leaf_hash: '00'.repeat(32) }), 'failed');
  },

  'a later checkpoint extends an earlier one': async (desk) => {
    const { token } = await desk.rootToken(['travel.extras']);
    const seal = () => desk.answer('operator.checkpoints', {}, OPERATOR_KEY);
    await desk.success(token, 'buy_lounge_pass');
    const { checkpoint: earlier } = await seal();
    await desk.success(token, 'buy_lounge_pass');
    const { checkpoint: later } = await seal();
    const { checkpoints } = await desk.answer('checkpoints.list', { limit: 2 });
    const { consistency_proof: proof } = await desk.answer('checkpoints.get', {
      checkpoint_id: later.checkpoint_id,
      consistency_from: earlier.checkpoint_id,
    });

    assert.equal(checkpoints.length, 2);
    assert.ok(proof);
    assert.ok(
      isConsistent({
        from: proof.from_size,
        to: proof.to_size,
        proof: proof.hashes.map(bytes),
        fromRoot: readRootText(earlier.merkle_root) as Uint8Array,
        toRoot: readRootText(later.merkle_root) as Uint8Array,
      }),
    );
  },
};

/**
 * Races for decisions and turns: one grant a request, one request a question, no child that outlives
 * its parent's revocation, each job and each notification for one, each entry in one place.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import type { ApprovalRecord } from '../../src/storage/port/records.ts';
import type { Store } from '../../src/storage/port/store.ts';
import {
  admission,
  approval,
  at,
  childToken,
  delivery,
  entry,
  grantFor,
  HOUR,
  happened,
  insert,
  newId,
  rootToken,
} from '../support/fixtures.ts';
import { decisionOn } from './cases/approvals/decisions.ts';
import { checkpoint } from './cases/tree.ts';
import { grantOf, livingCount } from './observe.ts';
import { patiently, type Races, raceOf, type Stores, storeOf } from './race.ts';

export const APPROVAL_RACES: Races = {
  'approve() yields one grant to racing approvers, for each of twenty requests': async (stores) => {
    const token = await insert(stores[0], rootToken());
    for (let round = 0; round < 20; round++) {
      const request = approval();
      await stores[0].requestApproval(request, entry(), []);
      const grants = Array.from({ length: 32 }, () => grantFor(request));

      const results = await raceOf(stores, grants.length, (store, caller) => {
        const approver = `human:approver-${caller}@example.com`;
        return store.approve(decisionOn(request, { approver, grant: grants[caller] }));
      });

      const kept = await raceOf(stores, grants.length, (store, caller) =>
        grantOf(store, token.token_id, grants[caller]?.grant_id ?? ''),
      );
      assert.equal(results.filter((result) => result === 'approved').length, 1);
      assert.equal(kept.filter((grant) => grant !== undefined).length, 1);
      assert.notEqual(kept[results.indexOf('approved')], undefined);
    }
  },

  'approve() yields one grant to racing approvers of a quorum': async (stores) => {
    for (let round = 0; round < 10; round++) {
      const request = approval({ approvals_required: 3 });
      await stores[0].requestApproval(request, entry(), []);

      const results = await raceOf(stores, 16, (store, caller) =>
        approveUntilDecided(store, request.approval_request_id, `human:${caller}@example.com`),
      );

      assert.equal(results.filter((result) => result === 'approved').length, 1);
      assert.equal(results.filter((result) => result === 'counted').length, 2);
      const decided = await stores[0].loadApproval(request.approval_request_id);
      assert.equal(new Set(decided?.approvals.map(({ approver }) => approver)).size, 3);
    }
  },

  'approve() and deny() racing decide once': async (stores) => {
    for (let round = 0; round < 10; round++) {
      const request = approval();
      const { approval_request_id } = request;
      await stores[0].requestApproval(request, entry(), []);

      const results = await raceOf(stores, 16, (store, caller): Promise<string> => {
        const decision = decisionOn(request, { approver: `human:${caller}@example.com` });
        if (caller % 2 === 0) return store.approve({ ...decision, grant: grantFor(request) });
        const decided_by = decision.approver;
        return store.deny({ ...decision, approval_request_id, decided_by, reason: 'no' });
      });

      const decided = results.filter((result) => result === 'approved' || result === 'denied');
      assert.equal(decided.length, 1);
      assert.equal((await stores[0].loadApproval(approval_request_id))?.status, decided[0]);
    }
  },

  'approve() happens before the revocation of its actor, or not at all': async (stores) => {
    for (let round = 0; round < 20; round++) {
      const request = approval({ approvals_required: 9 });
      const { token_id: actor } = await insert(stores[0], rootToken());
      await stores[0].requestApproval(request, entry(), []);

      const results = await raceOf(stores, 8, async (store, caller) => {
        const approver = `human:${caller}@example.com`;
        if (caller === 4) return typeof (await store.revokeToken(actor, at(0), () => entry()));
        for (let approvalsSeen = 0; ; approvalsSeen += 1) {
          const result = await store.approve(
            decisionOn(request, { actor, approver, approvalsSeen }),
          );
          if (result !== 'stale') return result;
        }
      });

      const counted = results.filter((result) => result === 'counted').length;
      const refused = results.filter((result) => result === 'actor_revoked').length;
      assert.equal(counted + refused, 7, String(results));
      const kept = await stores[0].loadApproval(request.approval_request_id);
      assert.equal(kept?.approvals.length, counted);
      const late = decisionOn(request, { actor, approver: 'human:z', approvalsSeen: counted });
      assert.equal(await stores[0].approve(late), 'actor_revoked');
    }
  },

  'revokeToken() by two tokens of each other ends one of them': async (stores) => {
    for (let round = 0; round < 20; round++) {
      const root = await insert(stores[0], rootToken());
      const other = round % 2 === 0 ? rootToken() : childToken(root);
      const pair = [
        round % 2 === 0 ? root : await insert(stores[0], childToken(root)),
        await insert(stores[0], other),
      ].map(({ token_id }) => token_id);

      const results = await raceOf(stores, 2, async (store, caller) =>
        store.revokeToken(pair[caller] ?? '', at(0), () => entry(), { actor: pair[1 - caller] }),
      );

      assert.equal(results.filter((result) => result === 'actor_revoked').length, 1);
    }
  },

  'requestApproval() gives one request to racing callers with one question': async (stores) => {
    // The second round asks again after the first request expired, which leaves it pending.
    const question = approval({ expires_at: at(HOUR) });
    const again = { ...question, created_at: at(HOUR), expires_at: at(2 * HOUR) };
    for (const asked of [question, again]) {
      const results = await raceOf(stores, 50, (store) =>
        store.requestApproval({ ...asked, approval_request_id: newId('apr_') }, entry(), []),
      );
      assert.equal(new Set(results.map((kept) => happened(kept).approval_request_id)).size, 1);
    }

    assert.equal((await stores[0].listApprovals({ now: at(0), limit: 100 })).requests.length, 2);
    assert.equal((await stores[0].sequence()).size, 2);
  },

  'requestApproval() inserts exactly as many requests as the bounds leave to racing callers':
    async (stores) => {
      const bounds = { chain: 9, root: 25, bytes: 2_500 };
      const questions = Array.from({ length: 120 }, (_, caller) =>
        approval({ delegate: `agent:${caller % 3}`, kept_bytes: 100 }),
      );

      const results = await raceOf(stores, questions.length, (store, caller) =>
        store.requestApproval(questions[caller] as ApprovalRecord, entry(), [], { bounds }),
      );

      const inserted = questions.filter((_, caller) => {
        const result = results[caller];
        return typeof result === 'object' && !('exceeded' in result);
      });
      const perChain = [0, 1, 2].map((chain) => {
        return inserted.filter(({ delegate }) => delegate === `agent:${chain}`).length;
      });
      assert.equal(inserted.length, 25, String(perChain));
      assert.ok(Math.max(...perChain) <= 9, String(perChain));
      const kept = await stores[0].listApprovals({ now: at(0), limit: 200 });
      assert.equal(kept.requests.length, 25);
    },

  'expireApprovals() and takeDeliveries() give each row to one caller': async (stores) => {
    for (let i = 0; i < 30; i++) {
      await stores[0].requestApproval(approval({ expires_at: at(HOUR) }), entry(), []);
    }
    const expire = (store: Store) =>
      store.expireApprovals(at(HOUR), 10, (request) => ({
        entry: entry(),
        deliveries: [delivery(request, { event: 'expired' })],
      }));

    const expired = await raceOf(stores, 10, expire);
    // Racing callers may skip each other's rows; a later call finds the rest.
    for (let rest = await expire(stores[0]); rest.length > 0; rest = await expire(stores[0])) {
      expired.push(rest);
    }
    const taken = await raceOf(stores, 10, (store) =>
      store.takeDeliveries(at(HOUR), at(2 * HOUR), 10),
    );

    const expiredIds = expired.flat().map(({ approval_request_id }) => approval_request_id);
    assert.deepEqual([expiredIds.length, new Set(expiredIds).size], [30, 30]);
    assert.equal((await stores[0].listDeliveries(100)).length, 30);
    assert.equal((await stores[0].sequence()).size, 60);
    const ids = taken.flat().map(({ delivery_id }) => delivery_id);
    assert.equal(ids.length > 0, true);
    assert.equal(new Set(ids).size, ids.length);
  },
};

export const TURN_RACES: Races = {
  'insertChild() never leaves a live child below a revoked parent': async (stores, { rounds }) => {
    const together = 50;
    for (let done = 0; done < rounds; done += together) {
      const pairs = Array.from({ length: Math.min(together, rounds - done) }, (_, pair) => pair);
      await Promise.all(pairs.map((pair) => revokeAgainstDelegation(stores, pair)));
    }
  },

  'insertChild() yields exactly childrenMax places to racing callers': async (stores) => {
    const root = await insert(stores[0], rootToken());
    const bounds = { now: at(0), childrenMax: 7 };

    const results = await raceOf(stores, 50, (store) =>
      store.insertChild(childToken(root), entry(), bounds),
    );

    assert.equal(results.filter((result) => result === 'inserted').length, 7);
    assert.equal((await stores[0].describeToken(root.token_id, 0))?.childrenCount, 7);
  },

  'lead() elects one of racing callers, turn by turn': async (stores) => {
    for (let turn = 0; turn < 10; turn++) {
      const results = await raceOf(stores, 20, (store, caller) =>
        store.lead('job', `holder-${turn}-${caller}`, at(turn), at(turn + 1)),
      );
      assert.equal(results.filter(Boolean).length, 1);
    }
  },

  'insertCheckpoint() keeps one of racing callers for each sequence': async (stores) => {
    for (const sequence of [1, 2, 3, 4, 5]) {
      const results = await raceOf(stores, 20, (store) =>
        store.insertCheckpoint(checkpoint(sequence, 0)),
      );
      assert.equal(results.filter(Boolean).length, 1);
    }
  },

  'append() by racing callers gives each entry one contiguous place': async (
    stores,
    { callers },
  ) => {
    const entries = Array.from({ length: callers }, () => [entry(), entry()]);
    await raceOf(stores, callers, async (store, caller) => {
      await patiently(() => store.append(entries[caller] ?? []));
      if (caller % 20 === 0) await storeOf(stores, caller + 1).sequence();
    });

    const heads = await Promise.all(stores.map((store) => store.sequence()));

    const stored = await stores[0].scanEntries(0, 10_000);
    assert.deepEqual([...new Set(heads.map(({ size }) => size))], [2 * callers]);
    assert.deepEqual(
      stored.map(({ sequence }) => sequence),
      stored.map((_, place) => place),
    );
    const given = entries.flat().map(({ entry_id }) => entry_id);
    assert.deepEqual(stored.map(({ entry_id }) => entry_id).sort(), given.sort());
    assert.deepEqual((await checkStore(stores[0])).findings, []);
  },
};

/** One approver that reads again while others vote first. */
async function approveUntilDecided(store: Store, id: string, approver: string): Promise<string> {
  for (;;) {
    const seen = await store.loadApproval(id);
    if (seen === undefined) throw new Error(`Cannot approve "${id}": it is not there`);
    const isLast = seen.approvals.length === seen.approvals_required - 1;
    const quorum = isLast ? { grant: grantFor(seen) } : {};
    const approvalsSeen = seen.approvals.length;
    const result = await store.approve(decisionOn(seen, { approver, approvalsSeen, ...quorum }));
    if (result !== 'stale') return result;
  }
}

/** In either commit order, no token below the revoked one is alive at the end. */
async function revokeAgainstDelegation(stores: Stores, caller: number): Promise<void> {
  const [mine, other] = [storeOf(stores, caller), storeOf(stores, caller + 1)];
  const root = rootToken();
  const parent = childToken(root);
  const child = childToken(parent);
  const [revoked, before] = caller % 2 === 0 ? [root, 1] : [parent, 0];
  await patiently(() => insert(mine, root));
  await patiently(() => insert(mine, parent));

  const bounds = { now: at(1), childrenMax: 9 };
  const [revocation, inserted] = await Promise.all([
    patiently(() => other.revokeToken(revoked.token_id, at(1), () => entry())),
    patiently(() => mine.insertChild(child, entry(), bounds)),
  ]);

  assert.equal(happened(revocation)?.wasAlive, true);
  const below = await livingCount(other, revoked.token_id, at(1));
  const admitted = await patiently(() => mine.admit(admission(child)));
  assert.equal(admitted.admitted, false, 'a live child of a revoked parent');
  if (inserted === 'inserted') {
    const described = await mine.describeToken(child.token_id, 0);
    assert.equal(
      described?.lineage.some(({ revoked_at }) => revoked_at !== undefined),
      true,
    );
    assert.equal(below, before + 1, 'the child came first, so it was ended too');
  } else {
    assert.equal(inserted, 'parent_revoked');
    assert.equal(below, before);
  }
}

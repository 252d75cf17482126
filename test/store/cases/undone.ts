/**
 * Cases on transitions that throw at their end: the entry, which is written last, cannot be stored.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { EntryRecord } from '../../../src/domain/log/entry.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  approval,
  at,
  cents,
  childToken,
  entry,
  freezeOf,
  grantFor,
  insert,
  rootToken,
  unstorableEntry,
} from '../../support/fixtures.ts';
import { connected } from '../../support/sign-in.ts';
import type { Cases } from '../cases.ts';
import { same, unchanged, type Watched } from '../observe.ts';
import { decisionOn } from './approvals/decisions.ts';

/** A transition with its entry, and its outcome when it happens. */
interface Step {
  readonly watched?: Watched;
  readonly happens: unknown;
  take(entry: EntryRecord): Promise<unknown>;
  /** What `observe` does not show. */
  see?(): Promise<unknown>;
}

const STEPS: Readonly<Record<string, (store: Store) => Promise<Step>>> = {
  async insertChild(store) {
    const root = await insert(store, rootToken({ budget: cents(100) }));
    const child = childToken(root, { budget: cents(50) });
    const bounds = { now: at(0), childrenMax: 1 };
    return {
      watched: { tokens: [root.token_id, child.token_id] },
      happens: 'inserted',
      take: (logged) => store.insertChild(child, logged, bounds),
    };
  },

  async approve(store) {
    const { token_id } = await insert(store, rootToken());
    const request = approval({ token_id });
    await store.requestApproval(request, entry(), []);
    const grant = grantFor(request);
    return {
      watched: { tokens: [token_id], grants: [grant.grant_id] },
      happens: 'approved',
      take: (logged) => store.approve(decisionOn(request, { grant, entry: logged })),
    };
  },

  async freeze(store) {
    return { happens: 'frozen', take: (logged) => store.freeze(freezeOf(), logged) };
  },

  async connect(store) {
    const first = connected();
    await store.connect(first, undefined, entry());
    const next = connected({ sealed: 'kid.next' });
    return {
      happens: true,
      take: (logged) => store.connect(next, first.connection_id, logged),
      see: () => store.findConnected(first),
    };
  },
};

export const UNDONE_CASES: Cases = Object.fromEntries(
  Object.entries(STEPS).map(([name, prepare]) => [
    `${name}() leaves nothing when its entry cannot be stored, and can be repeated`,
    async (store) => {
      const { watched = { tokens: [] }, happens, take, see } = await prepare(store);
      const before = await see?.();

      await unchanged(store, watched, () => assert.rejects(take(unstorableEntry())));

      same(await see?.(), before);
      assert.equal(await take(entry()), happens);
    },
  ]),
);

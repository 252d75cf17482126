import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { fillLedger } from '../../../test/log/small-ledger.ts';
import { closedAtEnd } from '../../../test/support/ends.ts';
import {
  admitCall,
  FAR,
  insert,
  rootToken,
  settlement,
  usd,
} from '../../../test/support/fixtures.ts';
import { STORES } from '../../../test/support/world.ts';
import { openStore } from '../open.ts';
import type { TokenState } from '../port/ledger-store.ts';
import type { Store } from '../port/store.ts';
import { checkStore } from './fsck.ts';

/** More than the small ledger has. */
const ALL = 1_000;

/** The store, with every token as `edit` shows it. */
function edited(store: Store, edit: (state: TokenState) => TokenState): Store {
  const readLedger: Store['readLedger'] = (from, see) =>
    store.readLedger(from, { ...see, token: (state) => see.token(edit(state)) });
  return { ...store, readLedger };
}

for (const place of STORES) {
  describe(place.name, () => {
    async function ledgerStore(): Promise<Store> {
      const { url } = await place.open();
      const store = closedAtEnd(await openStore(url));
      await fillLedger(store);
      // What waits for its place is not erased yet.
      await store.sequence();
      return store;
    }

    test('checkStore() says what it cannot compare once personal fields were erased', async () => {
      const store = await ledgerStore();
      await store.erase({ what: 'personal', until: FAR, limit: ALL });

      const { findings, ledger } = await checkStore(store);

      assert.deepEqual(findings, []);
      assert.deepEqual([...ledger.notes].sort(), [
        '1 debts, because entries that may explain them were erased',
        '1 freezes, because entries of operators were erased',
        '1 grants whose entry was erased, except their existence and their uses',
        '2 approval requests whose decision was erased',
        '3 approval requests whose entry was erased, except that they were requested',
        '4 tokens whose issuance was erased, except that they were issued',
      ]);
    });

    test('checkStore() finds spending forgotten, also when personal fields were erased', async () => {
      const store = await ledgerStore();
      await store.erase({ what: 'personal', until: FAR, limit: ALL });
      const forgetful = edited(store, ({ budget, ...state }) => ({
        ...state,
        budget: budget && { ...budget, consumed: 0n },
      }));

      const { findings } = await checkStore(forgetful);

      assert.deepEqual(
        findings.map(({ what }) => what),
        ['budget', 'budget'],
      );
      // Of the two calls of unknown outcome either may have been given back.
      assert.match(
        findings[0]?.detail ?? '',
        /0\.00 USD are spent, the log says 0\.05 USD to 0\.25/,
      );
    });

    test('checkStore() accepts the records of calls whose entries were erased, at most one row for each', async () => {
      const store = await ledgerStore();
      const erasure = { what: 'contents', eventClass: 'low_risk_success' } as const;
      await store.erase({ ...erasure, until: FAR, limit: ALL });
      const { findings, ledger } = await checkStore(store);
      assert.deepEqual(findings, []);
      assert.ok(ledger.notes.some((note) => note.includes('entries of type "issuance"')));

      const forgetful = edited(store, ({ budget, ...state }) => ({
        ...state,
        budget: budget && { ...budget, consumed: 0n },
      }));
      let added = false;
      const crowded: Store = {
        ...store,
        readLedger: (from, see) =>
          store.readLedger(from, {
            ...see,
            token(state) {
              see.token(state);
              if (added) return;
              added = true;
              see.token({ token: rootToken(), children: 0 });
            },
          }),
      };

      const forgotten = await checkStore(forgetful);
      const more = await checkStore(crowded);

      assert.deepEqual([...new Set(forgotten.findings.map(({ what }) => what))], ['budget']);
      assert.deepEqual(
        more.findings.map(({ what, detail }) => [what, detail]),
        [['token', 'no entry says that it was made']],
      );
    });

    test('checkStore() finds nothing while calls are admitted, settled and reconciled', async () => {
      const store = await ledgerStore();
      const root = await insert(store, rootToken({ budget: { currency: 'USD', max_amount: 1e4 } }));
      let isOver = false;
      const work = async () => {
        while (!isOver) {
          const call = await admitCall(store, root, {
            charge: usd(1n),
            intent: { capability: 'search' },
          });
          await store.settle(settlement(call));
        }
      };
      const working = Promise.all([work(), work(), work()]);

      for (let round = 0; round < 5; round++) {
        assert.deepEqual((await checkStore(store)).findings, []);
      }

      isOver = true;
      await working;
    });
  });
}

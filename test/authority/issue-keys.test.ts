/**
 * Issuance while keys change: a row becomes durable first, and its token is signed afterwards.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { rotateKey } from '../../src/keyring/key-folder.ts';
import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { temporaryFolder } from '../support/ends.ts';
import { ALICE, STORES, type TestService, testService } from '../support/world.ts';
import { askToken, permissionsOf, watched } from './support.ts';

const SEARCH = { scope: ['travel.search'] };

interface Rig {
  readonly service: TestService;
  /** Writes the next token key, which signs at once. */
  rotate(): void;
  withdrawFirst(): void;
  /** Runs when the next row is durable, before its issuance goes on. */
  whenStored(run: () => void): void;
}

async function start(open: (typeof STORES)[number]['open']): Promise<Rig> {
  const keys = temporaryFolder();
  let next: (() => void) | undefined;
  const inserted = () => {
    next?.();
    next = undefined;
  };
  const wrap = (store: Store): Store => ({
    ...store,
    insertRoot: (...row) => store.insertRoot(...row).then(inserted),
    insertChild: (...row) =>
      store.insertChild(...row).then((outcome) => {
        inserted();
        return outcome;
      }),
  });
  const { url } = await open();
  const service = await testService({ store: url, keys, wrap });
  return {
    service,
    rotate() {
      rotateKey(keys, 'token', { now: service.store.now(), leadMs: 0 });
      service.refreshKeys();
    },
    withdrawFirst() {
      const path = join(keys, 'token-0001.json');
      const content = JSON.parse(readFileSync(path, 'utf8'));
      writeFileSync(path, JSON.stringify({ ...content, compromised: true }));
      service.refreshKeys();
    },
    whenStored(run) {
      next = run;
    },
  };
}

function headerOf(token: string): { kid: string } {
  return JSON.parse(Buffer.from(token.split('.')[0] as string, 'base64url').toString());
}

for (const { name, open } of STORES) {
  describe(name, () => {
    test('tokens.issue signs with the key that the row names, when the next key signs already', async () => {
      const { service, rotate, whenStored } = await start(open);
      const before = await service.issue(ALICE, SEARCH);

      whenStored(rotate);
      const during = await service.issue(ALICE, SEARCH);
      const after = await service.issue(ALICE, SEARCH);

      const kids = [before, during, after].map(({ token }) => headerOf(token).kid);
      assert.equal(kids[1], kids[0]);
      assert.notEqual(kids[2], kids[0]);
      const { token: row } = await service.store.load({ tokenId: during.token_id });
      assert.equal(row?.kid, kids[1]);
      assert.equal((await permissionsOf(service, during.token)).status, 200);
    });

    test('tokens.issue signs nothing with a key that was withdrawn after the row was stored', async () => {
      const { service, rotate, withdrawFirst, whenStored } = await start(open);
      await service.issue(ALICE, SEARCH);

      whenStored(() => {
        rotate();
        withdrawFirst();
      });
      const { result, entries } = await watched(service.store, () =>
        askToken(service, ALICE, SEARCH),
      );

      assert.equal(result.status, 503);
      assert.match(result.body.failure.detail, /was just withdrawn; ask again$/);
      assert.equal(result.body.failure.retry, true);
      assert.equal(result.text?.includes('eyJ'), false);
      // The row was durable before, so its entry stays. No text exists that could be presented.
      assert.deepEqual(
        entries.map(({ entry_type, state }) => [entry_type, state]),
        [['issuance', 'completed']],
      );
      const again = await service.issue(ALICE, SEARCH);
      assert.equal((await permissionsOf(service, again.token)).status, 200);
    });

    test('tokens.issue signs no child with a key that was withdrawn after the row was stored', async () => {
      const { service, rotate, withdrawFirst, whenStored } = await start(open);
      const { token_id: parent_token } = await service.issue(ALICE, SEARCH);

      whenStored(() => {
        rotate();
        withdrawFirst();
      });
      const { status, text } = await askToken(service, ALICE, { ...SEARCH, parent_token });

      assert.equal(status, 503);
      assert.equal(text?.includes('eyJ'), false);
    });
  });
}

test('tokens.issue signs nothing for a row that the store did not take', async () => {
  const lost = new StoreUnavailable('Cannot use the store: it is a test');
  let isLosing = false;
  const service = await testService({
    wrap: (store) => ({
      ...store,
      insertRoot: (...row) => (isLosing ? Promise.reject(lost) : store.insertRoot(...row)),
    }),
  });
  await service.issue(ALICE, SEARCH);
  isLosing = true;

  const { status, text } = await askToken(service, ALICE, SEARCH);

  assert.equal(status, 503);
  assert.equal(text?.includes('eyJ'), false);
});

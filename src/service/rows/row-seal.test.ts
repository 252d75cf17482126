import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../../test/support/ends.ts';
import { insert, rootToken } from '../../../test/support/fixtures.ts';
import { SQL_PLACES, type SqlPlace } from '../../../test/support/sql-places.ts';
import {
  folderRowKeys,
  listedRowKeys,
  type RowKeys,
  rotateRowKey,
} from '../../keyring/row-keys.ts';
import { openStore } from '../../storage/open.ts';
import type { Store } from '../../storage/port/store.ts';
import { sealStore } from './row-seal.ts';

const clock = () => new Date();
const listed = (byte: number) => listedRowKeys(Buffer.alloc(32, byte).toString('base64'), clock);

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

for (const { name, open } of SQL_PLACES) {
  describe(name, () => {
    let place: SqlPlace;
    let store: Store;
    beforeEach(async () => {
      place = await open();
      store = closedAtEnd(await openStore(place.url));
    });

    const seal = (rows: RowKeys, sealed = store) => sealStore(sealed, rows);

    test('sealStore() seals an empty store, and accepts its rows later', async () => {
      await seal(listed(1));
      await insert(store, rootToken());

      await seal(listed(1));
    });

    test('sealStore() seals once when several processes start together', async () => {
      const rows = folderRowKeys(folder, clock);
      const others = await Promise.all([openStore(place.url), openStore(place.url)]);
      const seals: unknown[] = [];

      await Promise.all([store, ...others].map((each) => seal(rows, each)));
      for (const each of [store, ...others]) {
        await each.sealRows((state) => void seals.push(state.seal));
      }

      assert.equal(new Set(seals).size, 1);
      assert.equal(typeof seals[0], 'string');
      await Promise.all(others.map((each) => each.close()));
    });

    const unsealed = () =>
      place.alter(`UPDATE ${name === 'SQLite' ? 'store' : 'meta'} SET row_seal = NULL`);

    test('sealStore() refuses rows without a seal, and does not seal them', async () => {
      await seal(listed(1));
      await insert(store, rootToken());
      await unsealed();

      for (let attempt = 0; attempt < 2; attempt++) {
        await assert.rejects(seal(listed(1)), /^Error: Cannot trust the rows of the store: /);
      }
    });

    test('sealStore() rejects when the row key was replaced', async () => {
      await seal(listed(1));

      const kid = listed(1).kid();
      await assert.rejects(seal(listed(2)), (error: Error) => {
        assert.match(error.message, /^Cannot verify any row of the store: /);
        assert.ok(error.message.includes(`"${kid}"`));
        return true;
      });
    });

    test('sealStore() renews the seal under the next key', async () => {
      const rows = folderRowKeys(folder, clock);
      await seal(rows);
      rotateRowKey(folder, { now: new Date(), leadMs: 0 });
      rows.refresh();
      await seal(rows);
      rmSync(join(folder, 'row-0001.json'));

      await seal(folderRowKeys(folder, clock));
    });

    test('sealStore() renews a seal whose key was compromised before a start', async () => {
      await seal(folderRowKeys(folder, clock));
      rotateRowKey(folder, { now: new Date(), leadMs: 0 });
      const file = join(folder, 'row-0001.json');
      const stolen = { ...JSON.parse(readFileSync(file, 'utf8')), compromised: true };
      writeFileSync(file, JSON.stringify(stolen));
      const rows = folderRowKeys(folder, clock);

      await seal(rows);
      rmSync(file);

      await seal(folderRowKeys(folder, clock));
    });
  });
}

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../../test/ends.ts';
import { SQL_PLACES, type SqlPlace } from '../../../test/sql-places.ts';
import { claimsOf } from '../../domain/authority/claims.ts';
import { digestOf } from '../../domain/wire/canonical.ts';
import {
  folderRowKeys,
  listedRowKeys,
  type RowKeys,
  rotateRowKey,
} from '../../keyring/row-keys.ts';
import { openStore } from '../../storage/open.ts';
import type { TokenRecord } from '../../storage/port/records.ts';
import { rowText } from '../../storage/port/row-forms.ts';
import { ROW_TABLES } from '../../storage/port/row-store.ts';
import type { Store } from '../../storage/port/store.ts';
import {
  at,
  binding,
  cents,
  childToken,
  entry,
  freezeOf,
  granted,
  insert,
  rootToken,
} from '../../testing/fixtures.ts';
import { type RowSealOptions, sealStore } from './row-seal.ts';

const SERVICE = 'desk';
const clock = () => new Date();
const listed = (byte: number) => listedRowKeys(Buffer.alloc(32, byte).toString('base64'), clock);

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

/** A token as the service makes it, with the digest of its claims. */
function genuine(token: TokenRecord): TokenRecord {
  return { ...token, claims_digest: digestOf(claimsOf(SERVICE, token)) };
}

/** Rows of every kind, as an older version wrote them: without a MAC. */
async function fill(store: Store): Promise<{ root: TokenRecord; child: TokenRecord }> {
  const root = await insert(store, genuine(rootToken({ budget: cents(500) })));
  const child = genuine(childToken(root));
  await store.insertChild(child, entry(), { now: at(0), childrenMax: 9 });
  await store.revokeToken(child.token_id, at(1), () => entry());
  await store.freeze(freezeOf(), entry());
  await store.append([entry()], [binding(root)]);
  await granted(store, root);
  return { root, child };
}

async function rowsOf(store: Store) {
  const pages = await Promise.all(ROW_TABLES.map((table) => store.scanRows(table, undefined, 99)));
  return pages.flatMap(({ rows }) => rows);
}

for (const { name, open } of SQL_PLACES) {
  describe(name, () => {
    let place: SqlPlace;
    let store: Store;
    beforeEach(async () => {
      place = await open();
      store = closedAtEnd(await openStore(place.url));
    });

    const seal = (rows: RowKeys, changed: Partial<RowSealOptions> = {}) =>
      sealStore({
        ...{ store, rows, serviceId: SERVICE, isKept: true, adopt: false },
        onWarning: assert.fail,
        ...changed,
      });

    test('sealStore() gives every row of an older store its MAC once', async () => {
      await fill(store);
      const rows = folderRowKeys(folder, clock);

      await seal(rows);
      const sealed = await rowsOf(store);
      await place.alter('UPDATE tokens SET mac = NULL');
      await place.alter('UPDATE bindings SET mac = NULL');
      await seal(rows);
      const after = await rowsOf(store);

      const kinds = [
        'approval',
        'binding',
        'freeze',
        'grant',
        'revocation',
        'token',
        'token',
        'vote',
      ];
      assert.deepEqual(sealed.map(({ kind }) => kind).sort(), kinds);
      for (const { kind, row, mac = '' } of sealed) {
        assert.ok(rows.isMacOf(rowText(kind, row), mac), kind);
      }
      const bare = after.filter(({ mac }) => mac === undefined).map(({ kind }) => kind);
      assert.deepEqual(bare.sort(), ['binding', 'token', 'token']);
    });

    test('sealStore() gives no MAC to a token whose columns differ from its claims', async () => {
      const { root } = await fill(store);
      await place.alter(`UPDATE tokens SET subject = 'agent:evil' WHERE depth = 0`);

      await seal(folderRowKeys(folder, clock));

      const bare = (await rowsOf(store)).filter(({ mac }) => mac === undefined);
      assert.deepEqual(
        bare.map(({ id }) => id),
        [root.token_id],
      );
    });

    test('sealStore() seals once when several processes start together', async () => {
      await fill(store);
      const rows = folderRowKeys(folder, clock);
      const others = await Promise.all([openStore(place.url), openStore(place.url)]);

      await Promise.all([store, ...others].map((each) => seal(rows, { store: each })));

      assert.ok((await rowsOf(store)).every(({ mac }) => mac !== undefined));
      await Promise.all(others.map((each) => each.close()));
    });

    const unsealed = () =>
      place.alter(`UPDATE ${name === 'SQLite' ? 'store' : 'meta'} SET row_seal = NULL`);

    test('sealStore() makes no new MACs after the seal was removed', async () => {
      const rows = folderRowKeys(folder, clock);
      await fill(store);
      await seal(rows);
      await place.alter('UPDATE tokens SET mac = NULL');
      await unsealed();

      await assert.rejects(seal(rows), /authenticated once, and the store has no seal any more/);

      const bare = (await rowsOf(store)).filter(({ mac }) => mac === undefined);
      assert.equal(bare.length, 2);
      assert.equal(readdirSync(folder).filter((file) => file.startsWith('row-sealed-')).length, 1);
    });

    test('sealStore() refuses a store with another id under keys that sealed one', async () => {
      const rows = folderRowKeys(folder, clock);
      await seal(rows);
      await fill(store);
      await unsealed();
      const renamed = Object.assign(Object.create(store) as Store, { logId: 'made up' });

      await assert.rejects(seal(rows, { store: renamed }), /WRIT_ADOPT_ROWS=once/);
      assert.ok((await rowsOf(store)).every(({ mac }) => mac === undefined));
    });

    test('sealStore() needs the permission of an operator when keys have no folder', async () => {
      await seal(listed(1));
      await unsealed();
      await fill(store);

      await assert.rejects(seal(listed(1)), /start once with WRIT_ADOPT_ROWS=once/);
      assert.ok((await rowsOf(store)).every(({ mac }) => mac === undefined));

      await seal(listed(1), { adopt: true });
      assert.ok((await rowsOf(store)).every(({ mac }) => mac !== undefined));
    });

    test('sealStore() rejects when the row key was replaced', async () => {
      await fill(store);
      await seal(listed(1), { adopt: true });

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

    test('sealStore() renews a seal whose key was compromised before a start, and no row with it', async () => {
      await fill(store);
      await seal(folderRowKeys(folder, clock));
      rotateRowKey(folder, { now: new Date(), leadMs: 0 });
      const file = join(folder, 'row-0001.json');
      const stolen = { ...JSON.parse(readFileSync(file, 'utf8')), compromised: true };
      writeFileSync(file, JSON.stringify(stolen));
      const rows = folderRowKeys(folder, clock);

      await seal(rows);
      rmSync(file);

      await seal(folderRowKeys(folder, clock));
      const valid = (await rowsOf(store)).filter(({ kind, row, mac = '' }) =>
        rows.isMacOf(rowText(kind, row), mac),
      );
      assert.deepEqual(valid, []);
    });
  });
}

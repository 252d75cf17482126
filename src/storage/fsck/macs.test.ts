import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { test } from 'vitest';
import { temporaryFolder } from '../../../test/support/ends.ts';
import {
  at,
  binding,
  childToken,
  entry,
  freezeOf,
  rootToken,
} from '../../../test/support/fixtures.ts';
import { main } from '../../cli/main.ts';
import { openKeyring } from '../../keyring/keyring.ts';
import { createLog } from '../../log.ts';
import { createAlarms } from '../../service/operations/alarms.ts';
import { openRowLogs } from '../../service/rows/row-check.ts';
import { sealStore } from '../../service/rows/row-seal.ts';
import { serviceStore } from '../../service/rows/service-store.ts';
import { openSqlite } from '../sqlite/store.ts';

const folder = temporaryFolder();
const keys = join(folder, 'keys');

async function fsck(file: string, ...args: string[]) {
  let out = '';
  const write = (text: string) => {
    out += text;
  };
  const io = { out: write, err: assert.fail, env: {} };
  const status = await main(['fsck', '--store', `sqlite:${file}`, ...args], io);
  return { status, out };
}

/** A store with rows as the service keeps them. */
async function storeOf(name: string): Promise<string> {
  const file = join(folder, `${name}.db`);
  const keyring = openKeyring({ folder: keys }, { now: () => new Date(), onWarning: assert.fail });
  const raw = await openSqlite(file);
  const store = serviceStore(raw, {
    rows: keyring.rows,
    alarms: createAlarms(createLog('silent')),
    logs: await openRowLogs(raw),
  });
  await sealStore(store, keyring.rows);
  const root = rootToken();
  await store.insertRoot(root, entry());
  const { lineage: judged } = await store.load({ tokenId: root.token_id });
  const child = childToken(root);
  await store.insertChild(child, entry(), { now: at(0), childrenMax: 9, judged });
  await store.revokeToken(child.token_id, at(1), () => entry());
  await store.freeze(freezeOf(), entry());
  await store.append([entry()], [binding(root)]);
  await store.close();
  keyring.close();
  return file;
}

function alter(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

test('writ fsck counts the rows under each key, and says that it needs the keys for it', async () => {
  const file = await storeOf('whole');

  const checked = await fsck(file, '--keys', keys);
  const unchecked = await fsck(file);

  assert.doesNotMatch(checked.out, /its MAC does not match|store seal/);
  assert.match(checked.out, /^MACs {9}5 rows \(5 under [\w-]{16}\)$/m);
  assert.match(unchecked.out, /^MACs {9}not checked: they need the keys$/m);
});

for (const [kind, sql] of [
  ['token', `UPDATE tokens SET scope = '["operator:*"]' WHERE depth = 0`],
  ['revocation', 'UPDATE tokens SET revoked_at = NULL WHERE depth = 1'],
  ['freeze', "UPDATE freezes SET what = 'capability', target = 'other'"],
  ['binding', 'UPDATE bindings SET mac = NULL'],
] as const) {
  test(`writ fsck names a ${kind} that was edited`, async () => {
    const file = await storeOf(`edited-${kind}`);
    alter(file, sql);

    const { status, out } = await fsck(file, '--keys', keys);

    assert.equal(status, 1);
    const found = out.split('\n').filter((line) => line.endsWith('its MAC does not match'));
    assert.equal(found.length, 1);
    assert.match(found[0] ?? '', new RegExp(`^row ${kind} "`));
  });
}

for (const [name, seal, says] of [
  ['gone', 'NULL', /^store seal: the rows have MACs, and the store has no seal any more$/m],
  ['that of another store', "'kid.AAAA'", /^store seal: no key verifies its seal$/m],
] as const) {
  test(`writ fsck finds a seal that is ${name}, with which no service starts`, async () => {
    const file = await storeOf(`seal-${name.slice(0, 4)}`);
    alter(file, `UPDATE store SET row_seal = ${seal}`);

    const { status, out } = await fsck(file, '--keys', keys);

    assert.equal(status, 1);
    assert.match(out, says);
  });
}

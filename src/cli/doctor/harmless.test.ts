import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../../test/support/ends.ts';
import { entry } from '../../../test/support/fixtures.ts';
import { freshDatabase, runSql } from '../../../test/support/postgres.ts';
import { openStore } from '../../storage/open.ts';
import { main } from '../main.ts';

for (const store of [
  'postgres://writ:hunter2/x@127.0.0.1:1/writ',
  'postgres://writ:hunter2@127.0.0.1:99999/writ',
]) {
  test(`writ doctor shows no password of an address that cannot be read: ${store}`, async () => {
    let shown = '';
    const write = (text: string) => {
      shown += text;
    };
    const env = {
      WRIT_DATA: join(temporaryFolder(), 'data'),
      WRIT_STORE: store,
      WRIT_PUBLIC_URL: 'http://writ:hunter2@127.0.0.1:1',
    };

    const status = await main(['doctor'], { out: write, err: write, env });

    assert.equal(status, 1, shown);
    assert.match(shown, /^fault {2}store: postgres:\/\/…: .* — .*correct its address/m);
    assert.match(shown, /^warn {3}service: .* is not an address of a service/m);
    assert.doesNotMatch(shown, /hunter2/);
  });
}

test('writ doctor makes no table in the database of the mark', async () => {
  const { url } = await freshDatabase();
  const folder = temporaryFolder();
  const store = `sqlite:${join(folder, 'writ.db')}`;
  const opened = await openStore(store);
  await opened.append([entry()]);
  await opened.close();
  let out = '';
  const env = { WRIT_DATA: join(folder, 'data'), WRIT_STORE: store, WRIT_MARK: url };
  const io = {
    out: (text: string) => {
      out += text;
    },
    err: () => undefined,
    env,
  };

  await main(['doctor'], io);

  assert.match(out, /^fault {2}mark: /m);
  assert.deepEqual(await runSql(url, "SELECT to_regclass('writ_marks') AS made"), [{ made: null }]);
});

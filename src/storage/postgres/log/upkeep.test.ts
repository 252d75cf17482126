import assert from 'node:assert/strict';
import { test } from 'vitest';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import { entry } from '../../../../test/support/fixtures.ts';
import { connectedTo, freshDatabase } from '../../../../test/support/postgres.ts';
import { openDatabase } from '../connection.ts';
import { settingsOf } from '../options.ts';
import { openPostgres } from '../store.ts';
import { createRecent } from './recent.ts';
import { createUpkeep } from './upkeep.ts';

/** More than one transaction deletes. */
const OLD = 2_500;

const HANDED = 'SELECT count(*)::int AS batches FROM handed';

for (const isBroken of [false, true]) {
  const where = isBroken ? ', also where the index cannot be made' : '';

  test(`upkeep deletes batches after an hour and keeps later ones${where}`, async () => {
    const { url } = await freshDatabase();
    const settings = settingsOf({});
    const [database, admin] = [closedAtEnd(openDatabase(url, settings, 1)), await connectedTo(url)];
    const store = await openPostgres(url, { poolSize: 2 });
    await store.append([entry()]);
    await store.close();
    await admin.query(`INSERT INTO handed (batch, at)
      SELECT gen_random_uuid(), clock_timestamp() - interval '61 minutes' FROM generate_series(1, ${OLD})`);
    if (isBroken) await admin.query('ALTER TABLE blocks RENAME TO away');
    const warnings: string[] = [];
    const parts = { damaged: new Set<number>(), recent: createRecent() };
    const onWarning = (message: string) => void warnings.push(message);
    const upkeep = createUpkeep(database, { ...settings, onWarning }, parts);

    upkeep.nudge();
    while ((await admin.query(HANDED)).rows[0].batches > 1) {
      await new Promise((done) => setTimeout(done, 5));
    }
    await upkeep.stop();

    assert.deepEqual((await admin.query(HANDED)).rows, [{ batches: 1 }]);
    if (!isBroken) assert.deepEqual(warnings, []);
  });
}

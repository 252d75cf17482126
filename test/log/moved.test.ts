/**
 * A service of this version on the store of the version before: what was signed and proved then holds on.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { readRootText } from '../../src/domain/log/checkpoint.ts';
import { verifyConsistency } from '../../src/domain/log/merkle-proof.ts';
import { fromHex } from '../../src/domain/wire/hash.ts';
import { writeOlder } from './older-file.ts';
import { folder, life, ownFolder, PLACES, type Place, writ } from './restored-desk.ts';

ownFolder();

/** Puts the store into the form of the version before, under the same name. */
async function makeOlder(place: Place): Promise<void> {
  const file = place.url.slice('sqlite:'.length);
  const older = join(folder, 'older.db');
  writeOlder(file, older);
  await place.remove();
  renameSync(older, file);
}

test('a service extends the log of the version before: checkpoints, proofs, tokens and keys hold on', async () => {
  const place = await (PLACES.SQLite as () => Promise<Place>)();
  const before = await life(place, async (desk) => {
    const token = await desk.issue();
    const { body } = await desk.invoke(token, 'look');
    return { token, invocation: body.invocation_id as string, checkpoint: await desk.seal() };
  });
  await makeOlder(place);

  await life(place, async (desk) => {
    assert.equal((await desk.invoke(before.token, 'look')).status, 200);
    const after = await desk.seal();
    const path = `/svc/checkpoints/${after.checkpoint_id}`;
    const from = before.checkpoint.checkpoint_id;

    const { body } = await desk.ask('GET', `${path}?consistency_from=${from}`);

    const { from_size, to_size, hashes } = body.consistency_proof;
    assert.ok(to_size > from_size);
    assert.deepEqual((await desk.ask('GET', `/svc/checkpoints/${from}`)).body, before.checkpoint);
    const isExtended = verifyConsistency({
      ...{ from: from_size, to: to_size },
      fromRoot: readRootText(before.checkpoint.merkle_root) as Uint8Array,
      toRoot: readRootText(after.merkle_root) as Uint8Array,
      proof: hashes.map((hash: string) => fromHex(hash) as Uint8Array),
    });
    assert.ok(isExtended);
    const query = `include_proof=true&invocation_id=${before.invocation}`;
    const proved = await desk.ask('GET', `/svc/checkpoints/${from}?${query}`, before.token);
    assert.equal(proved.status, 200, JSON.stringify(proved.body));
  });

  const keys = join(folder, 'data/keys');
  const mark = join(folder, 'mark.db');
  const checked = await writ(['fsck', '--store', place.url, '--keys', keys, '--mark', mark], place);
  assert.equal(checked.status, 0, checked.out);
});

test('writ fsck and writ backup refuse a store of the version before, and name what moves it', async () => {
  const place = await (PLACES.SQLite as () => Promise<Place>)();
  await life(place, (desk) => desk.seal());
  await makeOlder(place);

  for (const args of [
    ['fsck', '--store', place.url],
    ['backup', '--out', join(folder, 'backup.gz')],
  ]) {
    const { status, err } = await writ(args, place);
    assert.equal(status, 2);
    assert.match(err, /it was written by version 17 of the schema, start the service once/);
  }
});

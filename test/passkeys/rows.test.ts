/**
 * Rows of passkeys that were changed behind the service's back: fsck compares them with the log.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { SQL_PLACES } from '../support/sql-places.ts';
import { BOB, CAROL, openDesk } from './desk.ts';

for (const { name, open } of SQL_PLACES) {
  test(`a passkey whose row was edited confirms nothing, and the next one waits, on ${name}`, async () => {
    const place = await open();
    const desk = await openDesk({ store: place.url });
    const bob = await desk.at(BOB);
    const { key, passkey: edited } = await bob.enrol();
    const id = await desk.asked('pay');
    await place.alter("UPDATE passkeys SET label = 'edited'");

    const approved = await bob.approve(id, key);
    const { counts, exclude } = await bob.answer('passkeys.begin');
    const { passkey: next } = await bob.enrol();

    assert.equal(approved.body.failure?.type, 'approver_not_authorized', approved.text);
    assert.deepEqual({ counts, exclude }, { counts: 'later', exclude: [] });
    assert.ok(next.usable_from > next.created_at);
    const listed = (await bob.answer('passkeys.list')).passkeys;
    assert.deepEqual(
      listed.map(({ credential_id }) => credential_id),
      [next.credential_id],
    );
    assert.notEqual(next.credential_id, edited.credential_id);
  });

  test(`checkStore() names every passkey that is not what the log says, on ${name}`, async () => {
    const place = await open();
    const desk = await openDesk({ store: place.url });
    const [bob, carol] = [await desk.at(BOB), await desk.at(CAROL)];
    const { passkey: removed } = await bob.enrol();
    await bob.answer('passkeys.remove', { credential_id: removed.credential_id });
    const { passkey: waiting } = await bob.enrol();
    const { passkey: living } = await carol.enrol();
    const found = async (sql: string) => {
      await place.alter(sql);
      const { findings } = await checkStore(desk.store);
      return findings.map(({ what, where, detail }) => `${what} ${where}: ${detail}`).join('\n');
    };
    const [gone, later, own] = [removed, waiting, living].map((each) => each.credential_id);

    assert.equal(await found('SELECT 1'), '');
    const again = await found(
      `UPDATE passkeys SET removed_at = NULL WHERE credential_id = '${gone}'`,
    );
    assert.match(
      again,
      new RegExp(`^passkey ${gone}: it is not removed, entry .* says that it was$`),
    );
    const early = await found(
      `UPDATE passkeys SET usable_from = created_at WHERE credential_id = '${later}'`,
    );
    assert.match(early, new RegExp(`passkey ${later}: its usable_from is`));
    const theirs = await found(
      `UPDATE passkeys SET principal = 'human:bob' WHERE credential_id = '${own}'`,
    );
    assert.match(theirs, new RegExp(`passkey ${own}: its principal is "human:bob"`));
    const missing = await found('DELETE FROM passkeys');
    assert.match(missing, new RegExp(`passkey ${gone}: it is missing, and so is every other`));
    assert.match(missing, new RegExp(`passkey ${later}: it is missing, entry`));
    assert.match(missing, new RegExp(`passkey ${own}: it is missing, entry`));
  });
}

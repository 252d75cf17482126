/**
 * `writ people` at the store: the first operator, the list, a lost device, the end of an invitation and of a person.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { openStore } from '../../src/storage/open.ts';
import { softwareKey } from '../../src/testing/authenticator.ts';
import { configure, life, ownFolder, PLACES, type Place, writ } from '../log/restored-desk.ts';
import { personOver } from '../sign-in/listening.ts';
import { closedAtEnd } from '../support/ends.ts';

ownFolder();

const ADDRESS = 'http://localhost:8420';

for (const [name, open] of Object.entries(PLACES)) {
  describe(name, () => {
    let place: Place;
    const people = (...args: string[]) => writ(['people', ...args], place);

    /** A store that the service has started on once. */
    beforeEach(async () => {
      place = await open();
      await life(place, (desk) => desk.issue());
    });

    test('writ people invite does not take the scopes from who has not enrolled yet', async () => {
      const first = await people('invite', 'cara@example.com', '--scope', 'travel.book');
      const emptied = await people('invite', 'cara@example.com', '--subject', 'agent:*');
      const again = await people('invite', 'cara@example.com', '--scope', 'travel.book');

      assert.deepEqual([first.status, emptied.status, again.status], [0, 2, 0], emptied.err);
      assert.match(
        emptied.err,
        /has not enrolled yet: name the scopes again, such as "travel\.book"/,
      );
    });

    test('writ people invite makes the first operator at the store, who enrols at the service', async () => {
      configure([]);
      const invited = await people('invite', 'Ann@example.com', '--scope', 'operator:*', '--json');

      assert.equal(invited.status, 0, invited.err);
      const { link, code, principal } = JSON.parse(invited.out);
      assert.equal(principal, 'human:ann@example.com');
      assert.match(link, new RegExp(`^${ADDRESS}/enrol#[\\w-]{43}$`));
      assert.match(code, /^\d{6}$/);
      await life(place, async ({ url }) => {
        const person = personOver(url);
        const fields = { link: new URL(link).hash.slice(1), code };
        const page = await person.send(await person.open('/enrol'), '/enrol', fields);
        const [, challenge = ''] = /data-challenge="([^"]+)"/.exec(page.text ?? '') ?? [];
        const asked = {
          challenge: Buffer.from(challenge, 'base64url'),
          rpId: 'localhost',
          origin: `http://localhost:${new URL(url).port}`,
        };
        const made = { ...softwareKey().register(asked), label: 'Phone' };
        assert.equal((await person.send(page, '/enrol/passkey', made)).status, 303);
        assert.equal((await person.open('/console/')).status, 200);

        const listed = await people('list');
        assert.match(listed.out, /human:ann@example\.com +enrolled +operator:\* +Phone +idn_/);
        const { identity_id, devices } = JSON.parse((await people('list', '--json')).out);
        const [{ credential_id }] = devices;
        const gone = await people('remove-device', 'ann@example.com', credential_id);
        assert.equal(gone.status, 0, gone.err);
        const kept = await writ(['identities', 'remove', identity_id], place);
        assert.notEqual(kept.status, 0);
        assert.match(kept.err, /is the person human:ann@example\.com.*"writ people remove"/);
        assert.equal((await person.open('/console/')).status, 303);
      });
      const store = closedAtEnd(await openStore(place.url));
      assert.deepEqual((await checkStore(store)).findings, []);
    });

    test('an invitation and a person end, once', async () => {
      const { out } = await people('invite', 'ben@example.com', '--json');
      const { invitation_id } = JSON.parse(out);

      const ended = [
        await people('revoke', invitation_id),
        await people('revoke', invitation_id),
        await people('remove', 'ben@example.com'),
        await people('remove-device', 'ben@example.com', 'AAAA'),
      ];

      assert.deepEqual(
        ended.map(({ status }) => status),
        [0, 1, 1, 1],
      );
      assert.equal((await people('list')).out, 'The store has no person and no open invitation.\n');
    });
  });
}

test('writ people refuses what cannot be a person, a scope or an invitation', async () => {
  const place = await (PLACES.SQLite as () => Promise<Place>)();
  await life(place, (desk) => desk.issue());
  const words = [
    ['invite', 'agent:bot'],
    ['invite', 'ann@example.com', '--scope', 'no scope'],
    ['invite', 'ann@example.com', '--address', 'nowhere'],
    ['revoke', 'idn_1'],
  ];

  for (const args of words) {
    const ran = await writ(['people', ...args], place);
    assert.deepEqual([ran.status, ran.out], [2, ''], args.join(' '));
    assert.match(ran.err, /^Cannot (invite|end)/);
  }
});

/**
 * Rows of identities that someone with access to the database changed: none of them gives anything at run time, and
 * fsck names what a MAC cannot show.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { checkMacs } from '../../src/storage/fsck/macs.ts';
import { identity } from '../support/sign-in.ts';
import type { SqlPlace } from '../support/sql-places.ts';
import { type IdentityDesk, type Made, newKey, onSqlPlaces, openDesk } from './desk.ts';

const isFile = (place: SqlPlace) => place.url.startsWith('sqlite:');

/** A list, in the words of each database. */
function listOf(place: SqlPlace, item: string): string {
  return isFile(place) ? `'["${item}"]'` : `ARRAY['${item}']`;
}

type Edit = readonly [what: string, set: (place: SqlPlace, other: Made) => string];

const EDITS: readonly Edit[] = [
  ['another scope', (place) => `scopes = ${listOf(place, 'operator:*')}`],
  ['another subject', (place) => `subjects = ${listOf(place, 'human:*')}`],
  ['another principal', () => "principal = 'human:chief'"],
  ['another caller class', () => "caller_class = 'default'"],
  ['other classes to give', (place) => `caller_classes = ${listOf(place, 'partner')}`],
  ['another maker', () => "created_by = 'human:boss'"],
  ['another id', () => `identity_id = 'idn_${'0'.repeat(32)}'`],
  ['no MAC', () => 'mac = NULL'],
  ['a MAC of no key', () => "mac = 'other.AAAA'"],
  ['the MAC of another identity', (_, other) => `mac = '${macs.get(other.identity_id)}'`],
  [
    'a list that is none',
    (place) => (isFile(place) ? "scopes = '{'" : "scopes = '{operator:*,NULL}'"),
  ],
];

/** The MACs of identities in the database. */
const macs = new Map<string, string>();

async function readMac({ service }: IdentityDesk, { key_sha256, identity_id }: Made) {
  const kept = await service.store.findIdentity(key_sha256 as string);
  macs.set(identity_id, kept?.mac ?? '');
  return kept;
}

const alarms = ({ service, replica }: IdentityDesk) =>
  [...service.log, ...replica.log].filter((line) => line.includes('"alarm":"row_altered"')).length;

onSqlPlaces((open, name) => {
  describe(name, () => {
    for (const [what, set] of EDITS) {
      test(`an identity that was edited to have ${what} gives nothing`, async () => {
        const desk = await openDesk(open);
        const [made, other] = [await desk.made(), await desk.made({ principal: 'agent:other' })];
        await readMac(desk, other);

        await desk.place.alter(
          `UPDATE identities SET ${set(desk.place, other)} WHERE identity_id = '${made.identity_id}'`,
        );

        assert.deepEqual(await desk.seen(made.key), [401, 401]);
        assert.deepEqual(await desk.seen(other.key), [200, 200]);
        assert.ok(alarms(desk) > 0);
        assert.equal((await desk.list()).body.identities.length, 1);
        const { alteredCount } = await checkMacs(desk.service.store, desk.service.rows.isMacOf);
        assert.equal(alteredCount, 1);
      });
    }

    test('a digest that was moved to the key of an attacker gives nothing', async () => {
      const desk = await openDesk(open);
      const [made, own] = [await desk.made(), newKey()];

      await desk.place.alter(`UPDATE identities SET key_sha256 = '${own.key_sha256}'`);

      assert.deepEqual(await desk.seen(own.key), [401, 401]);
      assert.deepEqual(await desk.seen(made.key), [401, 401]);
    });

    test('a row that was inserted behind the service gives nothing, and fsck names it', async () => {
      const desk = await openDesk(open);
      const { key, key_sha256 } = newKey();
      const forged = identity({ key_sha256, scopes: ['travel.*'], created_by: 'human:chief' });
      await desk.place.alter(insertOf(desk.place, forged));

      assert.deepEqual(await desk.seen(key), [401, 401]);

      const { findings } = await checkStore(desk.service.store);
      const [found] = findings;
      assert.deepEqual(
        [findings.length, found?.what, found?.where, found?.detail],
        [1, 'identity', forged.identity_id, 'no entry says that it was made'],
      );
    });

    test('a removal that was taken away gives nothing back', async () => {
      const desk = await openDesk(open);
      const made = await desk.made();
      await desk.remove(made.identity_id);

      await desk.place.alter('UPDATE identities SET removed_at = NULL, removed_by = NULL');

      assert.deepEqual(await desk.seen(made.key), [401, 401]);
    });

    test('fsck names a row that was put back as it was before its removal', async () => {
      const desk = await openDesk(open);
      const made = await desk.made();
      const kept = await readMac(desk, made);
      await desk.remove(made.identity_id);
      assert.deepEqual((await checkStore(desk.service.store)).findings, []);

      await desk.place.alter(
        `UPDATE identities SET removed_at = NULL, removed_by = NULL, mac = '${kept?.mac}'`,
      );

      const { findings } = await checkStore(desk.service.store);
      assert.equal(findings.length, 1);
      assert.match(
        findings[0]?.detail ?? '',
        /^it is not removed, entry ent_\w+ says that it was$/,
      );
    });

    test('fsck names a deleted row, an edited one and a removal without an entry', async () => {
      const desk = await openDesk(open);
      const made = [await desk.made(), await desk.made(), await desk.made()];
      const [gone, edited, ended] = made.map(({ identity_id }) => identity_id);

      await desk.place.alter(`DELETE FROM identities WHERE identity_id = '${gone}'`);
      await desk.place.alter(
        `UPDATE identities SET scopes = ${listOf(desk.place, 'operator:*')} WHERE identity_id = '${edited}'`,
      );
      await desk.place.alter(
        `UPDATE identities SET removed_at = created_at, removed_by = 'human:x' WHERE identity_id = '${ended}'`,
      );

      const { findings } = await checkStore(desk.service.store);
      const lines = findings.map(({ what, where, detail }) => `${what} ${where}: ${detail}`);
      assert.equal(lines.length, 3, lines.join('\n'));
      assert.ok(lines.some((line) => line.startsWith(`identity ${gone}: it is missing`)));
      assert.ok(
        lines.includes(
          `identity ${edited}: its scopes is ["operator:*"], the log says ["travel.search"]`,
        ),
      );
      assert.ok(lines.includes(`identity ${ended}: it is removed, no entry says so`));
    });

    test('an altered identity can be removed, and stays removed when it is put right', async () => {
      const desk = await openDesk(open);
      const made = await desk.made();
      await desk.place.alter("UPDATE identities SET principal = 'agent:hidden'");

      const removed = await desk.remove(made.identity_id);
      await desk.place.alter("UPDATE identities SET principal = 'agent:worker'");

      assert.equal(removed.body.removed, true);
      assert.deepEqual(await desk.seen(made.key), [401, 401]);
    });

    test('an identity whose times cannot be read gives nothing and can be removed', async () => {
      const desk = await openDesk(open);
      const made = await desk.made();
      const never = isFile(desk.place) ? '9000000000000000000' : "'infinity'";
      await desk.place.alter(`UPDATE identities SET created_at = ${never}`);

      assert.deepEqual(await desk.seen(made.key), [401, 401]);
      assert.equal((await desk.remove(made.identity_id)).body.removed, true);
    });
  });
});

function insertOf(place: SqlPlace, made: ReturnType<typeof identity>): string {
  const list = (items: readonly string[]) =>
    isFile(place) ? `'${JSON.stringify(items)}'` : `ARRAY['${items.join("','")}']`;
  const time = isFile(place)
    ? `${made.created_at.getTime()}`
    : `'${made.created_at.toISOString()}'`;
  const values = [
    `'${made.identity_id}'`,
    `'${made.key_sha256}'`,
    `'${made.principal}'`,
    list(made.scopes),
    list(made.subjects),
    `'${made.caller_class}'`,
    list(made.caller_classes),
    time,
    `'${made.created_by}'`,
  ];
  return `INSERT INTO identities (identity_id, key_sha256, principal, scopes, subjects, caller_class,
    caller_classes, created_at, created_by) VALUES (${values.join(', ')})`;
}

/**
 * Backup and restore of a running desk, through the command line: under load, into either database, and from an
 * older backup back to a service that is ready.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, test } from 'vitest';
import { freshDatabase } from '../support/postgres.ts';
import { attackFile } from './raw-segments.ts';
import {
  type Desk,
  FIRST_OPERATOR,
  folder,
  life,
  ownFolder,
  PLACES,
  type Place,
  writ,
} from './restored-desk.ts';

ownFolder();

/** Empty places for a restore. The keys and the mark stay those of the desk. */
const TARGETS: Readonly<Record<string, (from: Place) => Promise<Place>>> = {
  SQLite: async (from) => ({ ...from, url: `sqlite:${join(folder, 'restored/writ.db')}` }),
  PostgreSQL: async (from) => ({ ...from, url: (await freshDatabase()).url }),
};

const backupFile = () => join(folder, 'backup.gz');

async function backup(place: Place) {
  const done = await writ(['backup', '--out', backupFile(), '--json'], place);
  assert.equal(done.status, 0, done.err);
  return JSON.parse(done.out);
}

async function restored(
  from: Place,
  kind: string,
): Promise<{ place: Place; answer: RestoreAnswer }> {
  const place = await (TARGETS[kind] as (from: Place) => Promise<Place>)(from);
  const done = await writ(['restore', backupFile(), '--json'], place);
  assert.equal(done.status, 0, done.err);
  return { place, answer: JSON.parse(done.out) };
}

interface RestoreAnswer {
  readonly state: string;
  readonly why: string;
  readonly entry_count: number;
}

async function fsck(place: Place, ...more: string[]) {
  const keys = join(folder, 'data/keys');
  return writ(['fsck', '--store', place.url, '--keys', keys, ...more], place);
}

/** Calls until `end` is called, and seals now and then. Resolves with how many calls succeeded. */
function load(desk: Desk, token: string): { end(): Promise<number> } {
  let isOver = false;
  const one = async () => {
    let done = 0;
    for (; !isOver; done++) {
      assert.equal((await desk.invoke(token, 'look')).status, 200);
      if (done % 5 === 0) await desk.seal();
    }
    return done;
  };
  const all = Promise.all([one(), one(), one()]);
  return {
    async end() {
      isOver = true;
      return (await all).reduce((sum, each) => sum + each, 0);
    },
  };
}

for (const [name, open] of Object.entries(PLACES)) {
  describe(name, () => {
    let place: Place;
    beforeEach(async () => {
      place = await open();
    });

    test('writ backup under load has every signed entry from before, and no head that its log does not cover', async () => {
      await life(place, async (desk) => {
        const token = await desk.issue();
        const before = await desk.seal();
        const writers = load(desk, token);

        const answer = await backup(place);

        assert.ok((await writers.end()) > 0);
        assert.ok(answer.entry_count >= before.entry_count);
        assert.ok(answer.mark.checkpoint >= before.sequence);
        assert.equal(statSync(backupFile()).mode & 0o777, 0o600);
        assert.equal(answer.bytes, statSync(backupFile()).size);
      });
      // A file whose checkpoints cover more than its log would be refused here.
      for (const kind of Object.keys(TARGETS)) {
        const { place: target } = await restored(place, kind);
        const checked = await fsck(target, '--mark', 'none');
        assert.equal(checked.status, 0, checked.out + checked.err);
      }
    });

    test('a restored service goes on where the backup was made', async () => {
      const token = await life(place, async (desk) => {
        const issued = await desk.issue();
        assert.equal((await desk.invoke(issued, 'look')).status, 200);
        await desk.seal();
        return issued;
      });
      await backup(place);

      // The other database first: after that the service appends, and the backup is an older one.
      const kinds = Object.keys(TARGETS).sort((one) => (one === name ? 1 : -1));
      for (const kind of kinds) {
        const { place: target, answer } = await restored(place, kind);

        assert.equal(answer.state, 'ready', answer.why);
        assert.equal((await fsck(target)).status, 0);
        if (kind !== name) continue;
        await life(target, async (desk) => {
          assert.equal((await desk.ask('GET', '/readyz')).status, 200);
          assert.equal((await desk.invoke(token, 'look')).status, 200);
          await desk.seal();
        });
      }
    });

    test('a service on an older backup is not ready until writ recover --accept-loss', async () => {
      const token = await life(place, async (desk) => {
        const issued = await desk.issue();
        await desk.seal();
        return issued;
      });
      await backup(place);
      const lost = await life(place, async (desk) => {
        for (let i = 0; i < 3; i++) await desk.invoke(token, 'look');
        return desk.seal();
      });
      const [other] = Object.keys(TARGETS).filter((kind) => kind !== name);

      const { place: target, answer } = await restored(place, other as string);

      assert.equal(answer.state, 'rolled_back');
      assert.match(answer.why, /docs\/operating\.md, "The log was rolled back"/);
      await life(target, async (desk) => {
        const ready = await desk.ask('GET', '/readyz');
        assert.equal(ready.status, 503);
        assert.match(ready.body.reasons.join(), /"The log was rolled back"/);
      });
      const late = await writ(['backup', '--out', join(folder, 'late.gz')], target);
      assert.equal(late.status, 2);
      assert.match(late.err, new RegExp(`signed over ${lost.entry_count} entries, the log has`));
      const recovered = await writ(['recover', '--accept-loss'], target, FIRST_OPERATOR);
      assert.equal(recovered.status, 0, recovered.err);
      await life(target, async (desk) => {
        assert.equal((await desk.ask('GET', '/readyz')).status, 200);
        assert.equal((await desk.invoke(await desk.issue(), 'look')).status, 200);
      });
    });

    test('writ backup and writ restore say for people what they did', async () => {
      await life(place, async (desk) => {
        await desk.issue();
        await desk.seal();
      });
      const made = await writ(['backup', '--out', backupFile()], place);
      const target = await (TARGETS[name] as (from: Place) => Promise<Place>)(place);
      const put = await writ(['restore', backupFile()], target);

      assert.match(made.out, /^entries {5}\d+$/m);
      assert.match(made.out, /^root {8}[0-9a-f]{64}$/m);
      assert.match(made.out, /^mark {8}checkpoint \d+ over \d+ entries: all of them are in/m);
      assert.match(put.out, /^backup {3}\d{4}-.*version \d/m);
      assert.match(put.out, /^state {4}ready: the log extends checkpoint \d+/m);
      const again = await writ(['restore', backupFile()], target);
      assert.equal(again.status, 2);
      assert.match(again.err, /^Cannot open the store: there is a store in .* already; [^\n]+\n$/);
    });

    test('a backup has no secret of a row key, no signing key and no mark', async () => {
      await life(place, async (desk) => {
        await desk.issue();
        await desk.seal();
      });

      await backup(place);

      const text = gunzipSync(readFileSync(backupFile())).toString();
      for (const key of readdirSync(join(folder, 'data/keys'), { recursive: true })) {
        const path = join(folder, 'data/keys', String(key));
        if (!statSync(path).isFile()) continue;
        for (const secret of readFileSync(path, 'utf8').match(/[\w+/=-]{40,}/g) ?? []) {
          // Thumbprints and public parts are in the log; private parts are not.
          if (!text.includes(secret)) continue;
          assert.doesNotMatch(readFileSync(path, 'utf8'), new RegExp(`"(?:d|k)":\\s*"${secret}`));
        }
      }
    });
  });
}

test('writ backup refuses a file that exists, and leaves it', async () => {
  const place = await (PLACES.SQLite as () => Promise<Place>)();
  await life(place, (desk) => desk.issue());
  writeFileSync(backupFile(), 'mine');

  const { status, err } = await writ(['backup', '--out', backupFile()], place);

  assert.equal(status, 2);
  assert.match(err, /^Cannot back up the store: ".*backup\.gz" exists\n$/);
  assert.equal(readFileSync(backupFile(), 'utf8'), 'mine');
});

test('writ restore says in one line what is wrong with a file, and makes no store', async () => {
  const place = await (PLACES.SQLite as () => Promise<Place>)();
  writeFileSync(backupFile(), 'not a backup');

  for (const [args, fault] of [
    [['restore', backupFile()], /damaged or not compressed with gzip/],
    [['restore', join(folder, 'none.gz')], /ENOENT/],
    [['restore', backupFile(), '--store', 'memory:'], /.+/],
  ] as const) {
    const { status, err, out } = await writ([...args], place);
    assert.equal(status, 2);
    assert.equal(out, '');
    assert.match(err, fault);
    assert.equal(err.split('\n').length, 2);
  }
  assert.deepEqual(readdirSync(folder).sort(), ['backup.gz', 'writ.config.yaml']);
});

const DAMAGES: readonly [name: string, damage: string, said: RegExp][] = [
  [
    'other hashes',
    'UPDATE segments SET hashes = zeroblob(32 * count) WHERE first = 0',
    /^Cannot back up the store: the log is damaged: its head says .*; see "writ fsck"\n$/,
  ],
  [
    'a segment cut short',
    'UPDATE segments SET leaves = substr(leaves, 1, 9) WHERE first = 0',
    /^Cannot back up the store: the log is damaged: entry 0 cannot be read; see "writ fsck"\n$/,
  ],
  [
    'no first segment',
    'DELETE FROM segments WHERE first = 0',
    /^Cannot back up the store: entry 0 is missing before entry 1\n$/,
  ],
];

for (const [name, damage, said] of DAMAGES) {
  test(`writ backup of a log with ${name} says so and leaves no file`, async () => {
    const place = await (PLACES.SQLite as () => Promise<Place>)();
    await life(place, async (desk) => {
      await desk.issue();
      await desk.seal();
    });
    attackFile(place.url.slice('sqlite:'.length), (raw) => raw.exec(damage));

    const { status, err } = await writ(['backup', '--out', backupFile()], place);

    assert.equal(status, 2);
    assert.match(err, said);
    assert.deepEqual(
      readdirSync(folder).filter((each) => each.startsWith('backup')),
      [],
    );
  });
}

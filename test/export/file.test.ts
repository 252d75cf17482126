/**
 * `writ audit stream` to a folder: follows, continues, and verifies without the service.
 *
 * @module
 */

import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { holdLock } from '../../src/storage/file-lock.ts';
import { temporaryFolder } from '../support/ends.ts';
import { ALICE, eventually, STORES } from '../support/world.ts';
import { chunksIn, exportDesk, placesIn, running, upTo, writ } from './desk.ts';

for (const { name, open } of STORES) {
  describe(name, () => {
    test('audit stream follows the log, and the folder verifies without the service', async () => {
      const desk = await exportDesk({ store: (await open()).url });
      const folder = join(temporaryFolder(), 'archive');
      await desk.sealed(5);
      const asked = desk.stream(
        '--to',
        `file:${folder}`,
        '--chunk-entries',
        '4',
        '--interval',
        '1',
      );
      const command = running(asked);
      await eventually(() => existsSync(folder) && placesIn(folder).length >= 6);
      await desk.sealed(7);
      await eventually(() => placesIn(folder).length >= 14);
      // No checkpoint covers this one, so it waits.
      await desk.grow(1);
      command.stop();
      const status = await command.done;
      const verified = await writ(['verify', 'stream', folder, ...desk.pins]);
      const unpinned = await writ(['verify', 'stream', folder]);

      assert.equal(status, 0, command.said.err);
      assert.deepEqual(placesIn(folder), upTo(placesIn(folder).length));
      assert.match(
        command.said.out,
        /^chunk-000000000001\.jsonl: 4 entries from place 0, under checkpoint \d+\n/,
      );
      assert.equal(verified.status, 0, verified.out);
      assert.match(verified.out, /^ok +roots /m);
      assert.equal(unpinned.status, 2);
      for (const file of chunksIn(folder)) {
        assert.equal(statSync(join(folder, file)).mode & 0o777, 0o600);
      }
    });

    test('audit stream --once continues where the last run ended, and prints JSON', async () => {
      const desk = await exportDesk({ store: (await open()).url });
      const folder = temporaryFolder();
      const asked = desk.stream('--to', `file:${folder}`, '--once', '--json');
      await desk.sealed(3);
      const first = await writ(asked);
      await desk.sealed(3);
      const second = await writ(asked);
      const third = await writ(asked);

      const [line] = first.out
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text));
      const next = JSON.parse(second.out);
      assert.deepEqual([first.status, second.status, third.status], [0, 0, 0], first.err);
      assert.equal(line.chunk, 1);
      assert.equal(next.from, line.entries);
      assert.equal(next.chunk, 2);
      assert.equal(third.out, '');
      assert.deepEqual(placesIn(folder), upTo(line.entries + next.entries));
      assert.equal(statSync(join(folder, 'state.json')).mode & 0o777, 0o600);
    });
  });
}

const desk = await exportDesk();
await desk.sealed(4);
await desk.sealed(9);
const archive = temporaryFolder();
const saved = await writ(desk.stream('--to', `file:${archive}`, '--once', '--chunk-entries', '3'));
assert.equal(saved.status, 0, saved.err);
const names = chunksIn(archive);

/** A copy of the archive with a change. */
function changed(change: (at: (index: number) => string) => void): string {
  const folder = temporaryFolder();
  cpSync(archive, folder, { recursive: true });
  change((index) => join(folder, names.at(index) as string));
  return folder;
}

function edit(file: string, from: RegExp, to: string): void {
  const text = readFileSync(file, 'utf8');
  const edited = text.replace(from, to);
  assert.notEqual(edited, text);
  writeFileSync(file, edited);
}

const damages: [name: string, change: (at: (index: number) => string) => void, found: RegExp][] = [
  ['a missing chunk', (at) => rmSync(at(2)), /FAILED +chunks .*chunk 3 is missing before it/],
  ['a missing first chunk', (at) => rmSync(at(0)), /FAILED +chunks .*chunk 1 is missing before it/],
  [
    'chunks that were swapped',
    (at) => {
      renameSync(at(1), `${at(1)}.x`);
      renameSync(at(2), at(1));
      renameSync(`${at(1)}.x`, at(2));
    },
    /FAILED +chunks .*its header says chunk 3/,
  ],
  ['a chunk twice', (at) => copyFileSync(at(1), at(2)), /FAILED +chunks .*its header says chunk 2/],
  [
    'a chunk that was cut in a line',
    (at) => truncateSync(at(1), statSync(at(1)).size - 100),
    /FAILED +end .*it was cut/,
  ],
  [
    'a chunk that was cut between lines',
    (at) => edit(at(1), /\{"checkpoint".*\n$/, ''),
    /FAILED +end .*it was cut/,
  ],
  ['an empty chunk', (at) => truncateSync(at(1), 0), /FAILED +chunks .*does not begin with/],
  [
    'an entry that was taken out',
    (at) => edit(at(1), /\n\{"entry".*\n/, '\n'),
    /FAILED +order .*place 3 says 4/,
  ],
  [
    'an edited field',
    (at) => edit(at(1), /"success":true/, '"success":false'),
    /FAILED +leaves .*"success" is not what its leaf says/,
  ],
  [
    'an edited checkpoint',
    (at) => edit(at(-1), /("entry_count":)(\d)/, '$19$2'),
    /FAILED +checkpoint signature/,
  ],
  [
    'an edited proof',
    (at) => edit(at(0), /("hashes":\["[0-9a-f]{62})[0-9a-f]{2}/, '$1ff'),
    /FAILED +roots .*does not begin with its 3 entries/,
  ],
  [
    'an edited tree in a header',
    (at) => edit(at(1), /("peaks":\["[0-9a-f]{62})[0-9a-f]{2}/, '$1ff'),
    /FAILED +chunks .*the one before ends at 3/,
  ],
  [
    'a line of another kind',
    (at) => edit(at(1), /\n/, '\n{"note":1}\n'),
    /FAILED +lines .*a line is none of a chunk/,
  ],
];
for (const [name, change, found] of damages) {
  test(`verify stream finds ${name}`, async () => {
    const { status, out } = await writ(['verify', 'stream', changed(change), ...desk.pins]);

    assert.equal(status, 1, out);
    assert.match(out, found);
  });
}

test('verify stream names what it cannot show, and refuses an empty folder', async () => {
  const short = await writ(['verify', 'stream', changed((at) => rmSync(at(-1))), ...desk.pins]);
  const other = await writ(['verify', 'stream', archive, ...desk.pins, '--service-id', 'other']);
  const empty = await writ(['verify', 'stream', temporaryFolder(), ...desk.pins]);
  const none = await writ(['verify', 'stream', join(archive, 'none'), ...desk.pins]);

  assert.equal(short.status, 0, short.out);
  assert.match(short.out, /^Not covered: whether more chunks were written after the last one/m);
  assert.equal(other.status, 1);
  assert.match(other.out, /not of "other"/);
  assert.equal(empty.status, 1);
  assert.equal(none.status, 2);
  assert.match(none.err, /cannot be read \(ENOENT\)/);
});

test('audit stream continues from the last chunk of a folder whose state is lost', async () => {
  const folder = changed((at) => {
    rmSync(at(-1));
    rmSync(join(at(0), '..', 'state.json'));
  });
  const again = await writ(desk.stream('--to', `file:${folder}`, '--once'));
  const edited = changed((at) => {
    edit(at(-1), /"success":true/, '"success":false');
    rmSync(join(at(0), '..', 'state.json'));
  });
  const refused = await writ(desk.stream('--to', `file:${edited}`, '--once'));

  assert.equal(again.status, 0, again.err);
  assert.deepEqual(placesIn(folder), placesIn(archive));
  assert.equal((await writ(['verify', 'stream', folder, ...desk.pins])).status, 0);
  assert.equal(refused.status, 2);
  assert.match(
    refused.err,
    /^Cannot export the log: "chunk-\d+\.jsonl" does not say where to continue: /,
  );
});

test('audit stream sends a chunk that a killed process stored again, byte for byte', async () => {
  const folder = changed(() => undefined);
  const last = join(folder, names.at(-1) as string);
  const text = readFileSync(last, 'utf8');
  const state = JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8'));
  const { createHash } = await import('node:crypto');
  const sha256 = createHash('sha256').update(text).digest('hex');
  const before = JSON.parse(text.split('\n')[0] as string);
  const { log_id, first, size, peaks } = before;
  const place = { chunk: before.chunk - 1, log_id, first, size, peaks };
  const pending = { ...state, place, pending: { sha256, after: state.place } };
  const asked = desk.stream('--to', `file:${folder}`, '--once', '--json');
  const killed = (chunk: string) => {
    writeFileSync(join(folder, 'state.json'), JSON.stringify(pending));
    writeFileSync(join(folder, 'state.json.pending'), chunk);
  };

  killed(text);
  const written = await writ(asked);
  rmSync(last);
  killed(text);
  const unwritten = await writ(asked);
  killed(`${text} `);
  const damaged = await writ(asked);

  assert.equal(written.status, 0, written.err);
  assert.equal(unwritten.status, 0, unwritten.err);
  assert.equal(readFileSync(last, 'utf8'), text);
  assert.equal(JSON.parse(unwritten.out).sha256, sha256);
  assert.equal(damaged.status, 2);
  assert.match(damaged.err, /is not the chunk that ".*" names/);
});

test('audit stream overwrites no chunk of another writer', async () => {
  const folder = changed((at) => {
    rmSync(at(-1));
    writeFileSync(at(-1), 'mine\n');
  });
  const state = JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8'));
  const { log_id, first, size, peaks } = JSON.parse(
    readFileSync(join(archive, names.at(-1) as string), 'utf8').split('\n')[0] as string,
  );
  const place = { chunk: names.length - 1, log_id, first, size, peaks };
  writeFileSync(join(folder, 'state.json'), JSON.stringify({ ...state, place }));
  const { status, err } = await writ(desk.stream('--to', `file:${folder}`, '--once'));

  assert.equal(status, 1);
  assert.match(err, /is there already, with other contents/);
  assert.equal(readFileSync(join(folder, names.at(-1) as string), 'utf8'), 'mine\n');
});

test('audit stream refuses a state that another process uses, or of another target or service', async () => {
  const folder = changed(() => undefined);
  const state = join(folder, 'state.json');
  const release = holdLock(`${state}.lock`);
  const busy = await writ(desk.stream('--to', `file:${folder}`, '--once'));
  release?.();
  const other = await writ(
    desk.stream('--to', `file:${temporaryFolder()}`, '--state', state, '--once'),
  );
  edit(state, /"service_id":"[^"]+"/, '"service_id":"another-desk"');
  const foreign = await writ(desk.stream('--to', `file:${folder}`, '--once'));
  writeFileSync(state, '{}');
  const broken = await writ(desk.stream('--to', `file:${folder}`, '--once'));

  assert.deepEqual([busy.status, other.status, foreign.status, broken.status], [2, 2, 2, 2]);
  assert.match(busy.err, /another process uses the state/);
  assert.match(other.err, /is the state of "file:.*"; each target has its own/);
  assert.match(foreign.err, /is of service "another-desk", and this is "travel-desk"/);
  assert.match(broken.err, /is not a state of "writ audit stream"/);
});

test('audit stream needs a credential that sees the whole log', async () => {
  const folder = temporaryFolder();
  const asked = desk.stream('--to', `file:${folder}`, '--once');
  const trail = await writ(asked, { WRIT_CLIENT_CREDENTIAL: ALICE });
  const wrong = await writ(asked, { WRIT_CLIENT_CREDENTIAL: 'no-such-key' });
  const none = await writ(asked, { WRIT_LOGINS: join(folder, 'none') });

  assert.equal(trail.status, 1);
  assert.match(
    trail.err,
    /does not show the entry at place \d+; the credential needs the scope operator:audit/,
  );
  assert.equal(wrong.status, 4, wrong.err);
  assert.equal(none.status, 4, none.err);
  assert.deepEqual(chunksIn(folder), []);
});

test('audit stream ends with 5 when the service is not there at the first contact', async () => {
  const to = `file:${temporaryFolder()}`;
  const { status, err } = await writ([
    'audit',
    'stream',
    '--service',
    'http://127.0.0.1:1',
    '--to',
    to,
  ]);

  assert.equal(status, 5);
  assert.match(err, /does not answer/);
});

test('audit stream says what is wrong with its options', async () => {
  const wrong: [args: string[], why: RegExp][] = [
    [['--to', 'ftp://host/x'], /expected --to file:<folder>/],
    [['--to', 'file:'], /no folder is named/],
    [['--to', 'https://siem.example/x'], /no state is named; give --state/],
    [['--to', 'http://siem.example/x', '--state', 's'], /entries would travel unencrypted/],
    [['--to', 'https://me:secret@siem.example/x', '--state', 's'], /is not an address/],
    [['--to', 's3://A/x', '--state', 's'], /does not name a bucket/],
    [['--to', 's3://bucket/a/../b', '--state', 's'], /prefix with an empty/],
    [[], /required option/],
  ];
  for (const [args, why] of wrong) {
    const { status, err } = await writ(['audit', 'stream', ...args]);
    assert.equal(status, 2, err);
    assert.match(err, why);
    assert.equal(err.includes('secret'), false);
  }
});

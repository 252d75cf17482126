/**
 * `writ audit stream` at a service whose log was put back, replaced, or begun again after an accepted loss.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { rootText } from '../../src/domain/log/checkpoint.ts';
import { appendLeaves, foldPeaks } from '../../src/domain/log/merkle.ts';
import { ORIGIN_SPAN } from '../../src/domain/log/origin.ts';
import { canonicalJson } from '../../src/domain/wire/canonical.ts';
import { fromHex, toHex } from '../../src/domain/wire/hash.ts';
import { readEntry } from '../../src/verify/leaf.ts';
import {
  type Desk,
  FIRST_OPERATOR,
  folder,
  life,
  ownFolder,
  PLACES,
  type Place,
  writ,
} from '../log/restored-desk.ts';
import { temporaryFolder } from '../support/ends.ts';
import { eventually } from '../support/world.ts';
import { chunksIn, placesIn, upTo } from './desk.ts';

ownFolder();

function stream(place: Place, { url }: Desk, archive: string) {
  const to = ['--to', `file:${archive}`, '--once', '--chunk-entries', '2'];
  return writ(['audit', 'stream', '--service', url, ...to], place, FIRST_OPERATOR);
}

/** The outcome of each check, by its name. */
async function verified(place: Place, archive: string) {
  const { out } = await writ(['verify', 'stream', archive, '--json'], place);
  const { verdict, checks } = JSON.parse(out);
  const found = new Map<string, { outcome: string; detail: string }>(
    checks.map((check: { what: string }) => [check.what, check]),
  );
  return { verdict, found, out };
}

async function recover(place: Place): Promise<void> {
  const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
  assert.equal(recovered.status, 0, recovered.err);
}

async function worked(desk: Desk, count: number): Promise<void> {
  for (let at = 0; at < count; at++) await desk.issue();
}

/** Adds a chunk with a made-up entry after the first `count` chunks. */
function forgeEnd(archive: string, count: number): void {
  const names = chunksIn(archive);
  const linesOf = (name: string) =>
    readFileSync(join(archive, name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  const save = (number: number, [header, ...lines]: object[]) => {
    const all = [{ ...header, chunk: number }, ...lines].map((line) => `${canonicalJson(line)}\n`);
    const name = `chunk-${String(number).padStart(12, '0')}.jsonl`;
    writeFileSync(join(archive, name), all.join(''));
  };
  for (const [index, name] of [...names.entries()].reverse()) {
    if (index >= count) save(index + 2, linesOf(name));
  }
  const [header, ...last] = linesOf(names[count - 1] as string);
  const entries = last.flatMap(({ entry }) => (entry ? [entry] : []));
  const hashes = entries.map((each) => (readEntry(each) as { hash: Uint8Array }).hash);
  const known = header.peaks.map((hex: string) => fromHex(hex));
  const { size, peaks } = appendLeaves(header.size, known, hashes);
  const made = { ...entries.at(-1), sequence: size };
  const root = rootText(foldPeaks(appendLeaves(size, peaks, [hashes.at(-1) as Uint8Array]).peaks));
  save(count + 1, [
    { ...header, size, peaks: peaks.map(toHex) },
    { entry: made },
    { ended: { entry_count: size + 1, merkle_root: root } },
  ]);
}

/** A new log, with a checkpoint that covers its first entry. */
async function begun(desk: Desk): Promise<void> {
  await eventually(async () => (await desk.ask('GET', '/readyz')).status === 200);
  await worked(desk, 1);
  assert.ok((await desk.seal()).sequence > ORIGIN_SPAN);
}

for (const [name, open] of Object.entries(PLACES)) {
  describe(name, () => {
    test('audit stream stops at a log that was put back, and goes on with the log after it', async () => {
      const place = await open();
      const archive = temporaryFolder();
      await life(place, async (desk) => {
        await worked(desk, 3);
        await desk.seal();
        assert.equal((await stream(place, desk, archive)).status, 0);
      });
      await place.keep();
      await life(place, async (desk) => {
        await worked(desk, 4);
        await desk.seal();
        assert.equal((await stream(place, desk, archive)).status, 0);
      });
      await place.restore();
      const chunks = chunksIn(archive);
      const held = readFileSync(join(archive, 'state.json'), 'utf8');
      const before = placesIn(archive);

      await life(place, async (desk) => {
        const { status, err } = await stream(place, desk, archive);
        assert.equal(status, 1);
        assert.match(
          err,
          /shows a log that does not extend what was exported: its newest is checkpoint \d+ with 4 entries/,
        );
        assert.match(err, /nothing more is written; see docs\/export\.md/);
      });
      assert.deepEqual(chunksIn(archive), chunks);
      assert.equal(readFileSync(join(archive, 'state.json'), 'utf8'), held);

      await recover(place);
      await life(place, async (desk) => {
        await begun(desk);
        const { status, out, err } = await stream(place, desk, archive);
        assert.equal(status, 0, err);
        assert.match(out, /^Log \S+ ended: an operator of the service accepted the loss/);
      });
      // The archive keeps the lost entries, and the new log follows them.
      const places = placesIn(archive);
      assert.deepEqual(places.slice(0, before.length), before);
      assert.equal(places[before.length], ORIGIN_SPAN);
      const { verdict, found, out } = await verified(place, archive);
      assert.equal(verdict, 'incomplete', out);
      assert.equal(found.get('roots')?.outcome, 'ok', out);
      assert.match(
        found.get('breaks')?.detail ?? '',
        /the stream has \d+ entries of log .*, the service kept \d+/,
      );
      assert.match(
        found.get('lost entries')?.detail ?? '',
        /the loss of \d+ (?:entry|entries) that checkpoint \d+ signed/,
      );

      // Entries that no checkpoint signs are not those of the ended log.
      forgeEnd(archive, chunks.length);
      const forged = await verified(place, archive);
      assert.equal(forged.verdict, 'failed', forged.out);
      assert.match(forged.found.get('breaks')?.detail ?? '', /it says that \d+ entries survived/);
    });

    test('audit stream leaves no gap before a break: entries that survived without a checkpoint', async () => {
      const place = await open();
      const [archive, fresh] = [temporaryFolder(), temporaryFolder()];
      await life(place, async (desk) => {
        await worked(desk, 3);
        await desk.seal();
        assert.equal((await stream(place, desk, archive)).status, 0);
        await worked(desk, 3);
      });
      await place.keep();
      await life(place, async (desk) => {
        await worked(desk, 2);
        await desk.seal();
      });
      await place.restore();
      await recover(place);
      await life(place, async (desk) => {
        await begun(desk);
        const behind = await stream(place, desk, archive);
        const whole = await stream(place, desk, fresh);
        assert.equal(behind.status, 0, behind.err);
        assert.equal(whole.status, 0, whole.err);
      });

      for (const each of [archive, fresh]) {
        const places = placesIn(each);
        const end = places.indexOf(ORIGIN_SPAN);
        assert.ok(end >= 7);
        assert.deepEqual(places.slice(0, end), upTo(end));
        const { verdict, found, out } = await verified(place, each);
        assert.equal(verdict, 'incomplete', out);
        assert.equal(found.get('breaks')?.outcome, 'ok', out);
        assert.equal(found.get('cover')?.outcome, 'ok', out);
      }
      assert.deepEqual(placesIn(archive), placesIn(fresh));
    });

    test('audit stream stops at a history that was signed anew from an older copy', async () => {
      const place = await open();
      const archive = temporaryFolder();
      await life(place, async (desk) => worked(desk, 3));
      await place.keep();
      await life(place, async (desk) => {
        await worked(desk, 2);
        await desk.seal();
        assert.equal((await stream(place, desk, archive)).status, 0);
      });
      await place.restore();
      for (const part of ['', '-wal', '-shm'])
        rmSync(join(folder, `mark.db${part}`), { force: true });
      const args = ['recover', '--accept-missing-mark'];
      assert.equal((await writ(args, place, FIRST_OPERATOR)).status, 0);
      const before = chunksIn(archive);
      await life(place, async (desk) => {
        // The service signs the numbers that the target has again, and then higher ones.
        for (let seals = 0; seals < 3; seals++) {
          await worked(desk, 3);
          await desk.seal();
          const { status, err } = await stream(place, desk, archive);
          assert.equal(status, 1, err);
          assert.match(err, /does not extend what was exported: (its newest is|it does not know)/);
        }
      });

      assert.deepEqual(chunksIn(archive), before);
    });

    test('audit stream stops at a service whose store was replaced', async () => {
      const place = await open();
      const archive = temporaryFolder();
      const other = temporaryFolder();
      await life(place, async (desk) => {
        await worked(desk, 3);
        await desk.seal();
        assert.equal((await stream(place, desk, archive)).status, 0);
      });
      cpSync(archive, other, { recursive: true });
      await place.remove();
      await life(place, async (desk) => {
        await worked(desk, 1).catch(() => undefined);
        const { status, err } = await stream(place, desk, archive);
        assert.equal(status, 1, err);
        assert.match(err, /does not extend what was exported/);
      });

      assert.deepEqual(chunksIn(archive), chunksIn(other));
    });
  });
}

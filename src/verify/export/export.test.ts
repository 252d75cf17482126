import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  cosigned,
  detail,
  fileOf,
  JWKS,
  LOG_KID,
  listed,
  logLines,
  NOW,
  ORIGIN,
  rootAt,
  SERVICE,
  signedNote,
  smallLog,
  trailLines,
  WITNESS_VKEY,
} from '../../../test/verify/artefacts.ts';
import { type NoteKey, readVkey } from '../../domain/log/note-key.ts';
import type { ExportedDetail } from '../../protocol/export.ts';
import type { Report } from '../report.ts';
import { verifyExport } from './export.ts';
import type { ExportAnchors } from './lines.ts';

// Each flipped byte is a whole verification with its signatures.
const SLOW = 240_000;

const DAY_MS = 86_400_000;

/** Signatures are verified on other threads, so several at once take less time. */
const TOGETHER = 16;

const anchors: ExportAnchors = { keys: { pinned: [LOG_KID] }, now: NOW, serviceId: SERVICE };
const log = smallLog();
const lines = logLines(log);

function verified(given: readonly object[], change: Partial<ExportAnchors> = {}) {
  return verifyExport([fileOf(given)], { ...anchors, ...change });
}

function named({ checks }: Report, outcome: string): string[] {
  return checks.filter((check) => check.outcome === outcome).map(({ what }) => what);
}

test('verifyExport() verifies a whole log, whatever pieces it comes in', async () => {
  const file = fileOf(lines);
  for (const size of [1, 7, 1_000, file.length]) {
    const pieces = Array.from({ length: Math.ceil(file.length / size) }, (_, i) =>
      file.slice(i * size, (i + 1) * size),
    );
    const report = await verifyExport(pieces, anchors);

    assert.equal(report.verdict, 'verified', JSON.stringify(report.checks));
    assert.ok(named(report, 'ok').includes('checkpoint roots'));
  }
});

test('verifyExport() does not count the keys in the file as known', async () => {
  const report = await verified(lines, { keys: {} });

  assert.equal(report.verdict, 'incomplete');
  assert.deepEqual(named(report, 'not_checked'), ['checkpoint key', 'checkpoint note key']);
});

test('verifyExport() takes keys that are given instead of those in the file', async () => {
  const given = await verified(lines, { keys: { jwks: JWKS, pinned: 'all' } });
  const others = { keys: JWKS.keys.filter(({ kid }) => kid !== LOG_KID) };
  const without = await verified(lines, { keys: { jwks: others, pinned: 'all' } });

  assert.equal(given.verdict, 'verified');
  assert.equal(without.verdict, 'incomplete');
});

// Canonical JSON has one text for one value and no white space, so no byte is insignificant: each
// of them is a place in a signed text, in a hashed leaf, or in a count that must come out.
for (const [name, given] of [
  ['log', logLines(smallLog([1, 2]))],
  ['trail', trailLines(smallLog([3]), [0, 2])],
] as const) {
  test(`verifyExport() notices every flipped byte of a ${name}`, { timeout: SLOW }, async () => {
    const file = fileOf(given);
    const asked = { ...anchors, isTrail: true };
    assert.equal((await verifyExport([file], asked)).verdict, 'verified');
    // Two masks: a neighbour in the alphabet, and the other case of a letter.
    const flipped = async (at: number) => {
      const changed = file.with(at, (file[at] ?? 0) ^ (at % 2 === 0 ? 0x01 : 0x20));
      return (await verifyExport([changed], asked)).verdict;
    };
    const unnoticed: string[] = [];
    for (let start = 0; start < file.length; start += TOGETHER) {
      const verdicts = await Promise.all(places(start, file.length).map(flipped));
      verdicts.forEach((verdict, i) => {
        if (verdict === 'verified') unnoticed.push(around(file, start + i));
      });
    }

    assert.deepEqual(unnoticed, []);
  });
}

/** Up to `TOGETHER` places from `start`. */
function places(start: number, end: number): number[] {
  return Array.from({ length: Math.min(TOGETHER, end - start) }, (_, i) => start + i);
}

function around(file: Uint8Array, at: number): string {
  return new TextDecoder().decode(file.slice(Math.max(0, at - 20), at + 20));
}

test('verifyExport() notices a file that was cut anywhere', async () => {
  const file = fileOf(lines);
  for (let end = 0; end < file.length; end += 97) {
    const { verdict } = await verifyExport([file.slice(0, end)], anchors);
    assert.equal(verdict, 'failed', `at ${end}`);
  }
  assert.equal((await verifyExport([file.slice(0, -1)], anchors)).verdict, 'failed');
});

test('verifyExport() notices lines that were dropped, doubled or moved', async () => {
  for (let at = 1; at < lines.length; at++) {
    const dropped = lines.toSpliced(at, 1);
    const doubled = lines.toSpliced(at, 0, lines[at] as object);
    const moved = lines.toSpliced(at, 1).toSpliced(at === 1 ? 2 : at - 1, 0, lines[at] as object);
    for (const changed of [dropped, doubled, moved]) {
      assert.equal((await verified(changed)).verdict, 'failed', `line ${at}`);
    }
  }
});

test('verifyExport() notices an entry of a trail that names another position than its proof', async () => {
  const [header, line] = trailLines(log, [3]) as [object, { entry: object }];
  const moved = [header, { ...line, entry: { ...line.entry, sequence: 2 } }];

  assert.deepEqual(named(await verified(moved, { isTrail: true }), 'failed'), ['inclusion']);
});

test('verifyExport() notices a history that was rewritten with new signatures of its own', async () => {
  const other = smallLog([2, 5], 100);
  const spliced = [...lines.slice(0, 4), ...logLines(other).slice(4)];

  assert.deepEqual(named(await verified(spliced), 'failed'), ['checkpoint roots']);
});

test('verifyExport() notices a checkpoint that was left out between two others', async () => {
  const gap = detail(3, 5, rootAt(log, 5));
  const report = await verified([...lines.slice(0, -1), { checkpoint: gap }]);

  assert.deepEqual(named(report, 'failed'), ['checkpoint order']);
});

test('verifyExport() says which entries no checkpoint covers', async () => {
  const header = { ...lines[0], checkpoints: 1 };
  const report = await verified([header, ...lines.slice(1, -1)]);

  assert.equal(report.verdict, 'incomplete');
  assert.deepEqual(named(report, 'not_checked'), ['cover']);
});

test('verifyExport() says how many entries are missing that the newest checkpoint covers', async () => {
  const { checkpoint } = lines.at(-1) as { checkpoint: { sequence: number; entry_count: number } };
  const { sequence, entry_count: covered } = checkpoint;
  const report = await verified(lines.toSpliced(1, 1));
  const cover = report.checks.find(({ what }) => what === 'cover');

  assert.deepEqual(cover, {
    what: 'cover',
    outcome: 'failed',
    detail: `checkpoint ${sequence} covers ${covered} entries, the file has ${covered - 1}`,
  });
});

test('verifyExport() keeps the tree and says so when contents were erased', async () => {
  const erased = lines.map((line) => {
    if (!('entry' in line)) return line;
    const { leaf: _, ...entry } = line.entry as Record<string, unknown>;
    return { entry };
  });
  const report = await verified(erased);

  assert.deepEqual(named(report, 'not_checked'), ['leaves']);
  assert.ok(named(report, 'ok').includes('checkpoint roots'));
});

test('verifyExport() looks for a witness on the newest checkpoint only', async () => {
  const noteKeys = [readVkey(WITNESS_VKEY) as NoteKey];
  const keys = { pinned: [LOG_KID], noteKeys };
  const newest = lines.at(-1) as { checkpoint: { tree_head: string } };
  const tree_head = cosigned(newest.checkpoint.tree_head);
  const seen = [...lines.slice(0, -1), { checkpoint: { ...newest.checkpoint, tree_head } }];

  assert.equal((await verified(seen, { keys })).verdict, 'verified');
  assert.equal((await verified(lines, { keys })).verdict, 'incomplete');
});

test('verifyExport() refuses the log of another service', async () => {
  assert.equal((await verified(lines, { serviceId: 'hotel-desk' })).verdict, 'failed');
});

// Four checkpoints: the holder of a receipt fetches one, a second may be under way by then.
const sealedOften = smallLog([1, 2, 3, 4]);
const LOST = { entry_id: log.entries[0]?.entry_id, leaf_hash: 'ab'.repeat(32) };

function receiptCheck({ checks }: Report) {
  const { outcome, detail } = checks.find(({ what }) => what === 'receipt') ?? {};
  return `${outcome}: ${detail}`;
}

test('verifyExport() finds the leaf of a receipt in the log', async () => {
  const [first] = log.entries;
  const receipt = { entry_id: first?.entry_id, leaf_hash: first?.leaf_hash };

  assert.equal((await verified(lines, { receipt })).verdict, 'verified');
});

test('verifyExport() proves a drop by the second checkpoint after the fetched one, and none before', async () => {
  const all = logLines(sealedOften);
  const outcomes = await Promise.all(
    sealedOften.checkpoints.map((after) => verified(all, { receipt: LOST, after })),
  );
  const bare = await verified(all, {
    receipt: LOST,
    after: listed(sealedOften.checkpoints[1] as ExportedDetail),
  });

  const [first, second, third, fourth] = outcomes.map(receiptCheck);
  assert.match(first ?? '', /^failed: dropped: .* of 4 entries .* checkpoint 3 was begun after/);
  assert.match(second ?? '', /^failed: dropped: .* checkpoint 4 was begun after/);
  assert.equal(receiptCheck(bare), second);
  assert.match(
    third ?? '',
    /^not_checked: .* ends with checkpoint 4; export it again when it has 5/,
  );
  assert.match(fourth ?? '', /^not_checked: .* export it again when it has 6/);
});

test('verifyExport() proves nothing by times: an honest clock may run ahead, or be set back', async () => {
  const ahead = smallLog(
    [1, 2, 3],
    0,
    (sequence) => new Date(NOW.getTime() + (400 - sequence) * DAY_MS),
  );
  const [, second] = ahead.checkpoints;

  const whole = await verified(logLines(ahead));
  const undated = await verified(logLines(ahead), { receipt: LOST });
  const later = await verified(logLines(ahead), { receipt: LOST, after: second });

  assert.equal(whole.verdict, 'verified', JSON.stringify(whole.checks));
  assert.match(
    receiptCheck(undated),
    /^not_checked: .* a checkpoint fetched after the receipt is needed/,
  );
  assert.match(receiptCheck(later), /^not_checked: .* export it again when it has 4/);
});

test('verifyExport() proves no drop by a checkpoint or a log that is not verified', async () => {
  const all = logLines(sealedOften);
  const [after] = sealedOften.checkpoints;
  const forged = { ...after, sequence: 2 };
  const beyond = { ...detail(9, 4, rootAt(sealedOften, 4)) };

  for (const [given, change] of [
    [all, { after: forged }],
    [all, { after: { checkpoint: 1 } }],
    [all, { after: beyond }],
    [all, { after, keys: { pinned: [] } }],
    [all.slice(0, -1), { after }],
  ] as const) {
    const report = await verified(given, { receipt: LOST, ...change });
    assert.match(receiptCheck(report), /^not_checked: /);
    assert.notEqual(report.verdict, 'verified');
  }
});

test('verifyExport() notices that two checkpoints were signed under one number', async () => {
  const other = smallLog([1, 2, 3, 4], 100);
  const [after] = other.checkpoints as [ExportedDetail];
  const asked = { receipt: LOST, after };
  const report = await verified(logLines(sealedOften), asked);
  const bare = await verified(logLines(sealedOften), { ...asked, after: listed(after) });
  const note = signedNote({ origin: `${ORIGIN}x`, size: 1, root: rootAt(other, 1) });
  const begun = await verified(logLines(sealedOften), {
    ...asked,
    after: { ...after, tree_head: note },
  });

  assert.deepEqual(named(report, 'failed'), ['after: history']);
  // A service that lost its database begins a new log, with numbers from one.
  for (const { verdict, checks } of [bare, begun]) {
    assert.equal(verdict, 'incomplete', JSON.stringify(checks));
    assert.match(JSON.stringify(checks), /nothing shows that both are of one log/);
  }
});

test('verifyExport() verifies a trail, and says what a trail cannot show', async () => {
  const trail = trailLines(log, [0, 3, 4]);
  const asked = { isTrail: true };
  const report = await verified(trail, asked);
  const lost = { entry_id: log.entries[0]?.entry_id, leaf_hash: 'ab'.repeat(32) };

  assert.equal(report.verdict, 'verified', JSON.stringify(report.checks));
  assert.match(report.limits.join(), /left out/);
  assert.equal((await verified(trailLines(log, []), asked)).verdict, 'verified');
  assert.deepEqual(named(await verified(trail), 'not_checked'), ['whole log']);
  assert.deepEqual(named(await verified(trail, { ...asked, receipt: lost }), 'not_checked'), [
    'receipt',
  ]);
  assert.deepEqual(named(await verified(trailLines(log, [3, 0]), asked), 'failed'), ['order']);
});

test('verifyExport() reads no line that is longer than any of ours', async () => {
  const long = new Uint8Array(600 * 1024).fill(0x20);

  assert.equal((await verifyExport([fileOf(lines), long], anchors)).verdict, 'failed');
});

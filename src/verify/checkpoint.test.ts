import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { test } from 'vitest';
import {
  cosigned,
  JWKS,
  LOG_KID,
  LOG_SPKI,
  LOG_VKEY,
  listed,
  NOW,
  ORIGIN,
  rootAt,
  SERVICE,
  signedNote,
  smallLog,
  WITNESS_VKEY,
} from '../../test/verify/artefacts.ts';
import { readVkey } from '../domain/log/note-key.ts';
import { verifyCheckpoint } from './checkpoint.ts';
import { verifyConsistency } from './consistency.ts';
import { verifyEntry } from './entry.ts';
import { type KeySource, readKeys } from './keys.ts';
import { verifyReceipt } from './receipt.ts';
import type { Report } from './report.ts';

const log = smallLog();
const [earlier, later] = log.checkpoints as [Detail, Detail];
type Detail = (typeof log.checkpoints)[number];

const anchors = anchorsOf({ jwks: JWKS, pinned: [LOG_KID] });

function anchorsOf(source: KeySource) {
  const keys = readKeys(source);
  assert.ok('keys' in keys);
  return { keys, now: NOW, serviceId: SERVICE };
}

function vkeys(...texts: string[]) {
  return texts.map((text) => {
    const key = readVkey(text);
    assert.ok(key);
    return key;
  });
}

function named({ checks }: Report, outcome: string): string[] {
  return checks.filter((check) => check.outcome === outcome).map(({ what }) => what);
}

test('verifyCheckpoint() verifies both forms, and gives the signed head', async () => {
  const report = await verifyCheckpoint(later, anchors);

  assert.equal(report.verdict, 'verified');
  assert.deepEqual(report.head, { first: 0, size: 5, root: rootAt(log, 5) });
  assert.ok(named(report, 'ok').includes(`note signature of "${ORIGIN}"`));
});

test('verifyCheckpoint() verifies a checkpoint of a listing, which has no note', async () => {
  assert.equal((await verifyCheckpoint(listed(later), anchors)).verdict, 'verified');
});

test('verifyCheckpoint() needs nothing but the key of the log in one word', async () => {
  const report = await verifyCheckpoint(later, anchorsOf({ noteKeys: vkeys(LOG_VKEY) }));

  assert.equal(report.verdict, 'verified');
});

test('verifyCheckpoint() does not count keys of the service itself as known', async () => {
  const report = await verifyCheckpoint(later, anchorsOf({ jwks: JWKS }));

  assert.equal(report.verdict, 'incomplete');
  assert.deepEqual(named(report, 'not_checked'), ['key', 'note key']);
});

test('verifyCheckpoint() refuses it when any field was changed', async () => {
  const changes: Partial<Detail>[] = [
    { checkpoint_id: earlier.checkpoint_id },
    { sequence: 3 },
    { merkle_root: earlier.merkle_root },
    { entry_count: 4 },
    { created_at: earlier.created_at },
    { timestamp: earlier.timestamp },
    { signature: earlier.signature },
    { tree_size: 4 },
    { tree_head: earlier.tree_head },
    { tree_head: later.tree_head.replace('\n5\n', '\n05\n') },
    { tree_head: signedNote({ origin: ORIGIN, size: 5, root: rootAt(log, 4) }) },
    { tree_head: signedNote({ origin: 'hotel-desk/log/1', size: 5, root: rootAt(log, 5) }) },
    { tree_head: 5 as unknown as string },
  ];
  for (const change of changes) {
    const { verdict } = await verifyCheckpoint({ ...later, ...change }, anchors);
    assert.equal(verdict, 'failed', JSON.stringify(change));
  }
});

test('verifyCheckpoint() refuses it for another service', async () => {
  const report = await verifyCheckpoint(later, { ...anchors, serviceId: 'hotel-desk' });

  assert.deepEqual(named(report, 'failed'), ['signature', 'note']);
  assert.equal(report.head, undefined);
});

test('verifyCheckpoint() refuses a note when any byte of its signature was changed', async () => {
  const start = later.tree_head.lastIndexOf(' ') + 1;
  const [text, encoded] = [later.tree_head.slice(0, start), later.tree_head.slice(start).trim()];
  const blob = Buffer.from(encoded, 'base64');
  for (let at = 4; at < blob.length; at++) {
    const changed = Buffer.from(blob);
    changed[at] = (changed[at] ?? 0) ^ 1;
    const tree_head = `${text}${changed.toString('base64')}\n`;
    const { verdict } = await verifyCheckpoint({ ...later, tree_head }, anchors);
    assert.equal(verdict, 'failed', `byte ${at}`);
  }
});

test('verifyCheckpoint() could not check a note that no key at hand signed', async () => {
  const other = later.tree_head.replace(/— \S+ (.{6})/, '— other.example $1');
  const report = await verifyCheckpoint({ ...later, tree_head: other }, anchors);

  assert.deepEqual(named(report, 'not_checked'), ['note signature']);
});

test('verifyCheckpoint() looks for each witness that it was given', async () => {
  const witnessed = { ...later, tree_head: cosigned(later.tree_head) };
  const strict = anchorsOf({ jwks: JWKS, pinned: [LOG_KID], noteKeys: vkeys(WITNESS_VKEY) });

  const seen = await verifyCheckpoint(witnessed, strict);
  const unseen = await verifyCheckpoint(later, strict);
  const forged = cosigned(later.tree_head).replace(later.tree_head, cosigned(earlier.tree_head));

  assert.equal(seen.verdict, 'verified');
  assert.match(JSON.stringify(seen.checks), /witness\.example\/w1.*seen at 2090-01-01T11:00:00/);
  assert.deepEqual(named(unseen, 'not_checked'), ['note signature of "witness.example/w1"']);
  const bare = await verifyCheckpoint(listed(witnessed), strict);
  assert.deepEqual(named(bare, 'not_checked'), ['note signature of "witness.example/w1"']);
  assert.equal((await verifyCheckpoint({ ...later, tree_head: forged }, strict)).verdict, 'failed');
});

test('a note verifies by the text of its specification alone', () => {
  // Written from C2SP signed-note, with nothing of ours: lines, base64, SHA-256 and OpenSSL.
  const [text = '', lines = ''] = later.tree_head.split(/(?<=\n)\n/);
  const [dash, name, encoded = ''] = lines.trimEnd().split(' ');
  const blob = Buffer.from(encoded, 'base64');
  const spki = Buffer.from(LOG_SPKI);
  const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });

  assert.equal(dash, '\u2014');
  assert.equal(name, text.split('\n')[0]);
  assert.deepEqual(blob.subarray(0, 4), createHash('sha256').update(spki).digest().subarray(0, 4));
  assert.equal(verify('sha256', Buffer.from(text), key, blob.subarray(4)), true);
  assert.equal(text.split('\n')[1], String(later.entry_count));
  const root = Buffer.from(text.split('\n')[2] ?? '', 'base64').toString('hex');
  assert.equal(`sha256:${root}`, later.merkle_root);
});

for (const [index, entry] of log.entries.entries()) {
  test(`verifyEntry() verifies entry ${index} under the later checkpoint`, async () => {
    const checkpoint = { ...later, inclusion_proof: log.inclusion(index, 5) };
    const report = await verifyEntry({ entry, checkpoint }, anchors);

    assert.equal(report.verdict, 'verified');
    assert.equal(report.entry?.entry_id, entry.entry_id);
  });
}

const [first, second] = log.entries as [Entry, Entry];
type Entry = (typeof log.entries)[number];
const proved = { ...later, inclusion_proof: log.inclusion(0, 5) };

const entries: [name: string, entry: object, checkpoint: object, failed: string][] = [
  ['a field that its leaf contradicts', { ...first, capability: 'x' }, proved, 'entry'],
  ['a field that its leaf does not say', { ...first, note: 'x' }, proved, 'entry'],
  ['a field less than its leaf says', { ...first, task_id: null }, proved, 'entry'],
  ['the leaf of another', { ...first, leaf: second.leaf }, proved, 'entry'],
  [
    'the leaf and hash of another',
    { ...first, leaf: second.leaf, leaf_hash: second.leaf_hash },
    proved,
    'entry',
  ],
  ['the personal fields of another', { ...first, personal: second.personal }, proved, 'entry'],
  ['a personal field that is nowhere said', { ...first, personal: undefined }, proved, 'entry'],
  ['another place', { ...first, sequence: 1 }, proved, 'inclusion'],
  ['the proof of another', first, { ...later, inclusion_proof: log.inclusion(1, 5) }, 'inclusion'],
  [
    'a proof for another tree',
    first,
    { ...later, inclusion_proof: log.inclusion(0, 2) },
    'inclusion',
  ],
  ['a proof that is none', first, { ...later, inclusion_proof: {} }, 'inclusion'],
];
for (const [name, entry, checkpoint, failed] of entries) {
  test(`verifyEntry() refuses an entry with ${name}`, async () => {
    const report = await verifyEntry({ entry, checkpoint }, anchors);

    assert.deepEqual(named(report, 'failed'), [failed]);
    assert.equal(report.entry, undefined);
  });
}

test('verifyEntry() could not check an entry without leaf or without proof', async () => {
  const { leaf: _, ...erased } = first;
  const bare = await verifyEntry({ entry: erased, checkpoint: proved }, anchors);
  const unproved = await verifyEntry({ entry: first, checkpoint: later }, anchors);

  assert.deepEqual(named(bare, 'not_checked'), ['entry']);
  assert.deepEqual(named(unproved, 'not_checked'), ['inclusion']);
});

test('verifyEntry() checks what is left of an entry whose personal fields were erased', async () => {
  const names = ['actor_key', 'root_principal', 'client_reference_id', 'task_id', 'personal'];
  const kept = Object.entries(first).filter(([name]) => !names.includes(name));
  const gone = names.slice(0, -1).map((name) => [name, null]);
  const entry = { ...Object.fromEntries([...kept, ...gone]), erased: 'personal' };

  const strict = await verifyEntry({ entry, checkpoint: proved }, anchors);
  const lenient = await verifyEntry(
    { entry, checkpoint: proved },
    { ...anchors, allowErased: true },
  );
  const made = { ...entry, task_id: 'made up' };

  assert.deepEqual(named(strict, 'not_checked'), ['entry']);
  assert.equal(lenient.verdict, 'verified');
  assert.deepEqual(
    named(await verifyEntry({ entry: made, checkpoint: proved }, anchors), 'failed'),
    ['entry'],
  );
});

test('verifyEntry() holds no proof against a root that nobody signed', async () => {
  const checkpoint = { ...proved, sequence: 9 };
  const report = await verifyEntry({ entry: first, checkpoint }, anchors);

  assert.deepEqual(named(report, 'not_checked'), ['inclusion']);
  assert.equal(report.verdict, 'failed');
});

test('verifyConsistency() verifies that the later log begins with the earlier', async () => {
  const pair = { earlier, later: { ...later, consistency_proof: log.consistency(2, 5) } };

  assert.equal((await verifyConsistency(pair, anchors)).verdict, 'verified');
  assert.equal((await verifyConsistency({ earlier, later: earlier }, anchors)).verdict, 'verified');
});

test('verifyConsistency() goes by number and size: the clock of an honest log may be set back', async () => {
  const back = smallLog([2, 5], 0, (sequence) => new Date(NOW.getTime() - sequence * 86_400_000));
  const [before, after] = back.checkpoints;
  const pair = { earlier: before, later: { ...after, consistency_proof: back.consistency(2, 5) } };

  assert.equal((await verifyConsistency(pair, anchors)).verdict, 'verified');
});

test('verifyConsistency() refuses another history, a changed proof and the wrong order', async () => {
  const proof = log.consistency(2, 5);
  const rewritten = smallLog([2], 100).checkpoints[0] as Detail;
  const flipped = { ...proof, hashes: proof?.hashes.map((hash) => hash.replace(/^./, 'f')) };
  const pairs: [failed: string[], earlier: object, later: object][] = [
    [['consistency'], rewritten, { ...later, consistency_proof: proof }],
    [['consistency'], earlier, { ...later, consistency_proof: flipped }],
    [['consistency'], earlier, { ...later, consistency_proof: {} }],
    [['order', 'consistency'], later, { ...earlier, consistency_proof: proof }],
  ];
  for (const [failed, before, after] of pairs) {
    const report = await verifyConsistency({ earlier: before, later: after }, anchors);
    assert.deepEqual(named(report, 'failed'), failed);
  }
});

test('verifyConsistency() could not check two sizes without a proof', async () => {
  const report = await verifyConsistency({ earlier, later }, anchors);

  assert.deepEqual(named(report, 'not_checked'), ['consistency']);
});

test('verifyReceipt() finds the leaf of a receipt under a later checkpoint', async () => {
  const receipt = { entry_id: first.entry_id, leaf_hash: first.leaf_hash };
  const present = await verifyReceipt({ receipt, checkpoint: proved }, anchors);
  const other = { ...receipt, leaf_hash: second.leaf_hash };
  const absent = await verifyReceipt({ receipt: other, checkpoint: proved }, anchors);

  assert.equal(present.verdict, 'verified');
  assert.deepEqual(named(absent, 'failed'), ['inclusion']);
  assert.match(present.limits.join(), /not signed/);
});

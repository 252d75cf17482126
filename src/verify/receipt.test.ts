import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  detail,
  fileOf,
  JWKS,
  LOG_ID,
  LOG_KID,
  listed,
  logLines,
  NOW,
  rootAt,
  SERVICE,
  signedNote,
  signedReceipts,
  smallLog,
  TOKEN_KID,
  trailLines,
} from '../../test/verify/artefacts.ts';
import { logOrigin } from '../domain/log/checkpoint.ts';
import { verifyExport } from './export/export.ts';
import type { ExportAnchors } from './export/lines.ts';
import { type KeySource, readKeys } from './keys.ts';
import { verifyReceipt, verifySignedReceipt } from './receipt.ts';
import type { Report } from './report.ts';

const log = smallLog();
const receipts = signedReceipts(log.entries);
const [receipt, second] = receipts as [Signed, Signed];
type Signed = (typeof receipts)[number];

const anchors = anchorsOf({ jwks: JWKS, pinned: [LOG_KID] });

function anchorsOf(source: KeySource) {
  const keys = readKeys(source);
  assert.ok('keys' in keys);
  return { keys, now: NOW, serviceId: SERVICE };
}

function named({ checks }: Report, outcome: string): string[] {
  return checks.filter((check) => check.outcome === outcome).map(({ what }) => what);
}

function altered(signed: Partial<Signed['signed']>): Signed {
  return { ...receipt, signed: { ...receipt.signed, ...signed } };
}

test('verifySignedReceipt() verifies every receipt under one signature, by the keys alone', async () => {
  for (const each of receipts) {
    const { verdict, checks, limits } = await verifySignedReceipt(each, anchors);

    assert.equal(verdict, 'verified', JSON.stringify(checks));
    assert.match(limits.join(), /that the entry is in the log: that takes a checkpoint/);
    assert.match(limits.join(), /that the promise begins soon/);
    assert.doesNotMatch(limits.join(), /not signed/);
  }
});

const other = signedReceipts(smallLog([5], 50).entries)[0] as Signed;
const tampered: Record<string, unknown> = {
  'another entry': { ...receipt, entry_id: second.entry_id },
  'another leaf': { ...receipt, leaf_hash: second.leaf_hash },
  'another log': altered({ log_id: `${LOG_ID}x` }),
  'an earlier checkpoint': altered({ last_checkpoint: 0 }),
  'an earlier signature': altered({ signed_at: '2090-01-01T10:59:59.999Z' }),
  'the same time in other letters': altered({ signed_at: '2090-01-01T11:00:00.0000Z' }),
  'a later promise': altered({ included_by: '2099-01-01T00:00:00.000Z' }),
  'a larger tree': altered({ tree_size: 6 }),
  'a smaller tree': altered({ tree_size: 4 }),
  'another place': altered({ leaf_index: 1 }),
  'a place behind the tree': altered({ leaf_index: 5 }),
  'a place far behind the tree': altered({ leaf_index: Number.MAX_SAFE_INTEGER }),
  'a negative place': altered({ leaf_index: -1 }),
  'the path of another leaf': altered({ path: second.signed.path }),
  'a path that is too long': altered({ path: [...receipt.signed.path, '00'.repeat(32)] }),
  'a path longer than any': altered({ path: Array(100).fill('00'.repeat(32)) }),
  'a path that is too short': altered({ path: receipt.signed.path.slice(1) }),
  'a path of other text': altered({ path: ['', '', ''] }),
  'a signature of another tree': altered({ signature: other.signed.signature }),
  'a signature of a checkpoint': altered({ signature: log.checkpoints[0]?.signature as string }),
  'no signature': altered({ signature: '' }),
  'no receipt': { entry_id: receipt.entry_id },
  nothing: null,
};
for (const [what, given] of Object.entries(tampered)) {
  test(`verifySignedReceipt() fails for ${what}`, async () => {
    const { verdict, checks } = await verifySignedReceipt(given, anchors);

    assert.equal(verdict, 'failed', JSON.stringify(checks));
  });
}

test('verifySignedReceipt() takes only a known log key, of this service', async () => {
  const byTokenKey = signedReceipts(log.entries, { use: 'token' })[0];
  const use = anchorsOf({ jwks: JWKS, pinned: 'all' });
  const keys = {
    ...use.keys,
    keys: use.keys.keys.map((key) =>
      key.kid === TOKEN_KID ? { ...key, use: 'token' as const } : key,
    ),
  };
  const rest = { ...JWKS, keys: JWKS.keys.filter(({ kid }) => kid !== LOG_KID) };

  const misused = await verifySignedReceipt(byTokenKey, { ...anchors, keys });
  const foreign = await verifySignedReceipt(receipt, { ...anchors, serviceId: 'hotel-desk' });
  const unknown = await verifySignedReceipt(receipt, anchorsOf({ jwks: rest, pinned: 'all' }));
  const unpinned = await verifySignedReceipt(receipt, anchorsOf({ jwks: JWKS }));

  assert.deepEqual(named(misused, 'failed'), ['key']);
  assert.deepEqual(named(foreign, 'failed'), ['signature']);
  assert.deepEqual(named(unknown, 'not_checked'), ['signature']);
  assert.deepEqual(named(unpinned, 'not_checked'), ['key']);
});

test('verifySignedReceipt() does not verify a receipt without a signature', async () => {
  const { signed: _, ...bare } = receipt;
  const report = await verifySignedReceipt(bare, anchors);

  assert.equal(report.verdict, 'incomplete');
  assert.match(report.limits.join(), /it is not signed/);
});

test('verifyReceipt() says that a signed receipt alone does not show its entry in the log', async () => {
  const alone = await verifyReceipt({ receipt, checkpoint: undefined }, anchors);
  const forged = await verifyReceipt(
    { receipt: altered({ leaf_index: 1 }), checkpoint: undefined },
    anchors,
  );

  assert.equal(alone.verdict, 'incomplete');
  assert.match(JSON.stringify(alone.checks.at(-1)), /signed by the service, and not yet shown/);
  assert.equal(forged.verdict, 'failed');
});

test('verifyReceipt() checks signature and inclusion where it has both', async () => {
  const checkpoint = { ...log.checkpoints[1], inclusion_proof: log.inclusion(0, 5) };

  const both = await verifyReceipt({ receipt, checkpoint }, anchors);
  const forged = await verifyReceipt({ receipt: altered({ log_id: 'x' }), checkpoint }, anchors);

  assert.equal(both.verdict, 'verified', JSON.stringify(both.checks));
  assert.ok(named(both, 'ok').includes('receipt: signature'));
  assert.deepEqual(named(forged, 'failed'), ['receipt: signature']);
});

const DAY_MS = 86_400_000;

// The search in a file. The newest checkpoint of this log is dated two seconds after the receipts.
const sought: ExportAnchors = { keys: { pinned: [LOG_KID] }, now: NOW, serviceId: SERVICE };
const NEWEST = '2090-01-01T11:00:02.000Z';
const lostEntries = smallLog([3], 77).entries;
const lost = (promise: Parameters<typeof signedReceipts>[1]) =>
  signedReceipts(lostEntries, promise)[2];

async function searched(lines: readonly object[], given: unknown, change: object = {}) {
  const report = await verifyExport([fileOf(lines)], { ...sought, receipt: given, ...change });
  const { outcome, detail } = report.checks.find(({ what }) => what === 'receipt') ?? {};
  return { report, said: `${outcome}: ${detail}` };
}

test('verifyExport() proves by a signed receipt and the date of a checkpoint that an entry was dropped', async () => {
  const { report, said } = await searched(logLines(log), lost({ included_by: NEWEST }));

  assert.equal(report.verdict, 'failed');
  assert.match(said, /^failed: dropped: .* of 5 entries .*; checkpoint 2 is dated .* promised/);
  assert.doesNotMatch(report.limits.join(), /not signed|fetched it/);
});

test('verifyExport() proves the same by the order of checkpoints, whatever their dates are', async () => {
  const never = '9999-12-31T23:59:59.000Z';
  const { said } = await searched(logLines(log), lost({ last_checkpoint: 0, included_by: never }));

  assert.match(said, /^failed: dropped: .* checkpoint 2 was begun after the receipt was signed/);
});

test('verifyExport() waits for the next checkpoint where the first after the receipt has no such date', async () => {
  const included_by = '2090-01-01T11:00:02.001Z';
  const { report, said } = await searched(logLines(log), lost({ included_by }));

  assert.equal(report.verdict, 'incomplete');
  assert.match(said, /^not_checked: .* ends with checkpoint 2; export it again when it has 3/);
});

test('verifyExport() proves no drop by a checkpoint from before, whatever its date is', async () => {
  const ahead = smallLog([2, 5], 0, () => new Date(NOW.getTime() + DAY_MS));

  const { said } = await searched(logLines(ahead), lost({ last_checkpoint: 2 }));
  const later = await searched(logLines(ahead), lost({ last_checkpoint: 1 }));

  assert.match(said, /^not_checked: .* ends with checkpoint 2; export it again when it has 4/);
  assert.match(later.said, /^failed: dropped: /);
});

test('verifyExport() proves no drop from another log, a log without a name, or a trail', async () => {
  const included_by = NEWEST;
  const newest = log.checkpoints[1] as (typeof log.checkpoints)[number];
  const renamed = {
    ...newest,
    tree_head: signedNote({
      origin: logOrigin(SERVICE, 'begun-anew'),
      size: 5,
      root: rootAt(log, 5),
    }),
  };
  const withNewest = (checkpoint: object) => [...logLines(log).slice(0, -1), { checkpoint }];

  const foreign = await searched(logLines(log), lost({ included_by, log_id: 'another' }));
  const anew = await searched(withNewest(renamed), lost({ included_by }));
  const nameless = await searched(withNewest(listed(newest)), lost({ included_by }));
  const trail = await searched(trailLines(log, [0]), lost({ included_by }), { isTrail: true });

  assert.match(foreign.said, /^not_checked: .* the receipt is of log "another"/);
  assert.match(anew.said, /^not_checked: .* the newest checkpoint is of ".*begun-anew"/);
  assert.match(nameless.said, /^not_checked: .* no note names the log/);
  assert.match(trail.said, /^not_checked: .* only a whole log/);
  for (const { report } of [foreign, anew, nameless, trail]) {
    assert.equal(report.verdict, 'incomplete', JSON.stringify(report.checks));
  }
});

test('verifyExport() proves no drop by a receipt or a file that is not verified', async () => {
  const promised = lost({ included_by: NEWEST }) as Signed;
  const earlier = { ...promised, signed: { ...promised.signed, signed_at: NOW.toISOString() } };
  const rest = { ...JWKS, keys: JWKS.keys.filter(({ kid }) => kid !== LOG_KID) };

  const forged = await searched(logLines(log), earlier);
  const cut = await searched(logLines(log).slice(0, -1), promised);
  const unpinned = await searched(logLines(log), promised, { keys: {} });
  const unknown = await searched(logLines(log), promised, { keys: { jwks: rest, pinned: 'all' } });

  assert.deepEqual(named(forged.report, 'failed'), ['receipt: signature']);
  for (const { said } of [forged, cut, unpinned, unknown]) assert.match(said, /^not_checked: /);
});

test('verifyExport() finds the leaf of a signed receipt, whatever the receipt promises', async () => {
  const { report } = await searched(logLines(log), receipts[3]);

  assert.equal(report.verdict, 'verified', JSON.stringify(report.checks));
});

test('verifyExport() still uses a fetched checkpoint where the promise shows nothing yet', async () => {
  const often = smallLog([1, 2, 3, 4]);
  const later = lost({ last_checkpoint: 3, included_by: NOW.toISOString() });
  const after = often.checkpoints[0];

  const early = await searched(logLines(often), later, { after: detail(9, 4, rootAt(often, 4)) });
  const dropped = await searched(logLines(often), later, { after });

  assert.match(early.said, /^not_checked: /);
  assert.match(dropped.said, /^failed: dropped: .* checkpoint 3 was begun after the receipt came/);
});

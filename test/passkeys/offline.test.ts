/**
 * Passkeys without the service: the exported log, the digest of the command line, and everything changed in between.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import type { Hash } from '../../src/domain/log/merkle.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import { createEnrolments } from '../../src/verify/enrolments.ts';
import { verifyExport } from '../../src/verify/export/export.ts';
import { createTally } from '../../src/verify/export/lines.ts';
import { passkeyTally } from '../../src/verify/export/passkeys.ts';
import { passkeyChecks, verifyPasskeyDecision } from '../../src/verify/passkey.ts';
import { listening } from '../http/socket.ts';
import { temporaryFolder } from '../support/ends.ts';
import { ANN, BOB, type Desk, openDesk, TERMS } from './desk.ts';

async function writ(args: string[], credential: string) {
  const [out, err]: [string[], string[]] = [[], []];
  const status = await main(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: { WRIT_CLIENT_CREDENTIAL: credential },
  });
  return { status, out: out.join(''), err: err.join('') };
}

/** A desk with one decision that bob confirmed. */
async function decided() {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const { key, passkey } = await bob.enrol();
  const id = await desk.asked('pay');
  const { status, text } = await bob.approve(id, key);
  assert.equal(status, 200, text);
  return { desk, bob, passkey, id };
}

async function entriesOf(desk: Desk) {
  const sessions = await desk.entriesBy({ entryType: 'session' });
  const decision = (await desk.decisions()).find(({ success }) => success) as AuditEntry;
  return { sessions, decision };
}

async function outcomeOf(decision: AuditEntry, sessions: readonly AuditEntry[]) {
  const enrolments = createEnrolments({ isWhole: true });
  for (const each of sessions) enrolments.see(each);
  const { checks } = await passkeyChecks(decision, enrolments);
  return checks.map(({ outcome }) => outcome);
}

test('an exported log verifies with its passkeys, and with no byte of a decision changed', async () => {
  const { desk } = await decided();
  await desk.ask('POST', '/svc/operator/checkpoints', { bearer: ANN, body: {} });
  const url = `http://127.0.0.1:${await listening(desk)}`;
  const file = join(temporaryFolder(), 'desk.log');

  const exported = await writ(['audit', 'export', '--service', url, '--whole', '--out', file], ANN);
  const bytes = readFileSync(file);
  const ground = { keys: { pinned: 'all' as const }, now: new Date() };
  const report = await verifyExport([bytes], ground);

  assert.equal(exported.status, 0, exported.err);
  assert.equal(report.verdict, 'verified', JSON.stringify(report.checks));
  assert.deepEqual(
    report.checks.filter(({ what }) => what.startsWith('passkey')).map(({ outcome }) => outcome),
    ['ok', 'ok'],
  );
  const start = bytes.indexOf('"passkey":');
  assert.ok(start > 0);
  const place = bytes.indexOf('"signature":', start) + 20;
  for (const at of [place, place + 10]) {
    const changed = Uint8Array.from(bytes);
    changed[at] = changed[at] === 0x41 ? 0x42 : 0x41;
    assert.equal((await verifyExport([changed], ground)).verdict, 'failed');
  }
});

test('passkeyChecks() fails when anything of the decision differs from what was signed', async () => {
  const { desk } = await decided();
  const { sessions, decision } = await entriesOf(desk);
  const detail = decision.detail as Record<string, object>;
  const terms = detail.terms as object;
  const digest = `sha256:${'00'.repeat(32)}`;
  const changes: Partial<AuditEntry>[] = [
    { approval_request_id: `apr_${'0'.repeat(32)}` as never },
    { parameters_digest: digest as never },
    { detail: { ...detail, preview_digest: digest } },
    { detail: { ...detail, preview_digest: null } },
    { detail: { ...detail, decision: 'denied' } },
    { detail: { ...detail, terms: { ...terms, max_uses: 3 } } },
    { detail: { ...detail, terms: { ...terms, expires_in_seconds: 1 } } },
    { detail: { ...detail, terms: undefined } },
    ...Object.entries(detail.passkey as Record<string, string | object>)
      .filter(([field]) => field !== 'credential_id')
      .map(([field, value]) => ({
        detail: { ...detail, passkey: { ...detail.passkey, [field]: altered(value) } },
      })),
  ];

  assert.deepEqual(await outcomeOf(decision, sessions), ['ok', 'ok']);
  for (const change of changes) {
    const outcomes = await outcomeOf({ ...decision, ...change }, sessions);
    assert.deepEqual(outcomes, ['failed'], JSON.stringify(change).slice(0, 200));
  }
});

test('passkeyChecks() fails when the passkey is not the approver’s, waits, was removed or was never added', async () => {
  const { desk, bob, passkey } = await decided();
  const { sessions, decision } = await entriesOf(desk);
  const added = sessions.find(({ detail }) => detail?.verb === 'passkey_added') as AuditEntry;
  await bob.answer('passkeys.remove', { credential_id: passkey.credential_id });
  const later = (await entriesOf(desk)).sessions;
  const other = (detail: object) => [{ ...added, detail: { ...added.detail, ...detail } }];

  const histories: readonly AuditEntry[][] = [
    later,
    [],
    [{ ...added, root_principal: 'human:carol' as never }],
    other({ usable_from: '2999-01-01T00:00:00.000Z' }),
    other({ rp_id: 'other.example' }),
    other({ credential_id: 'AAAA' }),
  ];
  for (const history of histories) {
    assert.deepEqual(await outcomeOf(decision, history), ['ok', 'failed']);
  }
});

test('an exported log fails when an approval lacks the passkey that its request requires', async () => {
  const { desk } = await decided();
  const entries = (await desk.entriesBy({})).toSorted(
    (one, other) => one.sequence - other.sequence,
  );
  const stripped = entries.map((entry) => {
    const { passkey: _, ...detail } = entry.detail ?? {};
    return entry.entry_type === 'approval_decision' ? { ...entry, detail } : entry;
  });

  assert.deepEqual(await exportOutcomes(entries), [
    ['passkey', 'ok'],
    ['passkey of the approver', 'ok'],
  ]);
  assert.deepEqual(await exportOutcomes(stripped), [['passkey', 'failed']]);
});

test('an exported log does not vouch for a passkey where an erased entry may have removed it', async () => {
  const { desk } = await decided();
  const entries = (await desk.entriesBy({})).toSorted(
    (one, other) => one.sequence - other.sequence,
  );
  const place = entries.findIndex(({ entry_type }) => entry_type === 'approval_decision');
  const decision = entries[place] as AuditEntry;
  const between = (entry_type: AuditEntry['entry_type'], erased: 'personal' | 'contents') =>
    exportOutcomes(entries.toSpliced(place, 0, { ...decision, entry_type, erased }));

  const owner = async (outcomes: ReturnType<typeof between>) => (await outcomes)[1]?.[1];
  assert.equal(await owner(between('session', 'personal')), 'not_checked');
  assert.equal(await owner(between('invocation', 'contents')), 'not_checked');
  assert.equal(await owner(between('invocation', 'personal')), 'ok');
});

test('verifyPasskeyDecision() ignores an entry that added the passkey after the decision', async () => {
  const { bob } = await decided();
  const query = { entry_type: 'all', include: 'leaf' };
  const entries: AuditEntry[] = (await bob.reply('audit.query', query)).body.entries;
  const decision = entries.find(({ entry_type }) => entry_type === 'approval_decision');
  const added = entries.find(({ detail }) => detail?.verb === 'passkey_added') as AuditEntry;

  const before = await verifyPasskeyDecision(decision, [added]);
  const after = await verifyPasskeyDecision(decision, [{ ...added, sequence: 1_000 }]);

  assert.equal(before.verdict, 'verified', JSON.stringify(before.checks));
  assert.equal(after.verdict, 'incomplete', JSON.stringify(after.checks));
});

/** What the reader of an exported log says about passkeys, for entries whose leaves are verified. */
async function exportOutcomes(entries: readonly AuditEntry[]): Promise<[string, string][]> {
  const reading = { tally: createTally(), enrolments: createEnrolments({ isWhole: true }) };
  for (const entry of entries) {
    const { erased } = entry as { erased?: 'personal' | 'contents' };
    await passkeyTally(reading, { entry, hash: new Uint8Array(32) as Hash, erased }, 'entry');
  }
  return reading.tally.checks().map(({ what, outcome }) => [what, outcome]);
}

test('writ approvals digest computes the digest that the page shows, and that the passkey signs', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const id = await desk.asked('pay');
  const url = `http://127.0.0.1:${await listening(desk)}`;
  const terms = { ...TERMS, expires_in_seconds: 60 };
  const approve = await bob.challenge({ approval_request_id: id, decision: 'approve', ...terms });
  const deny = await bob.challenge({ approval_request_id: id, decision: 'deny' });
  const args = (nonce: string) => ['approvals', 'digest', id, '--service', url, '--nonce', nonce];

  const approving = await writ(
    [...args(approve.payload.nonce), '--grant-type', 'one_time', '--expires-in', '60'],
    BOB,
  );
  const denying = await writ([...args(deny.payload.nonce), '--deny'], BOB);
  const wide = await writ([...args(approve.payload.nonce), '--max-uses', '9'], BOB);

  assert.equal(approving.status, 0, approving.err);
  assert.ok(approving.out.includes(`digest      ${approve.digest}\n`), approving.out);
  assert.match(approving.out, /parameters {2}\{"amount":250\}\n/);
  assert.ok(denying.out.includes(`digest      ${deny.digest}\n`), denying.out);
  assert.equal(wide.status, 2);
  assert.match(wide.err, /Cannot compute the digest: .*uses/);
});

test('writ approvals approve approves nothing that needs a passkey, and names the page', async () => {
  const desk = await openDesk();
  const id = await desk.asked('pay');
  const url = `http://127.0.0.1:${await listening(desk)}`;
  const at = (verb: string) => ['approvals', verb, id, '--service', url];

  const shown = await writ(at('show'), BOB);
  const [, digest = ''] = /Parameters {2}([0-9a-f]{64})/.exec(shown.out) ?? [];
  const refused = await writ([...at('approve'), '--yes', '--digest', digest], BOB);

  assert.equal(shown.status, 0, shown.err);
  assert.equal(refused.status, 3);
  assert.match(refused.err, /requires your passkey; decide it at http.*\/console\/approvals\/apr_/);
});

/** The first character of a text changed, or of each text of an object. */
function altered(value: string | object): unknown {
  if (typeof value !== 'string') return { ...value, x: altered((value as { x: string }).x) };
  return `${value.startsWith('A') ? 'B' : 'A'}${value.slice(1)}`;
}

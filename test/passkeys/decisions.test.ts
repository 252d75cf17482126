/**
 * Decisions that a passkey confirms, over HTTP: by the console of a person, and by a caller of /svc.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { SignedDecision } from '../../src/protocol/console/views.ts';
import { verifyPasskeyDecision } from '../../src/verify/passkey.ts';
import { emptyStore } from '../support/empty-store.ts';
import { temporaryFolder } from '../support/ends.ts';
import { STORES } from '../support/world.ts';
import { ANN, BOB, CAROL, openDesk, proofOf, RP, TERMS } from './desk.ts';

for (const { name, open } of STORES) {
  test(`an approval counts with the passkey of its approver and not without it, on ${name}`, async () => {
    const { url } = await open();
    const desk = await openDesk({ store: url });
    const bob = await desk.at(BOB);
    const id = await desk.asked('pay');
    const approval = { approval_request_id: id, ...TERMS };

    const without = await bob.reply('approval_grants.issue', approval);
    const plain = await desk.ask('POST', '/svc/approval_grants', { bearer: BOB, body: approval });
    const { key, passkey } = await bob.enrol();
    const granted = await bob.approve(id, key);

    for (const reply of [without, plain]) {
      assert.equal(reply.body.failure?.type, 'approver_not_authorized', reply.text);
      assert.match(reply.body.failure.detail, /requires the passkey of the approver/);
    }
    assert.equal(granted.status, 200, granted.text);
    assert.deepEqual(granted.body.approved_by, ['human:bob']);
    const stored = await desk.store.loadApproval(id);
    assert.equal(stored?.approvals[0]?.credential_id, passkey.credential_id);
    const [listed] = (await bob.answer('me')).passkeys;
    assert.ok(listed?.last_used_at);
  });
}

test('a request keeps requiring a passkey at a replica whose policy requires none', async () => {
  const { url } = await emptyStore();
  const options = { store: url, keys: temporaryFolder() };
  const desk = await openDesk(options);
  const older = await openDesk(options, 'lax');
  const id = await desk.asked('pay');
  const bob = await older.at(BOB);

  const reply = await bob.reply('approval_grants.issue', { approval_request_id: id, ...TERMS });
  const { passkey } = await bob.answer('decision', { approval_request_id: id });

  assert.equal(reply.body.failure?.type, 'approver_not_authorized', reply.text);
  assert.equal(passkey.is_required, true);
});

test('the entry of the decision verifies offline, with the entry that added the passkey', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const { key } = await bob.enrol('EdDSA');
  const id = await desk.asked('pay');
  assert.equal((await bob.approve(id, key)).status, 200);

  const entries = (await bob.reply('audit.query', { entry_type: 'all', include: 'leaf' })).body
    .entries;
  const decision = entries.find(
    (each: { entry_type: string; success: boolean }) =>
      each.entry_type === 'approval_decision' && each.success,
  );
  const report = await verifyPasskeyDecision(decision, entries.toReversed());

  assert.equal(report.verdict, 'verified', JSON.stringify(report.checks));
  assert.equal(report.decision?.approval_request_id, id);
});

test('a passkey may confirm what needs none, and is checked then', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const { key } = await bob.enrol('RS256');
  const [first, second] = [await desk.asked('open', 1), await desk.asked('open', 2)];

  const granted = await bob.approve(first, key);
  const { payload } = await bob.challenge({
    approval_request_id: second,
    decision: 'approve',
    ...TERMS,
  });
  const passkey = { ...proofOf(key, payload), signature: 'AAAA' };
  const wrong = await bob.reply('approval_grants.issue', {
    approval_request_id: second,
    ...TERMS,
    passkey,
  });

  assert.equal(granted.status, 200, granted.text);
  assert.equal(wrong.body.failure?.type, 'approver_not_authorized', wrong.text);
  const [decision] = (await desk.decisions()).filter(({ success }) => success);
  assert.ok(decision?.detail?.passkey);
});

test('a denial may be confirmed, and its entry has the passkey', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const { key } = await bob.enrol();
  const id = await desk.asked('pay');
  const { payload } = await bob.challenge({ approval_request_id: id, decision: 'deny' });
  const deny = { approval_request_id: id, reason: 'no' };

  const forApproval = await bob.challenge({
    approval_request_id: id,
    decision: 'approve',
    ...TERMS,
  });
  const crossed = await bob.reply('approval_requests.deny', {
    ...deny,
    passkey: proofOf(key, forApproval.payload),
  });
  const denied = await bob.reply('approval_requests.deny', {
    ...deny,
    passkey: proofOf(key, payload),
  });

  assert.equal(crossed.body.failure?.type, 'approver_not_authorized', crossed.text);
  assert.equal(denied.status, 200, denied.text);
  const entry = (await desk.decisions()).findLast(({ success }) => success);
  assert.equal(entry?.detail?.decision, 'denied');
  assert.ok(entry?.detail?.passkey);
});

test('a quorum of two takes the passkey of each', async () => {
  const desk = await openDesk();
  const [bob, carol] = [await desk.at(BOB), await desk.at(CAROL)];
  const [ofBob, ofCarol] = [await bob.enrol(), await carol.enrol('EdDSA')];
  const id = await desk.asked('pair');

  const first = await bob.approve(id, ofBob.key, { expires_in_seconds: 60 });
  const borrowed = await carol.approve(id, ofBob.key);
  const shown = await carol.answer('decision', { approval_request_id: id });
  const second = await carol.approve(id, ofCarol.key);

  assert.equal(first.status, 202, first.text);
  assert.equal(borrowed.body.failure?.type, 'approver_not_authorized');
  assert.deepEqual(shown.passkey, { is_required: true, usable: [ofCarol.passkey] });
  assert.equal(shown.votes[0]?.passkey, ofBob.passkey.label);
  assert.equal(second.status, 200, second.text);
  assert.deepEqual(second.body.approved_by, ['human:bob', 'human:carol']);
});

/** What the approver signs, and sends, in place of the decision that the service asked for. */
type Change = (payload: SignedDecision) => SignedDecision;
const DIGEST = `sha256:${'00'.repeat(32)}`;
const CHANGES: [what: string, change: Change][] = [
  ['parameters', (payload) => ({ ...payload, parameters_digest: DIGEST })],
  ['preview', (payload) => ({ ...payload, preview_digest: DIGEST })],
  ['preview that is left out', (payload) => ({ ...payload, preview_digest: null })],
  ['request', (payload) => ({ ...payload, approval_request_id: `apr_${'0'.repeat(32)}` })],
  ['decision', (payload) => ({ ...payload, decision: 'deny', terms: null })],
  [
    'lifetime',
    (payload) => ({
      ...payload,
      terms: payload.terms && { ...payload.terms, expires_in_seconds: 5 },
    }),
  ],
  [
    'number of uses',
    (payload) => ({ ...payload, terms: payload.terms && { ...payload.terms, max_uses: 2 } }),
  ],
];
test('a signature over anything else than the stored request, decision and terms is refused', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const { key } = await bob.enrol();
  const id = await desk.asked('pay');
  const approval = { approval_request_id: id, ...TERMS };
  const { payload } = await bob.challenge({ ...approval, decision: 'approve' });

  for (const [what, change] of CHANGES) {
    const passkey = proofOf(key, change(payload));
    const { body } = await bob.reply('approval_grants.issue', { ...approval, passkey });
    assert.equal(body.failure?.type, 'approver_not_authorized', what);
    assert.match(body.failure.detail, /made for another challenge/, what);
  }

  const passkey = proofOf(key, payload);
  const other = { ...approval, expires_in_seconds: 5, passkey };
  assert.match(
    (await bob.reply('approval_grants.issue', other)).body.failure?.detail,
    /made for another challenge/,
  );
  assert.equal((await bob.reply('approval_grants.issue', { ...approval, passkey })).status, 200);
});

test('a signature for another page or another host is refused', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const { key } = await bob.enrol();
  const id = await desk.asked('pay');
  const approval = { approval_request_id: id, ...TERMS };
  const { payload } = await bob.challenge({ ...approval, decision: 'approve' });

  for (const odd of [{ origin: 'http://evil.example' }, { rpId: 'evil.example' }]) {
    const passkey = proofOf(key, payload, odd);
    const { body } = await bob.reply('approval_grants.issue', { ...approval, passkey });
    assert.equal(body.failure?.type, 'approver_not_authorized', JSON.stringify(odd));
  }
  assert.equal((await desk.store.loadApproval(id))?.status, 'pending');
});

test('an assertion for one request does not approve another', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const { key } = await bob.enrol();
  const [one, other] = [await desk.asked('pay', 1), await desk.asked('pay', 2)];
  const { payload } = await bob.challenge({
    approval_request_id: one,
    decision: 'approve',
    ...TERMS,
  });
  const passkey = proofOf(key, payload);

  const { body } = await bob.reply('approval_grants.issue', {
    approval_request_id: other,
    ...TERMS,
    passkey,
  });

  assert.match(body.failure?.detail, /nonce is not for this decision/);
});

test('a nonce counts for ten minutes, and for its person only', async () => {
  const desk = await openDesk();
  desk.holdClock(true);
  const [bob, carol] = [await desk.at(BOB), await desk.at(CAROL)];
  const [ofBob, ofCarol] = [await bob.enrol(), await carol.enrol()];
  const id = await desk.asked('pay');
  const approval = { approval_request_id: id, ...TERMS };
  const { payload } = await bob.challenge({ ...approval, decision: 'approve' });
  const send = (at: typeof bob, key: typeof ofBob.key) =>
    at.reply('approval_grants.issue', { ...approval, passkey: proofOf(key, payload) });

  const others = await send(carol, ofCarol.key);
  desk.advance(10 * 60_000 + 1);
  const late = await send(bob, ofBob.key);
  desk.advance(-1);
  const inTime = await send(bob, ofBob.key);

  for (const reply of [others, late]) assert.match(reply.body.failure?.detail, /nonce/);
  assert.equal(inTime.status, 200, inTime.text);
});

test('a removed passkey and one that waits confirm nothing', async () => {
  const desk = await openDesk();
  desk.holdClock(true);
  const bob = await desk.at(BOB);
  const first = await bob.enrol();
  const waiting = await bob.enrol();
  const [one, other] = [await desk.asked('pay', 1), await desk.asked('pay', 2)];

  const early = await bob.approve(one, waiting.key);
  const { removed } = await bob.answer('passkeys.remove', {
    credential_id: first.passkey.credential_id,
  });
  const gone = await bob.approve(one, first.key);
  desk.advance(24 * 3_600_000 - 60_000);
  const again = await desk.at(BOB);
  const next = await desk.asked('pay', 3);
  const stillEarly = await again.approve(next, waiting.key);
  desk.advance(60_000);
  const usable = await again.approve(next, waiting.key);

  assert.ok(removed);
  for (const reply of [early, gone, stillEarly]) {
    assert.match(reply.body.failure?.detail, /does not count yet/, reply.text);
  }
  assert.equal(usable.status, 200, usable.text);
  assert.equal((await desk.store.loadApproval(other))?.approvals.length, 0);
});

test('an agent of a person does not decide with the passkey of the person', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const { key } = await bob.enrol();
  const id = await desk.asked('pay');
  const approval = { approval_request_id: id, ...TERMS };
  const { payload } = await bob.challenge({ ...approval, decision: 'approve' });
  const { token } = await desk.issue(BOB, { scope: ['approver:pay'], subject: 'human:helper' });

  const { body } = await desk.ask('POST', '/svc/approval_grants', {
    bearer: token,
    body: { ...approval, passkey: proofOf(key, payload) },
  });

  assert.match(body.failure?.detail, /in person/);
});

test('decision.challenge asks a frozen person for no approval, and still for a denial', async () => {
  const desk = await openDesk();
  const [ann, bob] = [await desk.at(ANN), await desk.at(BOB)];
  const asked = { approval_request_id: await desk.asked('pay'), ...TERMS };
  const freeze = { what: 'root_principal', target: 'human:bob', reason: 'a lost device' };
  const frozen = await ann.reply('operator.freeze', freeze);

  const approve = await bob.reply('decision.challenge', { ...asked, decision: 'approve' });
  const deny = await bob.reply('decision.challenge', { ...asked, decision: 'deny' });

  assert.equal(frozen.status, 200, frozen.text);
  assert.match(approve.body.failure?.detail ?? '', /frozen/, approve.text);
  assert.equal(deny.status, 200, deny.text);
});

test('decision.challenge refuses who may not decide, and terms that the policy does not allow', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const id = await desk.asked('pay');

  const uses = await bob.reply('decision.challenge', {
    approval_request_id: id,
    decision: 'approve',
    ...TERMS,
    max_uses: 9,
  });
  const untyped = await bob.reply('decision.challenge', {
    approval_request_id: id,
    decision: 'approve',
  });
  const unknown = await bob.reply('decision.challenge', {
    approval_request_id: `apr_${'0'.repeat(32)}`,
    decision: 'deny',
  });

  assert.equal(uses.body.failure?.type, 'grant_policy_violation');
  assert.equal(untyped.body.failure?.type, 'invalid_parameters');
  assert.equal(unknown.body.failure?.type, 'not_found');
  assert.equal((await bob.challenge({ approval_request_id: id, decision: 'deny' })).rp_id, RP.rpId);
});

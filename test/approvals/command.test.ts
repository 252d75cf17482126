/**
 * `writ approvals` against a running service, as people and programs use it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { PARTS, partFacts } from '../../src/domain/decision/facts.ts';
import { firstTerms } from '../../src/domain/decision/terms.ts';
import { wordsText } from '../../src/domain/decision/text.ts';
import { headingWords } from '../../src/domain/decision/words.ts';
import type { Decision } from '../../src/protocol/decision.ts';
import { atConsole } from '../console/person.ts';
import { eventually } from '../support/world.ts';
import { approvals, lyingService, portOf } from './at-terminal.ts';
import { ALICE, BOB, CAROL, CLERK, type Desk, startDesk } from './desk.ts';

const desk = await startDesk();
const url = await portOf(desk);
const bob = { url, key: BOB };

/** Without white space, the marks of folded lines and the quotes that a browser draws itself. */
const squeezed = (text: string) => text.replaceAll(/[\s“”…]/g, '');

async function asked(capability = 'sign', parameters: object = {}, subject = 'agent:a') {
  return desk.asked(await desk.token({ subject }), capability, parameters);
}

const digestIn = (out: string) => /Parameters {2}([0-9a-f]{64})/.exec(out)?.[1] ?? '';
const statusOf = async (id: string) => (await desk.read(BOB, id)).body.status;

describe('writ approvals show', () => {
  test('prints every fact of the page, in its order and with its words', async () => {
    const budget = { currency: 'USD', max_amount: 100 };
    const token = await desk.token({ subject: 'agent:shown', budget });
    await desk.granted(await desk.asked(token, 'pay', { amount: 1, note: 'then' }));
    await desk.deny(CAROL, await desk.asked(token, 'pay', { amount: 2 }), 'too much');
    const child = await desk.delegate(token, { subject: 'agent:below' });
    await desk.granted(await desk.asked(child, 'pay', { amount: 1, note: 'then' }));
    const fields = { note: 'canc\u202eelled <b>now</b>' };
    const data = { list: ['x'.repeat(80), { deep: true }] };
    const { body } = await desk.invoke(
      child.token,
      'pay',
      { amount: 3, note: 'a\u200bb', data },
      { fields },
    );
    const id = body.failure.approval_request_id;
    const decision: Decision = await (await atConsole(desk, BOB)).answer('decision', {
      approval_request_id: id,
    });

    const { status, out, err } = await approvals(['show', id], bob);

    assert.equal(status, 0, err);
    const printed = squeezed(withoutAges(out));
    const now = Date.parse(decision.now);
    const shown = { of: decision, terms: firstTerms(decision.request), where: 'by this command' };
    const words = PARTS.flatMap((name) => {
      const { title, aside = [], lead = [], facts, after = [] } = partFacts(name, shown);
      const heading = name === 'summary' ? [] : [title, aside];
      const rows = facts.flatMap((fact) => [fact.label, fact.words]);
      return [...heading, lead, ...rows, after];
    });
    let place = 0;
    for (const each of [headingWords(decision), ...words]) {
      const text = squeezed(withoutAges(wordsText(each, now)));
      const found = printed.indexOf(text, place);
      assert.ok(found >= 0, `not in its place: ${wordsText(each, now)}\n${out}`);
      place = found + text.length;
    }
    assert.match(out, /canc⟨U\+202E⟩elled/);
    assert.match(out, /agent:below acts for agent:shown acts for alice/);
    assert.match(out, /of 100\.00 USD\n.*Spent 0\.00 {2}This call 10\.00 {2}Left after 90\.00/);
    assert.doesNotMatch(out, /[\u200b\u202e]/);
  });

  test('prints the answer of the service with --json', async () => {
    const id = await asked('sign', { note: 'json' });

    const { status, out } = await approvals(['show', id, '--json'], bob);

    assert.equal(status, 0);
    const decision: Decision = JSON.parse(out);
    assert.equal(decision.request.approval_request_id, id);
    assert.equal(decision.viewer.principal, 'human:bob');
  });

  test('warns and ends with 1 when the service states another digest than that of its answer', async () => {
    const id = await asked('sign', { amount: 250 });
    const lies = await lyingService(url, '/decision', (answer: Decision) => ({
      ...answer,
      request: { ...answer.request, parameters: { amount: 25 } },
    }));
    const forged = await lyingService(url, '/decision', (answer: Decision) => ({
      ...answer,
      request: { ...answer.request, preview: { action: 'Nothing' } },
    }));

    for (const [at, words] of [
      [lies, /Do not rely on this request: The parameters are not those/],
      [forged, /Do not rely on this request: The preview is not the one/],
    ] as const) {
      for (const json of [[], ['--json']]) {
        const { status, err } = await approvals(['show', id, ...json], { url: at, key: BOB });
        assert.equal(status, 1);
        assert.match(err, words);
      }
    }
    const approving = ['approve', id, '--yes', '--digest', 'sha256:0'];
    const refused = await approvals(approving, { url: lies, key: BOB });
    assert.equal(refused.status, 1);
    assert.equal(await statusOf(id), 'pending');
  });

  test('refuses what the caller may not see, and what is about another request', async () => {
    const id = await asked('pay');
    const other = await asked('pay', { amount: 2 });
    const mixed = await lyingService(url, '/decision', (answer: Decision) => ({
      ...answer,
      request: { ...answer.request, approval_request_id: other },
    }));

    const unknown = await approvals(['show', `apr_${'0'.repeat(32)}`], bob);
    const hidden = await approvals(['show', id], { url, key: CLERK });
    const expired = await approvals(['show', id], { url, key: 'no-such-key' });
    const another = await approvals(['show', id], { url: mixed, key: BOB });
    const agent = await approvals(['show', id], { url, key: (await desk.token()).token });

    assert.deepEqual([unknown.status, hidden.status, expired.status, another.status], [1, 1, 4, 1]);
    assert.match(unknown.err, /^Cannot find the approval request \[not_found/);
    assert.match(expired.err, /\[authentication_required/);
    assert.match(another.err, /another request/);
    assert.equal(agent.status, 1);
    assert.match(agent.err, /approver_not_authorized|not_found/);
  });
});

describe('writ approvals approve', () => {
  test('asks at the terminal after it showed the request, and approves with the terms', async () => {
    const id = await asked('sign', { note: 'asked' });

    const { status, out, err } = await approvals(['approve', id, '--expires-in', '60'], {
      ...bob,
      answers: ['approve'],
    });

    assert.equal(status, 0, err);
    assert.match(out, /What happens[\s\S]*Evidence +✓ 2 digests match[\s\S]*Grant +gnt_/);
    assert.match(err, /once, within 1 min[\s\S]*Type approve to confirm: $/);
    const { body } = await desk.read(BOB, id);
    assert.deepEqual([body.status, body.terms.expires_in_seconds], ['approved', 60]);
  });

  test('approves nothing without the word, without a terminal, or with --yes alone', async () => {
    const id = await asked('sign', { note: 'unconfirmed' });

    const said = await approvals(['approve', id], { ...bob, answers: ['yes'] });
    const silent = await approvals(['approve', id], { ...bob, answers: [] });
    const piped = await approvals(['approve', id], bob);
    const hasty = await approvals(['approve', id, '--yes'], bob);

    assert.deepEqual(
      [said, silent, piped, hasty].map(({ status }) => status),
      [2, 2, 2, 2],
    );
    assert.match(hasty.err, /--yes needs --digest/);
    assert.match(piped.err, /no terminal to ask at/);
    assert.equal(await statusOf(id), 'pending');
  });

  test('takes the digest that was reviewed in place of an answer, and no other', async () => {
    const id = await asked('sign', { note: 'reviewed' });
    const digest = digestIn((await approvals(['show', id], bob)).out);

    const other = await approvals(
      ['approve', id, '--yes', '--digest', `sha256:${'0'.repeat(64)}`],
      bob,
    );
    const right = await approvals(['approve', id, '--yes', '--json', '--digest', digest], bob);

    assert.equal(other.status, 1);
    assert.match(other.err, /its parameters have the digest sha256:/);
    assert.equal(right.status, 0, right.err);
    const grant = JSON.parse(right.out);
    assert.match(grant.grant_id, /^gnt_/);
    assert.equal(grant.parameters_digest, `sha256:${digest}`);
  });

  test('asks how many hidden characters the person saw', async () => {
    const id = await asked('sign', { note: 'a\u200bb\u202ec' });

    const blind = await approvals(['approve', id], { ...bob, answers: ['approve', 'approve'] });
    const seen = await approvals(['approve', id], { ...bob, answers: ['2', 'approve'] });

    assert.equal(blind.status, 2);
    assert.equal(seen.status, 0, seen.err);
  });

  test('keeps the terms of the first of two people', async () => {
    const id = await asked('pair', { note: 'two' });
    const first = await approvals(['approve', id, '--expires-in', '300'], {
      ...bob,
      answers: ['approve'],
    });
    const again = await approvals(['approve', id], { ...bob, answers: ['approve'] });
    const carol = { url, key: CAROL, answers: ['approve'] };
    const other = await approvals(['approve', id, '--expires-in', '60'], carol);
    const second = await approvals(['approve', id], carol);
    const after = await approvals(['show', id], bob);

    assert.equal(first.status, 0, first.err);
    assert.match(first.out, /You approved it\. 1 more person has to approve/);
    assert.equal(again.status, 1);
    assert.match(again.err, /You approved it/);
    assert.equal(other.status, 2);
    assert.match(other.err, /the first approver proposed/);
    assert.equal(second.status, 0, second.err);
    assert.match(second.out, /first\s+… approver chose these terms[\s\S]*Grant +gnt_/);
    assert.match(after.out, /2 of 2 approved/);
    assert.doesNotMatch(after.out, /You approve exactly these/);
  });

  test('refuses a request that was decided, expired, or is for others, and terms beyond the policy', async () => {
    const denied = await asked('sign', { note: 'denied' });
    await desk.deny(CAROL, denied, 'no');
    const apart = await asked('apart');
    const id = await asked('sign', { note: 'wide' });
    const yes = { answers: ['approve'] };

    const decided = await approvals(['approve', denied], { ...bob, ...yes });
    const barred = await approvals(['approve', apart], { url, key: ALICE, ...yes });
    const wide = await approvals(['approve', id, '--expires-in', '901'], { ...bob, ...yes });
    const typo = await approvals(['approve', id, '--grant-type', 'forever'], { ...bob, ...yes });

    assert.deepEqual(
      [decided, barred, wide, typo].map(({ status }) => status),
      [1, 1, 2, 2],
    );
    assert.match(decided.err, /Denied by carol.*Reason: “no”/);
    assert.match(barred.err, /root principal of the requester/);
    assert.match(wide.err, /901 seconds are more than 900/);
    assert.equal(await statusOf(id), 'pending');
  });

  test('does not approve a request that changes after it was shown', async () => {
    const id = await asked('sign', { note: 'first' });
    let reads = 0;
    const changing = await lyingService(url, '/decision', (answer: Decision) => {
      reads += 1;
      return reads === 1 ? answer : { ...answer, request: { ...answer.request, note: 'other' } };
    });

    const { status, err } = await approvals(['approve', id], {
      url: changing,
      key: BOB,
      answers: ['approve'],
    });

    assert.equal(status, 1);
    assert.match(err, /changed while you read it/);
    assert.equal(await statusOf(id), 'pending');
  });
});

test('writ approvals deny ends a request with its reason, once', async () => {
  const id = await asked('sign', { note: 'to deny' });

  const without = await approvals(['deny', id], bob);
  const denied = await approvals(['deny', id, '--reason', 'of last year'], bob);
  const again = await approvals(['deny', id, '--reason', 'again', '--json'], bob);

  assert.equal(without.status, 2);
  assert.equal(denied.status, 0, denied.err);
  assert.match(denied.out, /Denied +apr_.*\nCapability +sign\nReason +of last year/);
  assert.equal(again.status, 1);
  assert.equal(JSON.parse(again.out).failure.type, 'approval_request_decided');
  assert.equal((await desk.read(BOB, id)).body.reason, 'of last year');
});

describe('writ approvals list', () => {
  test('shows who asks for what, and what it costs', async () => {
    const other = await startDesk();
    const at = { url: await portOf(other), key: BOB };
    const none = await approvals(['list'], at);
    const child = await other.delegate(await other.token(), { subject: 'agent:li\u0441t' });
    const id = await other.asked(child, 'pay', { amount: 1 });
    const denied = await other.asked(child, 'sign');
    await other.deny(BOB, denied);

    const { status, out } = await approvals(['list'], at);
    const json = await approvals(['list', '--status', 'all', '--json'], at);
    const one = await approvals(['list', '--status', 'all', '--limit', '1', '--json'], at);
    const wrong = await approvals(['list', '--status', 'open'], at);

    assert.equal(none.out, 'No request waits for you.\n');
    assert.equal(status, 0);
    const row = new RegExp(
      `${id} +Pay: 10\\.00 USD +agent:li⟨U\\+0441⟩t ← agent:a ← alice +0 of 1`,
    );
    assert.match(out, row);
    assert.equal(out.includes(denied), false);
    const ids = json.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).approval_request_id);
    assert.deepEqual(ids.sort(), [id, denied].sort());
    assert.equal(one.out.trim().split('\n').length, 1);
    assert.equal(wrong.status, 2);
  });

  test('refuses a credential that the service does not accept', async () => {
    const { status, out } = await approvals(['list', '--json'], { url, key: 'old' });

    assert.equal(status, 4);
    assert.equal(JSON.parse(out).failure.type, 'authentication_required');
  });
});

describe('writ approvals watch', () => {
  async function watched(at: Desk, json: readonly string[]) {
    const watchedUrl = await portOf(at);
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    let out = '';
    const ended = approvals(['watch', '--interval', '1', ...json], {
      url: watchedUrl,
      key: BOB,
      untilStopped: () => stopped,
      out: (text: string) => {
        out += text;
      },
    });
    return { lines: () => out.split('\n').filter(Boolean), stop: () => stop(), ended };
  }

  test('prints requests as they appear and as they are decided, until it is stopped', async () => {
    const other = await startDesk();
    const token = await other.token();
    const before = await other.asked(token, 'pay', { amount: 1 });
    const { lines, stop, ended } = await watched(other, []);
    await eventually(() => lines().length === 1);
    const next = await other.asked(token, 'sign', { note: 'next' });
    await eventually(() => lines().length === 2);
    await other.deny(CAROL, before, 'not\nnow');
    await other.granted(next);
    await eventually(() => lines().length === 4);
    stop();
    const { status } = await ended;

    assert.equal(status, 0);
    const [first, second, ...decided] = lines();
    assert.match(
      first ?? '',
      new RegExp(`UTC {2}requested {2}${before} {2}Pay: 10\\.00 USD {2}agent:a ← alice`),
    );
    assert.match(second ?? '', new RegExp(`requested {2}${next}`));
    assert.match(
      decided.join('\n'),
      new RegExp(`denied {5}${before} {2}Pay: 10\\.00 USD {2}by carol {2}not⟨U`),
    );
    assert.match(decided.join('\n'), new RegExp(`approved {3}${next} {2}Sign {2}by bob`));
  });

  test('prints one JSON document a line, and ends with 4 when the credential is not accepted', async () => {
    const other = await startDesk();
    const id = await other.asked(await other.token(), 'sign');
    const { lines, stop, ended } = await watched(other, ['--json']);
    await eventually(() => lines().length === 1);
    stop();
    await ended;
    const refused = await approvals(['watch'], { url, key: 'old' });

    const [line] = lines().map((each) => JSON.parse(each));
    assert.equal(line.event, 'requested');
    assert.equal(line.approval_request.approval_request_id, id);
    assert.equal(refused.status, 4);
  });
});

/** Two clocks read at two moments: an age may differ by a second. */
function withoutAges(text: string): string {
  return text.replaceAll(/just now|\d+ (?:s|min|h|days) (?:ago|left)/g, '…');
}

/**
 * The evidence of a decision in a real browser: what is altered, cut or lost on its way blocks approval, nothing of it
 * is left out, and what an agent wrote stays text.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { canonicalJson, digestOf } from '../../src/domain/wire/canonical.ts';
import type { Decision } from '../../src/protocol/decision.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { delegation, REDIRECT } from '../sign-in/browser.ts';
import { personOver } from '../sign-in/listening.ts';
import { openBrowser } from '../support/chromium.ts';
import { closedAtEnd } from '../support/ends.ts';
import { ANN, alterAnswers, BOB, openRig, type Visitor, WIDE_COUNT } from './chromium-rig.ts';

/** Only to end a test that hangs. */
const SLOW = 120_000;

const browser = closedAtEnd(await openBrowser());
const rig = await openRig(browser);

/** What a proxy can change in the answer. */
type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Altered = { request: Writable<Decision['request']> } & Omit<Writable<Decision>, 'request'>;

const PARAMETERS = { amount: 250, note: 'for the lost bag' };

async function blocked(visitor: Visitor, words: RegExp): Promise<void> {
  const cannot = visitor.page.getByRole('alert').filter({ hasText: words });
  await cannot.first().waitFor();
  assert.equal(await visitor.approve.count(), 0);
  assert.equal(await visitor.dialog.getByRole('button', { name: /^Approve/ }).count(), 0);
}

describe('approval is blocked', { timeout: SLOW }, () => {
  const alterations: [string, RegExp, (answer: Altered) => void][] = [
    [
      'when a parameter is not the one of the digest',
      /parameters are not those .* digest differs/,
      ({ request }) => {
        request.parameters = { ...request.parameters, amount: 25 };
      },
    ],
    [
      'when a parameter is missing',
      /parameters are not those .* digest differs/,
      ({ request }) => {
        request.parameters = { amount: 250 };
      },
    ],
    [
      'when the digest of the parameters is another',
      /parameters are not those .* digest differs/,
      ({ request }) => {
        request.requested_parameters_digest = digestOf({}) as never;
      },
    ],
    [
      'when the preview is not the one of the digest',
      /preview is not the one .* digest differs/,
      ({ request }) => {
        request.preview = { action: 'Nothing at all' };
      },
    ],
    [
      'when the service answers without the preview',
      /made with a preview, and the service answered without it/,
      ({ request }) => {
        request.preview = null;
      },
    ],
    [
      'when the service no longer has the capability',
      /no longer has this capability/,
      (answer) => {
        answer.capability = null;
      },
    ],
    [
      'when the declaration changed since the agent asked',
      /declaration of the capability changed/,
      (answer) => {
        answer.has_changed = true;
      },
    ],
    [
      'when a part of the evidence cannot be shown',
      /The history could not be shown completely.*9 of 10 parts/,
      (answer) => {
        answer.history = { ...answer.history, items: [{}] as never };
      },
    ],
    [
      'when votes are missing in the list of those who approved',
      /The terms could not be shown completely/,
      ({ request }) => {
        const approver = 'human:carol' as never;
        request.approvals = [{ approver, approved_at: request.created_at }] as never;
      },
    ],
  ];
  for (const [name, words, alter] of alterations) {
    test(name, async () => {
      const asked = await rig.asked({ capability: 'refund', parameters: PARAMETERS });
      const bob = await rig.visitor();
      await alterAnswers(bob.page, 'decision', alter as (answer: never) => void);
      await bob.page.goto(asked.link);
      await bob.signIn(BOB);

      await blocked(bob, words);
    });
  }

  test('when the answer is cut, and again when a later one is', async () => {
    const asked = await rig.asked({ capability: 'refund', parameters: PARAMETERS });
    const bob = await rig.visitor();
    const cut = () =>
      bob.page.route('**/console/api/decision', async (route) => {
        const response = await route.fetch();
        const body = await response.text();
        await route.fulfill({ response, body: body.slice(0, body.length / 2) });
      });
    await cut();
    await bob.page.goto(asked.link);
    await bob.signIn(BOB);

    await blocked(bob, /The request did not load/);
    await bob.page.unroute('**/console/api/decision');
    await bob.page.getByRole('button', { name: 'Load again' }).click();
    await bob.approve.waitFor();
    await cut();
    await blocked(bob, /The request did not load again/);
  });

  test('when the request changes under the reader’s eyes, with its digests', async () => {
    const asked = await rig.asked({ capability: 'refund', parameters: PARAMETERS });
    const bob = await rig.approver(BOB, asked);
    await bob.approve.waitFor();

    await alterAnswers(bob.page, 'decision', otherAmount as (answer: never) => void);

    await blocked(bob, /The request changed while you read it/);
  });

  test('when what is confirmed is not what was read', async () => {
    const asked = await rig.asked({ capability: 'refund', parameters: PARAMETERS });
    const bob = await rig.approver(BOB, asked);
    await bob.approve.click();
    await alterAnswers(bob.page, 'decision', otherAmount as (answer: never) => void);

    await bob.dialog.getByRole('button', { name: /^Approve/ }).click();
    const refusal = bob.dialog.getByRole('alert');
    await refusal.filter({ hasText: /Cannot approve: the request changed while you/ }).waitFor();

    assert.equal((await rig.read(asked)).status, 'pending');
  });
});

/** Another amount everywhere, with digests that fit. */
function otherAmount({ request }: Altered): void {
  request.parameters = { ...request.parameters, amount: 25 };
  request.requested_parameters_digest = digestOf(request.parameters) as never;
  request.preview = { ...request.preview, amount: 25 };
  request.preview_digest = digestOf(request.preview) as never;
}

describe('everything is shown', { timeout: SLOW }, () => {
  test('of 200 parameters, and of one of 200 KB', async () => {
    const names = Array.from(
      { length: WIDE_COUNT },
      (_, at) => `field_${`${at}`.padStart(3, '0')}`,
    );
    const long = `begin ${'lorem ipsum '.repeat(17_000)}end`;
    const parameters: JsonObject = Object.fromEntries(
      names.map((name) => [name, `value of ${name}`]),
    );
    parameters.field_100 = long;
    parameters.field_101 = 'one\n  two\n';
    const asked = await rig.asked({ capability: 'wide', parameters });
    const bob = await rig.approver(BOB, asked);
    await bob.approve.waitFor();

    const shown = await bob.page.evaluate<[string, string][]>(
      `[...document.querySelectorAll('#parameters tbody tr')].map((row) => [
        row.querySelector('th').textContent, row.querySelector('td').textContent])`,
    );
    const clipped = await bob.page.evaluate<string[]>(
      `[...document.querySelectorAll('#parameters, #parameters *')].filter((each) => {
        const { overflowX, overflowY, textOverflow, webkitLineClamp, maxHeight, visibility } = getComputedStyle(each);
        return [overflowX, overflowY].some((way) => way === 'hidden' || way === 'clip') || textOverflow !== 'clip' ||
          webkitLineClamp !== 'none' || maxHeight !== 'none' || visibility !== 'visible';
      }).map(({ outerHTML }) => outerHTML.slice(0, 80))`,
    );

    assert.deepEqual(
      shown,
      names.map((name) => [
        name,
        name === 'field_101'
          ? '3 lines, nothing to compare with1  one\n2    two\n3  \n'
          : parameters[name],
      ]),
    );
    const evidence = await bob.page.locator('#digests').textContent();
    assert.ok(evidence?.includes(canonicalJson(parameters)));
    assert.deepEqual(clipped, []);
    await bob.approve.click();
    await bob.bar.filter({ hasText: /Approved by you/ }).waitFor();
    assert.equal((await rig.read(asked)).status, 'approved');
  });

  test('with marks for hidden and bidirectional characters, each text of which must be ticked', async () => {
    const samePath = { 'x.y': 'd\u200be', x: { y: 'f\u200bg' } };
    const data = { 'na\u200bme': 'b\u2066c\u2069', ...samePath };
    const parameters = { note: 'canc\u202eelled', data };
    const asked = await rig.asked({ capability: 'move', parameters, note: 'pl\u202eease' });
    const bob = await rig.approver(BOB, asked);
    await bob.approve.click();
    const approve = bob.dialog.getByRole('button', { name: /^Approve/ });
    const ticks = bob.dialog.getByRole('checkbox');
    await ticks.first().waitFor();

    const page = await bob.page.evaluate<string>('document.body.textContent');
    assert.doesNotMatch(page, /[\u200b\u202a-\u202e\u2066-\u2069]/);
    for (const mark of [
      'canc⟨U+202E⟩elled',
      'na⟨U+200B⟩me',
      'b⟨U+2066⟩c⟨U+2069⟩',
      'pl⟨U+202E⟩ease',
    ]) {
      assert.ok(page.includes(mark), mark);
    }
    assert.match(page, /7 hidden characters in /);
    assert.equal(await ticks.count(), 6);
    for (const tick of await ticks.all()) {
      assert.equal(await approve.count(), 0);
      await tick.check();
    }
    await ticks.first().uncheck();
    assert.equal(await approve.count(), 0);
    await ticks.first().check();
    await approve.click();
    await bob.bar.filter({ hasText: /Approved by you/ }).waitFor();
  });
});

describe('what an agent wrote', { timeout: SLOW }, () => {
  const attacks = [
    `<script>document.title='taken'</script>`,
    `"><img src=x onerror="document.title='taken'">`,
    `javascript:document.title='taken'`,
    `<a href="javascript:document.title='taken'">x</a><style>*{display:none}</style>`,
    '</script></title></textarea><svg onload=document.title="taken">',
  ];

  test('stays text in every field', async () => {
    const subject = `agent:<img/src=x/onerror="document.title='taken'">`;
    for (const attack of attacks) {
      const purpose_parameters = { for: attack, [attack]: [attack] };
      const { token } = await rig.token({ subject, purpose_parameters, session_id: attack });
      const parameters = { note: attack, data: { [attack]: { [attack]: [attack] } } };
      const first = await rig.asked({ capability: 'refund', parameters, token });
      await rig.service.ask('POST', `/svc/approval_requests/${first.id}/deny`, {
        bearer: BOB,
        body: { reason: attack },
      });
      const asked = await rig.asked({
        capability: 'refund',
        parameters: { ...parameters, amount: 1 },
        note: attack,
        token,
      });
      const bob = await rig.approver(BOB, asked);
      await bob.approve.waitFor();

      const text = await bob.page.evaluate<string>('document.body.textContent');
      for (const part of ['preview', 'parameters', 'words', 'hands', 'history']) {
        const words = await bob.page.locator(`#${part}`).textContent();
        assert.ok(isIn(words ?? '', attack), `${part}: ${attack}`);
      }
      assert.ok(text.includes(subject));
      await nothingRan(bob);
      await bob.page.goto(`${rig.pages}/console/approvals`);
      await bob.page.getByRole('link', { name: 'Refund' }).first().waitFor();
      await nothingRan(bob);
      await bob.page.goto(first.link);
      await bob.bar.filter({ hasText: 'Denied by you' }).waitFor();
      assert.ok(isIn((await bob.bar.textContent()) ?? '', attack));
      await nothingRan(bob);
    }
  });

  test('stays text in the name of a client', async () => {
    const client_name = `<img src=x onerror="document.title='taken'">`;
    const body = { client_name, redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };
    const registered = await rig.service.ask('POST', '/register', {
      body,
      headers: { host: new URL(rig.url).host },
    });
    assert.equal(registered.status, 201, registered.text);
    const { client_id } = registered.body;
    const chosen = { chosen: ['refund'], limit: '' };
    const { access } = await delegation(rig.service, chosen, {
      person: personOver(rig.url),
      key: ANN,
      more: { client_id },
    });
    const asked = await rig.asked({ capability: 'refund', parameters: PARAMETERS, token: access });
    const bob = await rig.approver(BOB, asked);
    await bob.approve.waitFor();

    const hands = await bob.page.locator('#hands').textContent();

    assert.ok((hands ?? '').includes(client_name), hands ?? '');
    await nothingRan(bob);
  });
});

/** As it is, or as JSON writes it. */
function isIn(text: string, attack: string): boolean {
  return text.includes(attack) || text.includes(JSON.stringify(attack));
}

async function nothingRan({ page, complaints }: Visitor): Promise<void> {
  const foreign = await page.evaluate<string[]>(
    `[...document.querySelectorAll('body *')]
      .filter((each) => each.matches('script, style, img, iframe, object, embed, base, link, [style], [srcdoc]')
        || [...each.attributes].some(({ name, value }) => name.startsWith('on') || /^\\s*javascript:/i.test(value)))
      .map((each) => each.outerHTML.slice(0, 80))`,
  );
  assert.deepEqual(foreign, []);
  assert.notEqual(await page.title(), 'taken');
  assert.deepEqual(complaints, []);
}

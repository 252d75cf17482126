/**
 * Passkeys in a real browser, with a virtual authenticator: a person adds one and signs decisions with it, the log
 * proves it without the service, and what is altered on its way to or from the page is not approved.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { decisionDigest } from '../../src/domain/passkey/decision.ts';
import { digestOf } from '../../src/domain/wire/canonical.ts';
import type { Challenge } from '../../src/protocol/console/views.ts';
import { verifyExport } from '../../src/verify/index.ts';
import { openBrowser } from '../support/chromium.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import {
  ANN,
  type Asked,
  alterAnswers,
  BOB,
  openRig,
  type Rig,
  type Visitor,
} from './chromium-rig.ts';
import { type Device, plugIn } from './passkey-device.ts';

/** Only to end a test that hangs. */
const SLOW = 120_000;

const browser = closedAtEnd(await openBrowser());

async function enrol(
  { page }: Visitor,
  label: string,
  { isConfirmed = true }: { readonly isConfirmed?: boolean } = {},
): Promise<void> {
  await page.getByRole('button', { name: 'Add a passkey…' }).click();
  if (!isConfirmed) {
    await page.getByRole('checkbox', { name: /Confirm it with a passkey/ }).uncheck();
  }
  await page.getByLabel('Name', { exact: true }).fill(label);
  await page.getByRole('button', { name: 'Add this passkey' }).click();
  await page.getByRole('heading', { level: 2, name: label }).waitFor();
}

interface Desk extends Rig {
  readonly bob: Visitor;
  readonly device: Device;
}

/** A desk of its own, and bob with a passkey at the page Passkeys. */
async function openDesk(): Promise<Desk> {
  const rig = await openRig(browser);
  const bob = await rig.visitor();
  const device = await plugIn(bob.page);
  await bob.page.goto(`${rig.pages}/console/passkeys`);
  await bob.signIn(BOB);
  await enrol(bob, 'Phone');
  return { ...rig, bob, device };
}

const sealed = { capability: 'sealed', parameters: { amount: 250, note: 'for the lost bag' } };

/** Opens the decision and its second step. */
async function signing({ bob }: Desk, { link }: Asked): Promise<void> {
  await bob.page.goto(link);
  await bob.approve.click();
}

const confirm = ({ dialog }: Visitor) => dialog.getByRole('button', { name: /^Sign and / });

async function writ(args: string[], credential: string) {
  const [out, err]: [string[], string[]] = [[], []];
  const status = await main(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: { WRIT_CLIENT_CREDENTIAL: credential },
  });
  return { status, out: out.join(''), err: err.join('') };
}

describe('a policy that requires a passkey', { timeout: SLOW }, () => {
  test('gives no way to approve without one', async () => {
    const rig = await openRig(browser);
    const bob = await rig.approver(BOB, await rig.asked(sealed));

    await bob.bar
      .filter({ hasText: /requires a passkey, and you have none that counts/ })
      .waitFor();

    assert.equal(await bob.approve.count(), 0);
    assert.equal(await bob.deny.count(), 1);
  });

  test('takes a signature over the digest that the command line computes, and the log proves it offline', async () => {
    const desk = await openDesk();
    const { bob } = desk;
    const asked = await desk.asked(sealed);
    await signing(desk, asked);
    await confirm(bob).waitFor();
    const shown = await bob.dialog.locator('code.hash').textContent();
    const command = await bob.dialog.locator('details code').textContent();
    const computed = await writ((command ?? '').split(' ').slice(1).map(unquoted), BOB);

    await confirm(bob).click();
    await bob.bar.filter({ hasText: /Approved by you/ }).waitFor();
    const votes = await bob.page.locator('#terms').innerText();
    const bytes = await exported(desk);
    const ground = { keys: { pinned: 'all' as const }, now: new Date() };
    const report = await verifyExport([bytes], ground);

    assert.equal(computed.status, 0, computed.err);
    assert.match(
      computed.out,
      new RegExp(`^digest +(sha256:)?${shown?.replaceAll(/\W/g, '')}$`, 'm'),
    );
    assert.match(votes, /You\s+✓ Approved with the passkey .?Phone/);
    assert.equal((await asked.resume((await desk.read(asked)).grant_id)).status, 200);
    assert.equal(report.verdict, 'verified', JSON.stringify(report.checks));
    const checks = report.checks.filter(({ what }) => what.startsWith('passkey'));
    assert.deepEqual(
      checks.map(({ outcome }) => outcome),
      ['ok', 'ok'],
    );
    for (const field of [
      '"signature":"',
      '"client_data":"',
      '"authenticator_data":"',
      '"nonce":"',
    ]) {
      const changed = Uint8Array.from(bytes);
      const at = bytes.indexOf(field, bytes.indexOf('"passkey":')) + field.length + 8;
      changed[at] = changed[at] === 0x41 ? 0x42 : 0x41;
      assert.equal((await verifyExport([changed], ground)).verdict, 'failed', field);
    }
    assert.deepEqual(bob.complaints, []);
  });

  test('lets the approver sign a denial, which the log proves, too', async () => {
    const desk = await openDesk();
    const { bob } = desk;
    const asked = await desk.asked(sealed);
    await bob.page.goto(asked.link);

    await bob.deny.click();
    await bob.dialog.getByLabel('Reason').fill('not this one');
    const sign = bob.dialog.getByRole('checkbox', { name: 'Sign the denial with a passkey' });
    assert.equal(await sign.isChecked(), true);
    await bob.dialog.getByRole('button', { name: /^Deny/ }).click();
    await bob.bar.filter({ hasText: /Denied by you/ }).waitFor();
    const ground = { keys: { pinned: 'all' as const }, now: new Date() };
    const report = await verifyExport([await exported(desk)], ground);

    assert.equal((await desk.read(asked)).status, 'denied');
    assert.equal(report.verdict, 'verified', JSON.stringify(report.checks));
    const checks = report.checks.filter(({ what }) => what.startsWith('passkey'));
    assert.deepEqual(
      checks.map(({ outcome }) => outcome),
      ['ok', 'ok'],
    );
  });

  test('takes no signature of a device that did not recognise the person', async () => {
    const desk = await openDesk();
    const { bob, device } = desk;
    const asked = await desk.asked(sealed);
    const { session, id: authenticatorId } = device;
    await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });

    await signing(desk, asked);
    await confirm(bob).click();
    await bob.dialog.getByRole('alert').filter({ hasText: 'Cannot use a passkey' }).waitFor();

    assert.equal((await desk.read(asked)).status, 'pending');
  });
});

describe('between the page and the service', { timeout: SLOW }, () => {
  test('a challenge over anything else than what is shown is not signed', async () => {
    const desk = await openDesk();
    const { bob, device } = desk;
    const asked = await desk.asked(sealed);
    const before = await device.signatures();
    const alterations: ((challenge: Challenge) => Challenge)[] = [
      (challenge) => ({ ...challenge, digest: digestOf({}) }),
      (challenge) => resigned(challenge, { parameters_digest: digestOf({ amount: 9_999 }) }),
      (challenge) => resigned(challenge, { preview_digest: null }),
      (challenge) => resigned(challenge, { decision: 'deny', terms: null }),
      (challenge) => resigned(challenge, { approval_request_id: `apr_${'0'.repeat(32)}` }),
      ({ payload, ...challenge }) =>
        resigned({ payload, ...challenge }, { terms: { ...terms(payload), max_uses: 3 } }),
    ];
    for (const alter of alterations) {
      await alterAnswers(bob.page, 'decision.challenge', (challenge) => {
        Object.assign(challenge, alter(challenge));
      });
      await signing(desk, asked);
      await bob.dialog.getByText(/asks to sign something else than what is shown/).waitFor();
      assert.equal(await confirm(bob).count(), 0);
      await bob.page.unroute('**/console/api/decision.challenge');
    }

    assert.equal(await device.signatures(), before);
    assert.equal((await desk.read(asked)).status, 'pending');
  });

  test('a decision that was altered on its way is refused, and the unaltered one is taken', async () => {
    const desk = await openDesk();
    const { bob } = desk;
    const asked = await desk.asked(sealed);
    let alter: (sent: Sent) => void = () => undefined;
    await bob.page.route('**/console/api/approval_grants.issue', async (route) => {
      const sent = route.request().postDataJSON() as Sent;
      alter(sent);
      await route.continue({ postData: JSON.stringify(sent) });
    });
    const alterations: [(sent: Sent) => void, RegExp][] = [
      ...(
        ['signature', 'client_data', 'authenticator_data', 'credential_id', 'nonce'] as const
      ).map((field): [(sent: Sent) => void, RegExp] => [
        ({ passkey }) => void Object.assign(passkey, { [field]: flipped(passkey[field]) }),
        /the passkey does not confirm it/,
      ]),
      [(sent) => void Object.assign(sent, { expires_in_seconds: 60 }), /does not confirm it/],
      [(sent) => void Reflect.deleteProperty(sent, 'passkey'), /passkey/],
    ];
    await signing(desk, asked);
    for (const [next, words] of alterations) {
      alter = next;
      await confirm(bob).click();
      await bob.dialog.getByRole('alert').filter({ hasText: words }).waitFor();
      assert.equal((await desk.read(asked)).status, 'pending');
      await bob.dialog.getByRole('button', { name: 'Go back' }).click();
      await bob.approve.click();
    }

    alter = () => undefined;
    await confirm(bob).click();
    await bob.bar.filter({ hasText: /Approved by you/ }).waitFor();
    assert.equal((await desk.read(asked)).status, 'approved');
  });

  test('a proxy that alters the request, its digests and the challenge alike gets a signature that does not count', async () => {
    const desk = await openDesk();
    const { bob, device } = desk;
    const asked = await desk.asked(sealed);
    const before = await device.signatures();
    const parameters = { ...sealed.parameters, amount: 25 };
    const preview = { action: 'Refund', ...parameters };
    const digests = { parameters_digest: digestOf(parameters), preview_digest: digestOf(preview) };
    await alterAnswers(bob.page, 'decision', ({ request }: { request: object }) => {
      const { parameters_digest, preview_digest } = digests;
      const requested_parameters_digest = parameters_digest;
      Object.assign(request, { parameters, preview, preview_digest, requested_parameters_digest });
    });
    await alterAnswers(bob.page, 'decision.challenge', (challenge: Challenge) => {
      Object.assign(challenge, resigned(challenge, digests));
    });

    await signing(desk, asked);
    await confirm(bob).click();
    await bob.dialog
      .getByRole('alert')
      .filter({ hasText: /does not confirm it/ })
      .waitFor();

    assert.equal(await device.signatures(), before + 1);
    assert.equal((await desk.read(asked)).status, 'pending');
  });
});

describe('the page Passkeys', { timeout: SLOW }, () => {
  test('adds a key for a lost one that waits a day, which every page says, and removes it', async () => {
    const desk = await openDesk();
    const { bob, device } = desk;
    const { session, id: authenticatorId } = device;
    await session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
    await plugIn(bob.page);
    const notice = bob.page.getByText('A new passkey waits.');

    await enrol(bob, 'Replacement', { isConfirmed: false });
    await notice.waitFor();
    const list = await bob.page.locator('ul.list').innerText();
    await bob.page.goto((await desk.asked(sealed)).link);
    await bob.bar.waitFor();
    const elsewhere = await notice.count();
    await bob.page.getByRole('link', { name: 'remove it now' }).click();
    await bob.page.getByRole('button', { name: 'Remove Replacement…' }).click();
    await bob.dialog.getByRole('button', { name: 'Remove passkey' }).click();
    await notice.waitFor({ state: 'detached' });

    assert.match(list, /Phone\s+Counts[\s\S]*Replacement\s+Waits/);
    assert.equal(elsewhere, 1);
    assert.match(await bob.page.locator('ul.list').innerText(), /Phone/);
    assert.doesNotMatch(await bob.page.locator('ul.list').innerText(), /Replacement/);
    assert.deepEqual(bob.complaints, []);
  });

  test('adds a further key at once when the first confirms it', async () => {
    const desk = await openDesk();
    const { bob, device } = desk;
    const { session, id: authenticatorId } = device;
    // A virtual device answers at once, so the second is plugged in when the browser asks for a new key.
    await bob.page.exposeFunction('changeDevice', async () => {
      await session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
      await plugIn(bob.page);
    });
    await bob.page.evaluate(`{
      const make = navigator.credentials.create.bind(navigator.credentials);
      navigator.credentials.create = async (options) => { await changeDevice(); return make(options); };
    }`);

    await enrol(bob, 'Security key');

    const states = await bob.page.locator('ul.list .pill').allInnerTexts();
    assert.deepEqual(states, ['Counts', 'Counts']);
  });
});

/** The page of a log that ann takes with her. */
async function exported({ service, url }: Desk): Promise<Buffer> {
  await service.ask('POST', '/svc/operator/checkpoints', { bearer: ANN, body: {} });
  const file = join(temporaryFolder(), 'desk.log');
  const args = ['audit', 'export', '--service', url, '--whole', '--out', file];
  const { status, err } = await writ(args, ANN);
  assert.equal(status, 0, err);
  return readFileSync(file);
}

interface Sent {
  passkey: Record<
    'signature' | 'client_data' | 'authenticator_data' | 'credential_id' | 'nonce',
    string
  >;
}

/** The same challenge over another payload, with the digest of that. */
function resigned(challenge: Challenge, change: object): Challenge {
  const payload = { ...challenge.payload, ...change };
  return { ...challenge, payload, digest: decisionDigest(payload) };
}

function terms({ terms }: Challenge['payload']) {
  assert.ok(terms);
  return terms;
}

/** With one character changed that carries whole bits of the bytes. */
function flipped(text: string): string {
  const at = Math.floor(text.length / 2);
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
}

/** As a shell reads the word. */
function unquoted(word: string): string {
  return word.replaceAll("'", '');
}

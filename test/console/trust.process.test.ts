/**
 * Verification in a real browser: green for what the service answers, red behind a proxy that changes one character of
 * an answer, and the same by verify.html from disk without a service.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { sealed } from '../log/support.ts';
import { openBrowser } from '../support/chromium.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { ALICE, OPERATOR } from '../support/world.ts';
import { agentOf, openDesk, openServer, SEARCH, SLOW, visit } from './views-rig.ts';

// biome-ignore lint/suspicious/noExplicitAny: a proxy changes whatever came back.
type Body = any;

const browser = closedAtEnd(await openBrowser());
const desk = await openDesk();
const { service } = desk;
const { token } = await agentOf(desk, 'agent:planner');
const { body: called } = await service.invoke(token, 'search_flights', SEARCH);
for (const _ of [1, 2, 3]) await service.invoke(token, 'search_flights', SEARCH);
const earlier = await sealed(service);
for (const _ of [1, 2]) await service.invoke(token, 'search_flights', SEARCH);
const later = await sealed(service);

/** Changes one answer of the API before the browser gets it. */
let tamper: (method: string, body: Body) => void = () => {};

/** Stands between the browser and the service, which takes it for the browser. */
const proxy = await openServer((asked, answer) => {
  const { port, host, origin } = new URL(desk.pages);
  const headers = { ...asked.headers, host, ...(asked.headers.origin && { origin }) };
  const path = asked.url ?? '/';
  const onward = request(
    { port, host: '127.0.0.1', path, method: asked.method, headers },
    (got) => {
      const chunks: Buffer[] = [];
      got.on('data', (chunk: Buffer) => void chunks.push(chunk));
      got.on('end', () => {
        const whole = Buffer.concat(chunks);
        const method = /^\/console\/api\/(.+)$/.exec(path)?.[1];
        const { 'content-length': _, 'transfer-encoding': __, ...others } = got.headers;
        answer.writeHead(got.statusCode ?? 500, others);
        answer.end(method === undefined ? whole : changed(method, whole));
      });
    },
  );
  asked.pipe(onward);
});

function changed(method: string, whole: Buffer): string {
  const body = JSON.parse(whole.toString());
  tamper(method, body);
  return JSON.stringify(body);
}

/** Another character of the same alphabet at one place. */
function flipped(text: string, at: number): string {
  return text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);
}

async function verifiedBehind(alter: typeof tamper, query: string): Promise<Page> {
  tamper = () => {};
  const { page } = await visit(browser, desk, ALICE, { path: '/console/trust', at: proxy });
  tamper = alter;
  await page.goto(`${proxy}/console/trust?${query}`);
  return page;
}

const ENTRY = `entry=${called.invocation_id}`;
const GREEN = /^Entry \d+ is in checkpoint \d+$/;
const RED = 'This answer does not hold. Do not rely on it.';

const stepsOf = (page: Page) => page.getByRole('list', { name: 'Steps' });

describe('an entry', { timeout: SLOW }, () => {
  test('verifies in all its steps, also through a proxy that changes nothing', async () => {
    const page = await verifiedBehind(() => {}, ENTRY);

    await page.getByRole('heading', { name: GREEN }).waitFor();
    await page.getByText(/All \d+ steps agree\./).waitFor();
    await page.getByText(/^Checkpoint \d+ extends checkpoint \d+\. Its signature covers/).waitFor();
    assert.equal(await stepsOf(page).getByRole('img', { name: 'Fails' }).count(), 0);
    assert.ok((await stepsOf(page).getByRole('img', { name: 'Agrees' }).count()) > 0);
  });

  const changes: readonly [what: string, alter: typeof tamper, step: RegExp][] = [
    [
      'the entry',
      (method, { entries }) => {
        if (method === 'audit.query') {
          for (const each of entries) each.leaf = flipped(each.leaf, 40);
        }
      },
      /Step \d+ fails: (?:Hash the entry|Compare with the root)/,
    ],
    [
      'a readable field of the entry',
      (method, { entries }) => {
        if (method === 'audit.query') for (const each of entries) each.capability = 'book_flight';
      },
      /Step \d+ fails: Hash the entry/,
    ],
    [
      'the path',
      (method, { inclusion_proof }) => {
        if (method !== 'checkpoints.get' || !inclusion_proof) return;
        inclusion_proof.hashes[0] = flipped(inclusion_proof.hashes[0], 7);
      },
      /Step \d+ fails: Compare with the root of checkpoint \d+/,
    ],
    [
      'the root',
      (method, body) => {
        if (method !== 'checkpoints.get') return;
        const at = body.merkle_root.length - 3;
        body.merkle_root = flipped(body.merkle_root, at);
      },
      /Step \d+ fails: /,
    ],
    [
      'the signature',
      (method, body) => {
        if (method !== 'checkpoints.get') return;
        body.signature = flipped(body.signature, body.signature.length - 9);
      },
      /Step \d+ fails: .*sign/i,
    ],
  ];
  for (const [what, alter, step] of changes) {
    test(`turns red when one character of ${what} was changed, and names the step`, async () => {
      const page = await verifiedBehind(alter, ENTRY);

      await page.getByRole('heading', { name: RED }).waitFor();
      assert.match(await page.locator('.notice.bad').innerText(), step);
      assert.ok((await stepsOf(page).getByRole('img', { name: 'Fails' }).count()) > 0);
      await page.getByText('Computed', { exact: true }).waitFor();
      assert.equal(await page.getByRole('heading', { name: GREEN }).count(), 0);
      await page.getByRole('button', { name: 'Save the evidence' }).waitFor();
    });
  }
});

describe('the newest checkpoint', { timeout: SLOW }, () => {
  test('is verified when the page opens, and the numbers say what it covers', async () => {
    const page = await verifiedBehind(() => {}, '');

    const words = `Checkpoint ${later.sequence} extends checkpoint ${earlier.sequence}. Its signature covers ${later.entry_count} entries.`;
    await page.getByText(words).waitFor();
    await page.getByText('The keys came from the service').waitFor();
    await page.getByRole('button', { name: 'Show how' }).click();
    await stepsOf(page).waitFor();
  });

  test('turns the first sentence red when its root was changed', async () => {
    const page = await verifiedBehind((method, body) => {
      if (method === 'checkpoints.get') body.merkle_root = flipped(body.merkle_root, 12);
    }, '');

    await page.getByText('The newest checkpoint does not hold. Do not rely on this log.').waitFor();
  });
});

describe('two checkpoints', { timeout: SLOW }, () => {
  async function compared(alter: typeof tamper): Promise<Page> {
    const page = await verifiedBehind(alter, '');
    await page.getByLabel('Does checkpoint').fill(String(later.sequence));
    await page.getByLabel('extend checkpoint').fill(String(earlier.sequence));
    await page.getByRole('button', { name: 'Verify these two' }).click();
    return page;
  }

  test('verify where the later one extends the earlier one', async () => {
    const page = await compared(() => {});

    const name = new RegExp(`^Checkpoint ${later.sequence} extends checkpoint ${earlier.sequence}`);
    await page.getByRole('heading', { name }).waitFor();
  });

  test('turn red when one character of the proof was changed', async () => {
    const page = await compared((method, { consistency_proof: proof }) => {
      if (method === 'checkpoints.get' && proof) proof.hashes[0] = flipped(proof.hashes[0], 3);
    });

    await page.getByRole('heading', { name: RED }).waitFor();
    assert.match(await page.locator('.notice.bad').innerText(), /Step \d+ fails: /);
  });
});

describe('verify.html from disk', { timeout: SLOW }, async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'desk.log');
  const verifier = join(folder, 'verify.html');
  copyFileSync('dist/src/console-page/verify.html', verifier);
  const io = { out: () => {}, err: () => {}, env: { WRIT_CLIENT_CREDENTIAL: OPERATOR } };
  const exported = await main(['audit', 'export', '--service', desk.url, '--out', file], io);
  const jwks = JSON.stringify((await service.ask('GET', '/.well-known/jwks.json')).body);

  async function verify(path: string): Promise<{ page: Page; requests: string[] }> {
    const context = closedAtEnd(await browser.newContext());
    const requests: string[] = [];
    context.on('request', (each) => void requests.push(each.url()));
    const page = await context.newPage();
    await page.goto(pathToFileURL(verifier).href);
    await page.getByLabel('Exported log, trail or saved evidence').setInputFiles(path);
    await page.getByLabel('Key set (jwks), as JSON', { exact: true }).fill(jwks);
    await page.getByRole('button', { name: 'Verify this file' }).click();
    return { page, requests };
  }

  test('verifies an export, and asks nothing but itself', async () => {
    assert.equal(exported, 0);
    const { page, requests } = await verify(file);

    await page.getByRole('heading', { name: 'The file holds' }).waitFor();
    assert.deepEqual(requests, [pathToFileURL(verifier).href]);
  });

  test('turns red for an export of which one byte was changed', async () => {
    const bytes = readFileSync(file);
    const at = bytes.indexOf('search_flights');
    const leaf = at >= 0 ? at : Math.floor(bytes.length / 2);
    writeFileSync(join(folder, 'changed.log'), bytes.with(leaf, (bytes[leaf] ?? 0) ^ 1));

    const { page, requests } = await verify(join(folder, 'changed.log'));

    await page
      .getByRole('heading', { name: 'This file does not hold. Do not rely on it.' })
      .waitFor();
    assert.equal(requests.length, 1);
  });
});

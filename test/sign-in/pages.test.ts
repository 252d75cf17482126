/**
 * What the sign-in pages say, by the HTML they consist of.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { endAgentPage, stopAllPage } from '../../src/http/sign-in/agents-page.ts';
import { consentPage } from '../../src/http/sign-in/consent-page.ts';
import { signInPage } from '../../src/http/sign-in/sign-in-page.ts';
import { AGENT, CONSENT, FRAME, USUAL } from './views.ts';

test('no page has a script, a style attribute or anything to load', () => {
  for (const [name, html] of Object.entries(USUAL)) {
    const loaded = html.replace('<link rel="icon" href="/favicon.svg" type="image/svg+xml">', '');
    assert.doesNotMatch(loaded, /<script|<link|<img| style=| on\w+=| src=/i, name);
  }
});

test('every form has the token of the page, and every path is below that of the service', () => {
  const frame = { ...FRAME, basePath: '/desk' };
  const html = consentPage(frame, CONSENT) + endAgentPage(frame, AGENT);
  const forms = [...html.matchAll(/<form method="post" action="([^"]+)"[^>]*>\s*(<input[^>]+>)/g)];

  assert.deepEqual(
    forms.map(([, action]) => action),
    ['/desk/sign-out', '/desk/authorize', '/desk/sign-out', '/desk/agents/end'],
  );
  for (const [, , field] of forms) {
    assert.equal(field, '<input type="hidden" name="csrf" value="token-of-the-page">');
  }
  assert.equal(html.match(/<form/g)?.length, forms.length);
  assert.doesNotMatch(html, /href="\/(?!desk\/)/);
});

test('consentPage() quotes the name that a client gave itself, and says that it is not verified', () => {
  assert.match(
    USUAL.consent ?? '',
    /Let <q class="claimed"><bdi>Claude Code<\/bdi><\/q> act for you/,
  );
  assert.match(USUAL.consent ?? '', /Not verified/);
  const verified = { ...CONSENT, client: { ...CONSENT.client, isVerified: true } };
  assert.doesNotMatch(consentPage(FRAME, verified), /Not verified|class="claimed"/);
});

test('consentPage() offers no box for what consent cannot give', () => {
  const boxes = [...(USUAL.consent ?? '').matchAll(/name="c" value="([^"]+)"( checked)?/g)];

  assert.deepEqual(
    boxes.map(([, name, ticked]) => [name, ticked !== undefined]),
    [
      ['search_flights', true],
      ['get_booking', true],
      ['hold_seat', false],
      ['buy_lounge_pass', false],
      ['book_flight', false],
      ['charter_jet', false],
      ['list_refunds', false],
    ],
  );
  assert.match(USUAL.consent ?? '', /A person approves each one<br>Choose it alone/);
  assert.match(USUAL.consent ?? '', /Only you yourself may do this/);
  assert.match(USUAL.consent ?? '', /operator:\*.*\s.*Consent can never give it/);
});

test('consentPage() opens what the client does not ask for when some of it is ticked', () => {
  const options = CONSENT.options.map((each) => ({ ...each, isChosen: true }));

  assert.match(USUAL.consent ?? '', /<details><summary.*1 capability that it does not ask for/);
  assert.doesNotMatch(USUAL.consent ?? '', /<details open>/);
  assert.match(consentPage(FRAME, { ...CONSENT, options }), /<details open>/);
});

test('consentPage() folds a description that is long, and says a short one with its box', () => {
  const [first, ...others] = CONSENT.options;
  const long = { ...first, description: 'Finds flights. '.repeat(20) } as (typeof others)[number];
  const html = consentPage(FRAME, { ...CONSENT, options: [long, ...others] });

  assert.match(html, /<details><summary class="more">.*What it does<\/span><\/summary>.*Finds/);
  assert.match(html, /value="get_booking" checked id="c-1" aria-describedby="about-1"/);
});

test('signInPage() has one blue button, and folds the key where a provider is configured', () => {
  const view = { host: 'desk.example.com', returnTo: '/agents' };
  const question = { challenge: 'c', rp_id: 'desk.example.com' };
  const acme = [{ id: 'acme', label: 'Acme' }];
  const shown = (more: Partial<Parameters<typeof signInPage>[1]>) =>
    signInPage(FRAME, { ...view, providers: [], takesKey: false, ...more });
  const blue = (html: string) => [...html.matchAll(/class="(?:button )?act"/g)].length;
  const all = shown({ providers: acme, takesKey: true, question });
  const key = shown({ takesKey: true, question });
  const passkey = shown({ question });

  for (const html of [all, key, passkey]) assert.equal(blue(html), 1);
  assert.match(
    all,
    /class="button act".*Acme[\s\S]*Use a passkey[\s\S]*<details>[\s\S]*name="key"/,
  );
  assert.match(
    key,
    /name="key"[\s\S]*<button class="act">.*Sign in with this key[\s\S]*Use a pass/,
  );
  assert.match(passkey, /<button class="act">.*Use a passkey/);
  for (const html of [key, passkey, shown({})]) assert.doesNotMatch(html, /<details/);
  assert.match(shown({}), /There is no way to sign in here/);
  assert.match(all, /<noscript>.*A passkey needs JavaScript/);
});

test('consentPage() asks for no limit when nothing costs money', () => {
  const html = consentPage(FRAME, { ...CONSENT, currencies: [] });

  assert.doesNotMatch(html, /name="limit"|name="currency"/);
  assert.match(html, /Nothing here costs money/);
});

test('consentPage() shows the hidden characters of a purpose that was filled in', () => {
  const html = consentPage(FRAME, { ...CONSENT, purpose: 'a\u202eb' });

  assert.match(html, /This text has hidden characters: <bdi>a<span class="ctl">⟨U\+202E⟩<\/span>b/);
  assert.doesNotMatch(USUAL.consent ?? '', /has hidden characters/);
});

test('signInPage() leads to providers by links, since no form may lead to another origin', () => {
  const providers = [{ id: 'a&b', label: 'Acme' }];
  const html = signInPage(FRAME, {
    providers,
    takesKey: false,
    host: 'desk.example.com',
    returnTo: '/authorize?a=b&c=d',
  });

  assert.match(
    html,
    /href="\/sign-in\/start\?provider=a%26b&amp;return_to=%2Fauthorize%3Fa%3Db%26c%3Dd"/,
  );
  assert.doesNotMatch(html, /name="key"/);
});

test('endAgentPage() and stopAllPage() say what ends, what stays, and offer the safe way first', () => {
  for (const [html, act] of [
    [endAgentPage(FRAME, AGENT), 'End agent'],
    [stopAllPage(FRAME, [AGENT, AGENT]), 'End 2 agents'],
  ] as const) {
    assert.match(html, /Nothing that they did is undone, and what is spent stays spent/);
    assert.match(html, /Every sub-agent below/);
    assert.match(html, /325\.00 <small>USD<\/small><\/span> of .* spent, .*215\.00 .* reserved/);
    assert.ok(html.search(/>Keep (?:it|them) running</) < html.indexOf(`>${act}<`));
    assert.match(html, />Keep (?:it|them) running</);
  }
});

test('agentsPage() leads to what each agent did, on the console', () => {
  const html = USUAL.agents ?? '';

  assert.match(html, /href="\/console\/agents\/tok_1">What it did/);
  assert.match(html, /Stop all 2 agents…/);
  assert.match(USUAL.stop ?? '', /<h1 class="ask">Stop all 2 agents\?<\/h1>/);
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { isPrincipal } from '../authority/principal.ts';
import {
  agentSubject,
  type ClientReading,
  clientUrlFault,
  clientWord,
  readClientDocument,
  readConfiguredClient,
  readRegistration,
  registrationAnswer,
} from './client.ts';

const URL_ID = 'https://agents.example/claude-code.json';
const REDIRECT = 'http://127.0.0.1/callback';
const DOCUMENT = { client_id: URL_ID, client_name: 'Claude Code', redirect_uris: [REDIRECT] };

function clientOf(reading: ClientReading) {
  if ('fault' in reading) throw new Error(reading.fault.description);
  return reading.client;
}

function faultOf(reading: ClientReading): string {
  return 'fault' in reading ? `${reading.fault.error}: ${reading.fault.description}` : 'admitted';
}

for (const id of [URL_ID, 'https://a.example:8443/c', 'https://a.example/c?v=1']) {
  test(`clientUrlFault() admits ${id}`, () => {
    assert.equal(clientUrlFault(id), undefined);
  });
}

// The draft's section 3, and other spellings of one address: ids are compared as text.
const URLS: readonly [attack: string, url: string, reason: RegExp][] = [
  ['plain http', 'http://agents.example/c.json', /https/],
  ['another scheme', 'file:///etc/passwd', /https/],
  ['the scheme in upper case', 'HTTPS://agents.example/c', /https/],
  ['no path', 'https://agents.example', /no path/],
  ['an empty path', 'https://agents.example/', /no path/],
  ['a fragment', 'https://agents.example/c#a', /fragment/],
  ['an empty fragment', 'https://agents.example/c#', /fragment/],
  ['a user name', 'https://bank.example@evil.example/c', /user name/],
  ['a password', 'https://a:b@evil.example/c', /user name/],
  ['a dot segment', 'https://agents.example/a/../c', /usual form/],
  ['a single dot', 'https://agents.example/./c', /usual form/],
  ['an escaped dot segment', 'https://agents.example/a/%2e%2e/c', /usual form/],
  ['a host in upper case', 'https://Agents.example/c', /usual form/],
  ['the default port', 'https://agents.example:443/c', /usual form/],
  ['an inside address in decimal', 'https://2130706433/c', /usual form/],
  ['a tab', 'https://agents.exa\tmple/c', /usual form/],
  ['a backslash', 'https://agents.example\\c', /usual form/],
  ['no host', 'https:///', /not a URL|no path/],
  ['an endless text', `https://agents.example/${'c'.repeat(2_000)}`, /more than/],
];

for (const [attack, url, reason] of URLS) {
  test(`clientUrlFault() refuses ${attack}`, () => {
    assert.match(clientUrlFault(url) ?? 'admitted', reason);
    const reading = readClientDocument(url, { ...DOCUMENT, client_id: url });
    assert.match(faultOf(reading), /^invalid_client_metadata: Cannot use client_id/);
  });
}

test('readClientDocument() reads a document and ignores what it does not use', () => {
  const more = {
    logo_uri: 'javascript:alert(1)',
    scope: 'operator:*',
    jwks_uri: 'http://10.0.0.1',
  };

  assert.deepEqual(clientOf(readClientDocument(URL_ID, { ...DOCUMENT, ...more })), {
    ...DOCUMENT,
    isVerified: false,
  });
});

test('readClientDocument() names a client without a name by the host of its id', () => {
  const { client_name: _, ...nameless } = DOCUMENT;

  assert.equal(clientOf(readClientDocument(URL_ID, nameless)).client_name, 'agents.example');
  const blank = { ...DOCUMENT, client_name: '   ' };
  assert.equal(clientOf(readClientDocument(URL_ID, blank)).client_name, 'agents.example');
});

const DOCUMENTS: readonly [attack: string, changed: object | null, reason: RegExp][] = [
  ['a document that speaks for another client', { client_id: `${URL_ID}?` }, /not its URL/],
  ['a document without its id', { client_id: undefined }, /not its URL/],
  ['a secret, which everyone could read', { client_secret: 's' }, /client_secret/],
  ['a way to prove itself', { token_endpoint_auth_method: 'client_secret_post' }, /only "none"/],
  ['a key to prove itself', { token_endpoint_auth_method: 'private_key_jwt' }, /only "none"/],
  ['grants without the code', { grant_types: ['implicit'] }, /grant_types/],
  ['grants that are no list', { grant_types: 'authorization_code' }, /grant_types/],
  ['answers without the code', { response_types: ['token'] }, /response_types/],
  ['a name that is no text', { client_name: { en: 'x' } }, /expected a text/],
  ['a name too long for a line', { client_name: 'x'.repeat(201) }, /at most 200/],
  ['a name of too many wide letters', { client_name: '😀'.repeat(201) }, /at most 200/],
  ['a name with a line break', { client_name: 'Claude\nVerified by Writ' }, /control/],
  ['a name with NUL, which a store refuses', { client_name: 'a\u0000b' }, /control/],
  ['a name with half a letter', { client_name: 'a\ud800' }, /control/],
];

for (const [attack, changed, reason] of DOCUMENTS) {
  test(`readClientDocument() refuses ${attack}`, () => {
    assert.match(faultOf(readClientDocument(URL_ID, { ...DOCUMENT, ...changed })), reason);
  });
}

for (const value of [undefined, null, 'text', [DOCUMENT]]) {
  test(`readClientDocument() refuses ${JSON.stringify(value)} in place of an object`, () => {
    assert.match(faultOf(readClientDocument(URL_ID, value)), /not an object/);
    assert.match(faultOf(readRegistration('reg-1', value)), /expected an object/);
  });
}

const REDIRECTS: readonly [attack: string, uris: unknown, reason: RegExp][] = [
  ['no redirects', undefined, /list of 1 to 20/],
  ['an empty list', [], /list of 1 to 20/],
  ['a text', REDIRECT, /list of 1 to 20/],
  ['too many', Array.from({ length: 21 }, (_, i) => `${REDIRECT}/${i}`), /list of 1 to 20/],
  [
    'one that is no text',
    [REDIRECT, { toString: () => REDIRECT }],
    /redirect_uris\[1\]: it is not/,
  ],
  ['a script among good ones', [REDIRECT, 'javascript:alert(1)'], /redirect_uris\[1\]: its scheme/],
];

for (const [attack, redirect_uris, reason] of REDIRECTS) {
  test(`every way to become a client refuses ${attack}`, () => {
    const readings = [
      readClientDocument(URL_ID, { ...DOCUMENT, redirect_uris }),
      readRegistration('reg-1', { redirect_uris }),
      readConfiguredClient({ client_id: 'desk', name: 'Desk', redirect_uris: redirect_uris as [] }),
    ];

    for (const reading of readings) {
      assert.match(faultOf(reading), /^invalid_redirect_uri: /);
      assert.match(faultOf(reading), reason);
    }
  });
}

test('readRegistration() gives the id of the service, not one that the client asks for', () => {
  const request = { client_id: URL_ID, client_secret_expires_at: 0, redirect_uris: [REDIRECT] };

  const client = clientOf(readRegistration('reg-1', request));

  assert.deepEqual(client, {
    client_id: 'reg-1',
    client_name: 'Unnamed client',
    redirect_uris: [REDIRECT],
    isVerified: false,
  });
});

test('registrationAnswer() states what holds: a public client with the code flow', () => {
  const client = clientOf(
    readRegistration('reg-1', {
      client_name: ' Inspector ',
      redirect_uris: [REDIRECT, REDIRECT],
      grant_types: ['authorization_code', 'client_credentials'],
      scope: 'operator:*',
    }),
  );

  assert.deepEqual(registrationAnswer(client, new Date('2026-11-17T09:00:00.500Z')), {
    client_id: 'reg-1',
    client_id_issued_at: 1_794_906_000,
    client_name: 'Inspector',
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  });
});

test('readConfiguredClient() alone makes a verified client', () => {
  const configured = { client_id: 'desk', name: 'Desk app', redirect_uris: [REDIRECT] };

  assert.deepEqual(clientOf(readConfiguredClient(configured)), {
    client_id: 'desk',
    client_name: 'Desk app',
    redirect_uris: [REDIRECT],
    isVerified: true,
  });
});

for (const client_id of ['', 'a b', 'é', 'x'.repeat(201), URL_ID]) {
  test(`readConfiguredClient() refuses the id ${JSON.stringify(client_id.slice(0, 45))}`, () => {
    const reading = readConfiguredClient({ client_id, name: 'x', redirect_uris: [REDIRECT] });

    assert.match(faultOf(reading), /Cannot use client_id/);
  });
}

const WORDS: readonly [name: string, word: string][] = [
  ['Claude Code', 'claude-code'],
  ['  VS Code — Insiders! ', 'vs-code-insiders'],
  ['human:alice@example.com', 'human-alice-example-com'],
  ['agent:planner/7f3a', 'agent-planner-7f3a'],
  ['../../*', 'client'],
  ['東京', 'client'],
  ['', 'client'],
  ['Ｃｌａｕｄｅ', 'claude'],
  ['Café', 'cafe'],
  ['x'.repeat(90), 'x'.repeat(40)],
  [`${'x'.repeat(39)} y`, 'x'.repeat(39)],
];

for (const [name, word] of WORDS) {
  test(`clientWord() of ${JSON.stringify(name.slice(0, 30))} is ${word.slice(0, 30)}`, () => {
    assert.equal(clientWord(name), word);
  });
}

test('agentSubject() is an agent whose end the client cannot choose, whatever its name', () => {
  const random = Uint8Array.of(0x7f, 0x3a, 0, 1);

  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
      const subject = agentSubject(name, random);

      assert.match(subject, /^agent:[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?\/7f3a0001$/);
      assert.ok(isPrincipal(subject));
    }),
  );
});

test('agentSubject() refuses too few random bytes', () => {
  assert.throws(() => agentSubject('x', Uint8Array.of(1)), RangeError);
});

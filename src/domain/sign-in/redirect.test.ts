import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  answerUrl,
  matchesRedirect,
  REDIRECT_LENGTH_MAX,
  redirectFault,
  redirectHost,
} from './redirect.ts';

const SOUND = [
  'https://app.example/callback',
  'https://app.example',
  'https://app.example:8443/callback?tenant=a',
  'https://127.0.0.1/callback',
  'https://[2001:db8::1]/callback',
  'http://127.0.0.1/callback',
  'http://127.0.0.1:53187/callback',
  'http://[::1]:1234/',
  'http://localhost:33418',
  'com.example.app:/oauth2redirect',
  'com.example.app://done/here',
  'cursor://anysphere.cursor-mcp/oauth/callback',
  'vscode://vscode.github-authentication/did-authenticate',
  'vscode-insiders://x/y',
];

for (const uri of SOUND) {
  test(`redirectFault() admits ${uri}`, () => {
    assert.equal(redirectFault(uri), undefined);
    assert.ok(matchesRedirect(uri, uri));
  });
}

// Each attack, and a text that tries it.
const ATTACKS: readonly [attack: string, uri: string, reason: RegExp][] = [
  ['an empty text', '', /characters/],
  ['a path of this service: open redirect', '/callback', /not absolute/],
  ['a host of any scheme', '//evil.example/callback', /not absolute/],
  ['a fragment, which hides the answer', 'https://app.example/#', /fragment/],
  ['a host before a user name', 'https://app.example@evil.example/', /user name/],
  ['a loopback host as a user name', 'http://127.0.0.1:80@evil.example/', /user name/],
  ['a password', 'https://a:b@app.example/', /user name/],
  ['a user name of a private scheme', 'com.example.app://a@b/', /user name/],
  ['a wildcard host', 'https://*.example/callback', /"\*"/],
  ['a wildcard path', 'https://app.example/*', /"\*"/],
  ['a space', 'https://app.example/a b', /characters/],
  ['a line break: header injection', 'https://app.example/\r\nset-cookie:a=b', /characters/],
  ['a tab, which browsers drop', 'https://app.exa\tmple/', /characters/],
  ['a backslash, which browsers read as a slash', 'https://app.example\\@evil.example', /charac/],
  ['a quote', 'https://app.example/"onload=', /characters/],
  ['a letter that looks like another', 'https://аpp.example/', /characters/],
  ['half an escape', 'https://app.example/%2', /characters/],
  ['a script', 'javascript:alert(1)', /scheme "javascript"/],
  ['a script in upper case', 'JavaScript:alert(1)', /not absolute/],
  ['a document in the link', 'data:text/html,x', /scheme "data"/],
  ['a file', 'file:///etc/passwd', /scheme "file"/],
  ['a blob', 'blob:https://app.example/1', /scheme "blob"/],
  ['a view of the source', 'view-source:https://app.example/', /scheme "view-source"/],
  ['a private scheme without a dot', 'myapp://callback', /scheme "myapp"/],
  ['a private scheme without a path', 'com.example.app:alert(1)', /path/],
  ['plain http on the network', 'http://app.example/callback', /plain http/],
  ['a host that begins like loopback', 'http://127.0.0.1.evil.example/', /plain http/],
  ['a host that begins like localhost', 'http://localhost.evil.example/', /plain http/],
  ['a host that ends like localhost', 'http://evil.localhost/', /plain http/],
  ['an address in decimal', 'http://2130706433/', /plain http/],
  ['an address in hexadecimal', 'http://0x7f000001/', /plain http/],
  ['an address in short form', 'http://127.1/', /plain http/],
  ['another loopback address', 'http://127.0.0.2/', /plain http/],
  ['loopback in upper case', 'http://LOCALHOST/', /plain http/],
  ['loopback in another form of IPv6', 'http://[0:0:0:0:0:0:0:1]/', /plain http/],
  ['a port that does not exist', 'http://127.0.0.1:99999/', /usual form/],
  ['port zero', 'http://127.0.0.1:0/', /plain http/],
  ['an address in decimal on https', 'https://2130706433/', /usual form/],
  ['a host in upper case', 'https://APP.example/', /usual form/],
  ['an escaped host', 'https://app%2eexample/', /usual form/],
  ['a directive of a policy: header injection', 'https://a;sandbox/', /usual form/],
  ['a second policy', 'https://a,sandbox/', /usual form/],
  ['a host in quotes', "https://'self'/", /usual form/],
  ['an empty port', 'https://app.example:/', /usual form/],
  ['no host', 'https:///callback', /host/],
  ['one slash', 'https:/app.example/', /host/],
  ['a code of its own', 'https://app.example/?code=stolen', /"code"/],
  ['an escaped state of its own', 'https://app.example/?%73tate=1', /"state"/],
  ['an issuer of its own: mix-up', 'https://app.example/?a=1&iss=https://evil', /"iss"/],
  ['an endless text', `https://app.example/${'a'.repeat(REDIRECT_LENGTH_MAX)}`, /more than/],
];

for (const [attack, uri, reason] of ATTACKS) {
  test(`redirectFault() refuses ${attack}`, () => {
    assert.match(redirectFault(uri) ?? 'admitted', reason);
    assert.equal(matchesRedirect(uri, uri), false);
  });
}

const MATCHES: readonly [what: string, registered: string, asked: string, matches: boolean][] = [
  ['another port of loopback', 'http://127.0.0.1/cb', 'http://127.0.0.1:53187/cb', true],
  ['no port of loopback', 'http://127.0.0.1:3000/cb', 'http://127.0.0.1/cb', true],
  ['another port of IPv6 loopback', 'http://[::1]:1/cb', 'http://[::1]:2/cb', true],
  ['another port of localhost', 'http://localhost:1/', 'http://localhost:2/', true],
  ['another name of loopback', 'http://127.0.0.1/cb', 'http://localhost/cb', false],
  ['another path of loopback', 'http://127.0.0.1/cb', 'http://127.0.0.1:1/other', false],
  ['no path of loopback', 'http://127.0.0.1/', 'http://127.0.0.1:1', false],
  ['another query of loopback', 'http://127.0.0.1/cb', 'http://127.0.0.1:1/cb?a=1', false],
  ['https in place of http', 'http://127.0.0.1/cb', 'https://127.0.0.1/cb', false],
  ['a look-alike', 'http://127.0.0.1/cb', 'http://127.0.0.1.evil.example/cb', false],
  ['a user name', 'http://127.0.0.1/cb', 'http://127.0.0.1:80@evil.example/cb', false],
  ['a port of https', 'https://a.example/cb', 'https://a.example:8443/cb', false],
  ['the default port of https', 'https://a.example/cb', 'https://a.example:443/cb', false],
  ['a longer path', 'https://a.example/cb', 'https://a.example/cb/evil', false],
  ['dot segments', 'https://a.example/cb', 'https://a.example/x/../cb', false],
  ['a longer host', 'https://a.example', 'https://a.example.evil.example', false],
  ['a subdomain', 'https://a.example/cb', 'https://x.a.example/cb', false],
  ['a path in another case', 'https://a.example/cb', 'https://a.example/CB', false],
  ['an escaped letter', 'https://a.example/cb', 'https://a.example/%63b', false],
  ['a query', 'https://a.example/cb', 'https://a.example/cb?next=//evil', false],
  ['a fragment', 'https://a.example/cb', 'https://a.example/cb#', false],
  ['another host of a private scheme', 'cursor://a/cb', 'cursor://b/cb', false],
  ['a port of a private scheme', 'com.a.b://x:1/cb', 'com.a.b://x:2/cb', false],
];

for (const [what, registered, asked, matches] of MATCHES) {
  test(`matchesRedirect() ${matches ? 'admits' : 'refuses'} ${what}`, () => {
    assert.equal(matchesRedirect(registered, asked), matches);
  });
}

test('matchesRedirect() refuses an equal text that may not be registered: an edited row', () => {
  assert.equal(matchesRedirect('javascript:alert(1)', 'javascript:alert(1)'), false);
});

test('redirectHost() says whether an answer stays on this computer, and who gets it otherwise', () => {
  const words = (uri: string) => redirectHost(uri).words;

  assert.deepEqual(redirectHost('http://127.0.0.1:53187/cb'), {
    isLoopback: true,
    host: '127.0.0.1:53187',
    words: 'This computer 127.0.0.1:53187',
  });
  assert.equal(words('http://[::1]:1/'), 'This computer [::1]:1');
  assert.deepEqual(redirectHost('https://app.example:8443/cb?a=b'), {
    isLoopback: false,
    host: 'app.example:8443',
    words: 'app.example:8443',
  });
  assert.deepEqual(redirectHost('cursor://anysphere/cb'), {
    isLoopback: false,
    host: 'cursor:',
    words: 'The program that opens cursor: links',
  });
});

test('redirectHost() does not take a host that begins like loopback for this computer', () => {
  assert.equal(redirectHost('https://127.0.0.1.evil.example/').isLoopback, false);
  assert.equal(redirectHost('https://localhost.evil.example/').isLoopback, false);
});

const ANSWERS: readonly [redirect: string, expected: string][] = [
  ['https://a.example/cb', 'https://a.example/cb?code=x%26y&state=a%20b%3D'],
  ['https://a.example', 'https://a.example?code=x%26y&state=a%20b%3D'],
  ['https://a.example/cb?t=1', 'https://a.example/cb?t=1&code=x%26y&state=a%20b%3D'],
  ['https://a.example/cb?', 'https://a.example/cb?code=x%26y&state=a%20b%3D'],
  ['https://a.example/cb?t=1&', 'https://a.example/cb?t=1&code=x%26y&state=a%20b%3D'],
  ['com.a.b:/cb', 'com.a.b:/cb?code=x%26y&state=a%20b%3D'],
];

for (const [redirect, expected] of ANSWERS) {
  test(`answerUrl() adds fields to ${redirect} that cannot end or add others`, () => {
    const url = answerUrl(redirect, { code: 'x&y', state: 'a b=', iss: undefined });

    assert.equal(url, expected);
    assert.deepEqual(new URL(url).searchParams.getAll('code'), ['x&y']);
    assert.deepEqual(new URL(url).searchParams.getAll('state'), ['a b=']);
  });
}

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { browserWords, clientWords, personName } from './names.ts';

const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0';
const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';

const browsers: readonly [userAgent: string, words: string][] = [
  [`Mozilla/5.0 (X11; Linux x86_64) ${CHROME} Safari/537.36`, 'Chrome on Linux'],
  [`Mozilla/5.0 (Linux; Android 10; K) ${CHROME} Mobile Safari/537.36`, 'Chrome on Android'],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Safari/537.36 Edg/142.0.0.0`,
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
    'Firefox on Linux',
  ],
  [
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/18.6 Safari/605.1.15`,
    'Safari on macOS',
  ],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) ${WEBKIT} Version/26.0 Mobile/15E148 Safari/604.1`,
    'Safari on iOS',
  ],
  [
    'Chrome/1 on Linux, which a person trusts more',
    'Chrome/1 on Linux, which a person trusts more',
  ],
  ['Mozilla/5.0 (Linux) and nothing else', 'Mozilla/5.0 (Linux) and nothing else'],
  ['curl/8.14.1', 'curl/8.14.1'],
  ['', ''],
];
for (const [userAgent, words] of browsers) {
  test(`browserWords() makes "${words}" of "${userAgent}"`, () => {
    assert.equal(browserWords(userAgent), words);
  });
}

test('personName() leaves out the class of a human, and no other', () => {
  assert.equal(personName('human:ann@example.com'), 'ann@example.com');
  assert.equal(personName('oidc:staff/human:1'), 'oidc:staff/human:1');
});

test('clientWords() shows an address, and says when there is none', () => {
  assert.match(
    clientWords('https://app.example/c.json'),
    /<code>.*https:\/\/app\.example\/c\.json/,
  );
  assert.match(clientWords('reg.eyJ9.k1.x-_z'), /^It registered itself here/);
  assert.match(clientWords('reg.eyJ9.<b>.x'), /&lt;b&gt;/);
});

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { cookieFor } from './cookies.ts';

const HTTPS = cookieFor('https://desk.example/travel', 'session');

/** What a browser sends. */
function sent(...cookies: string[]) {
  return { lines: (name: string) => (name === 'cookie' ? cookies : []) };
}

test('cookieFor() binds a cookie to the host and to encryption on https', () => {
  assert.match(HTTPS.name, /^__Host-writ-session-[0-9a-f]{8}$/);
  assert.equal(HTTPS.write('abc'), `${HTTPS.name}=abc; Path=/; HttpOnly; SameSite=Lax; Secure`);
});

test('cookieFor() uses a plain name on loopback http, which browsers accept without encryption', () => {
  for (const host of ['127.0.0.1:3000', 'localhost:3000', '[::1]:3000']) {
    const { name, write } = cookieFor(`http://${host}`, 'session');

    assert.match(name, /^writ-session-[0-9a-f]{8}$/);
    assert.equal(write('abc', 60), `${name}=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=60`);
  }
});

test('cookieFor() refuses plain http on any other host', () => {
  for (const url of [
    'http://desk.example',
    'http://127.0.0.1.evil.example',
    'http://localhost.evil.example',
    'ftp://127.0.0.1',
  ]) {
    assert.throws(() => cookieFor(url, 'session'), /Cannot use cookies at/, url);
  }
});

test('cookieFor() names the cookies of every address and use differently', () => {
  const names = [
    cookieFor('http://127.0.0.1:3000', 'session'),
    cookieFor('http://127.0.0.1:3001', 'session'),
    cookieFor('http://127.0.0.1:3000/desk', 'session'),
    cookieFor('http://127.0.0.1:3000', 'login'),
    cookieFor('https://desk.example', 'session'),
    cookieFor('https://desk.example:8443', 'session'),
  ].map(({ name }) => name);

  assert.equal(new Set(names).size, names.length);
});

test('read() finds its cookie among others, on one line or on several', () => {
  const own = `${HTTPS.name}=a.b-c_~9`;

  assert.equal(HTTPS.read(sent(own)), 'a.b-c_~9');
  assert.equal(HTTPS.read(sent(`x=1; ${own};y=2`)), 'a.b-c_~9');
  assert.equal(HTTPS.read(sent('x=1', own)), 'a.b-c_~9');
});

test('read() finds none where it is absent, planted twice or not of our form', () => {
  const { name } = HTTPS;
  const table = [
    [],
    ['x=1'],
    [`${name}=`],
    [`x${name}=a`],
    [name],
    [`${name.toUpperCase()}=a`],
    [`${name}=a; ${name}=b`],
    [`${name}=a; ${name}=a`],
    [`${name}=a`, `${name}=b`],
    [`${name}=a; ${name}=`],
    [`${name}="a"`],
    [`${name}=a b`],
    [`${name}=${'a'.repeat(3_801)}`],
  ];
  for (const cookies of table) assert.equal(HTTPS.read(sent(...cookies)), undefined, cookies[0]);
});

test('write() refuses a value that could add an attribute or a line', () => {
  for (const value of ['', 'a; Domain=evil.example', 'a\r\nx: y', 'a,b', 'é', 'a'.repeat(3_801)]) {
    assert.throws(() => HTTPS.write(value), /Cannot write cookie/);
  }
});

test('clear() replaces the cookie with an empty one that is over', () => {
  assert.equal(HTTPS.clear(), `${HTTPS.name}=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0`);
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import type { JsonObject } from '../../protocol/primitives.ts';
import { isFreeHeader, type Route, readBase, routedRequest, routeFault } from './route.ts';

const BASE = new URL('https://api.example.com:8443/v1');

function made(route: Route, parameters: JsonObject) {
  const request = routedRequest(BASE, route, parameters);
  return 'fault' in request ? assert.fail(request.fault) : request;
}

function fault(route: Route, parameters: JsonObject): string {
  const request = routedRequest(BASE, route, parameters);
  return 'fault' in request ? request.fault : assert.fail(request.url.href);
}

test('routedRequest() puts each parameter where the route says', () => {
  const route: Route = {
    method: 'PATCH',
    path: '/pets/{id}/{kind}.json',
    query: { 'filter[name]': 'filter_name', tag: 'tags' },
    headers: { 'X-Tenant': 'tenant' },
    body: 'rest',
  };
  const { url, headers, body } = made(route, {
    id: 'a/b?c#d',
    kind: 7,
    filter_name: 'x&y',
    tags: ['p', 'q r'],
    tenant: 'north',
    name: 'Rex',
    nested: { id: 1 },
  });

  assert.equal(
    url.href,
    'https://api.example.com:8443/v1/pets/a%2Fb%3Fc%23d/7.json?filter%5Bname%5D=x%26y&tag=p&tag=q+r',
  );
  assert.deepEqual(headers, { 'x-tenant': 'north', 'content-type': 'application/json' });
  assert.deepEqual(JSON.parse(body ?? ''), { name: 'Rex', nested: { id: 1 } });
});

test('routedRequest() sends named fields, a whole body, or none', () => {
  const route = { method: 'POST', path: '/pets' } as const;
  assert.equal(made({ ...route, body: ['a'] }, { a: 1, b: 2 }).body, '{"a":1}');
  assert.equal(made({ ...route, body: { input: 'all' } }, { all: [1], b: 2 }).body, '[1]');
  assert.equal(made({ ...route, body: { input: 'all' } }, { b: 2 }).body, undefined);
  assert.equal(made(route, { a: 1 }).body, undefined);
  const typed = { ...route, body: ['a'], content_type: 'application/merge-patch+json' };
  assert.equal(made(typed, {}).headers['content-type'], 'application/merge-patch+json');
});

const SEGMENTS: [value: unknown, why: RegExp][] = [
  ['', /"id" is empty/],
  ['.', /"\." or "\.\."/],
  ['..', /"\." or "\.\."/],
  ['../admin', /"\." or "\.\."/],
  ['a\\..\\b', /"\." or "\.\."/],
  ['a\nb', /control character/],
  ['a\0', /control character/],
  ['\u009f', /control character/],
  ['\ud800', /control character/],
  [undefined, /no text, number or boolean/],
  [null, /no text, number or boolean/],
  [{}, /no text, number or boolean/],
  [['a'], /no text, number or boolean/],
  ['x'.repeat(8_200), /longer than 8192/],
];
for (const [value, why] of SEGMENTS) {
  test(`routedRequest() refuses ${JSON.stringify(value)?.slice(0, 20)} in a path`, () => {
    assert.match(fault({ method: 'GET', path: '/pets/{id}' }, { id: value }), why);
  });
}

test('routedRequest() refuses two parameters that make ".." together', () => {
  assert.match(fault({ method: 'GET', path: '/a/{x}{y}' }, { x: '.', y: '.' }), /"\." or "\.\."/);
  assert.match(fault({ method: 'GET', path: '/a/.{x}' }, { x: '.' }), /"\." or "\.\."/);
});

test('routedRequest() refuses a header value that is no single line of ASCII', () => {
  const route: Route = { method: 'GET', path: '/', headers: { 'X-Tenant': 'tenant' } };
  for (const tenant of ['a\r\nHost: b', 'ä', '', ' a', 'x'.repeat(1_025), ['a']]) {
    assert.match(fault(route, { tenant }), /"tenant"/);
  }
  assert.deepEqual(made(route, {}).headers, {});
});

test('isFreeHeader() refuses what decides where a request goes, who sends it and how it is read', () => {
  const taken = [
    'Host',
    'Authorization',
    'Cookie',
    'Content-Length',
    'Content-Type',
    'Transfer-Encoding',
    'Connection',
    'Proxy-Authorization',
    'Idempotency-Key',
    'X-Forwarded-For',
    'Accept',
    'X-HTTP-Method-Override',
    'Upgrade',
    'TE',
    'Expect',
    'User-Agent',
    'a b',
    'a:b',
    '',
  ];
  assert.deepEqual(taken.filter(isFreeHeader), []);
  const free = ['X-Tenant', 'If-Match', 'Prefer', 'X-Request-Id', 'Range'];
  assert.deepEqual(free.filter(isFreeHeader), free);
});

test('routeFault() refuses templates that a URL would read otherwise', () => {
  const faulty = [
    'pets',
    '//evil/{a}?',
    '/a?b',
    '/a#b',
    '/a/../b',
    '/%2e%2E/b',
    '/a b',
    '/{a',
    '/\\a',
  ];
  for (const path of faulty) assert.equal(routeFault({ method: 'GET', path })?.at, 'path', path);
  for (const path of ['/', '/a/', '//a', '/v1/{name}:cancel', '/a/{x}.{y}', '/%20']) {
    assert.equal(routeFault({ method: 'GET', path }), undefined, path);
  }
  assert.equal(routeFault({ method: 'GET', path: '/', body: 'rest' })?.at, 'body');
  assert.equal(routeFault({ method: 'GET', path: '/', headers: { host: 'a' } })?.at, 'headers');
  const xml = { method: 'POST', path: '/', body: 'rest', content_type: 'text/xml' } as const;
  assert.equal(routeFault(xml)?.at, 'content_type');
});

test('readBase() reads an origin and its prefix, and nothing else', () => {
  for (const text of ['https://a.example', 'http://127.0.0.1:8080', 'https://a.example/v1/']) {
    assert.ok('base' in readBase(text), text);
  }
  const faulty = ['a.example', 'ftp://a', 'https://u:p@a', 'https://a?b', 'https://a#b', '//a'];
  for (const text of [
    ...faulty,
    'https://a/../b',
    'https://a/%2e%2e/b',
    'https://a\\b',
    'https://',
  ]) {
    assert.ok('fault' in readBase(text), text);
  }
});

const value = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '.',
    '..',
    '/',
    '%2e',
    '%2e%2e',
    '//evil.example',
    '@evil',
    '?',
    '#',
    '\\',
    ':80',
  ),
  fc.integer(),
  fc.boolean(),
  fc.array(fc.string(), { maxLength: 3 }),
);
const part = fc.oneof(fc.constantFrom('a', '.', 'x-', ':go'), fc.constantFrom('{p}', '{q}', '{r}'));
const template = fc
  .array(
    fc.array(part, { maxLength: 3 }).map((parts) => parts.join('')),
    { minLength: 1, maxLength: 5 },
  )
  .map((segments) => `/${segments.join('/')}`);

test('routedRequest() calls the exact origin with the segments of the template, whatever the parameters', () => {
  fc.assert(
    fc.property(template, fc.record({ p: value, q: value, r: value, s: value }), (path, given) => {
      const route: Route = { method: 'GET', path, query: { s: 's' } };
      if (routeFault(route)) return;
      const request = routedRequest(BASE, route, given);
      if ('fault' in request) return;

      const { url } = request;
      assert.equal(url.origin, 'https://api.example.com:8443');
      assert.equal(url.username + url.password + url.hash, '');
      assert.ok(url.pathname.startsWith('/v1/'));
      assert.equal(url.pathname.split('/').length, path.split('/').length + 1);
      assert.equal(new URL(url.href).href, url.href);
    }),
    { numRuns: 2_000 },
  );
});

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { formPageHeaders, formTargetOf } from './headers.ts';

test('formPageHeaders() lets a page load its own style only, and stand in no frame', () => {
  assert.deepEqual(formPageHeaders('sha256-abc='), {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; style-src 'sha256-abc='; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
  });
});

test('formPageHeaders() names where else a form may lead', () => {
  const { 'content-security-policy': policy = '' } = formPageHeaders('sha256-abc=', [
    'http://127.0.0.1:53187',
    'cursor:',
  ]);

  assert.match(policy, /; form-action 'self' http:\/\/127\.0\.0\.1:53187 cursor:; /);
});

test('formPageHeaders() refuses a target that is more than an origin or a scheme', () => {
  for (const target of [
    '',
    '*',
    "'unsafe-inline'",
    'https://a.example; script-src *',
    'https://a.example, default-src *',
    'https://a.example\r\nx: y',
    'https://a.example/path',
    'https://user@a.example',
    'https://*.example',
    'javascript:alert(1)',
    'javascript:',
    'data:',
    'https:',
  ]) {
    assert.throws(() => formPageHeaders('sha256-abc=', [target]), /Cannot allow forms/, target);
  }
});

const TARGETS: [uri: string, target: string][] = [
  ['http://127.0.0.1:53187/callback?a=b', 'http://127.0.0.1:53187'],
  ['https://client.example/callback', 'https://client.example'],
  ['https://client.example:8443/;script-src *', 'https://client.example:8443'],
  ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor:'],
  ['com.example.app:/callback', 'com.example.app:'],
  ['http://[::1]:53187/callback', 'http://*:53187'],
  ['http://[::1]/callback', 'http://*'],
];
for (const [uri, target] of TARGETS) {
  test(`formTargetOf() names the place of ${uri} as the policy can`, () => {
    assert.equal(formTargetOf(uri), target);
    assert.ok(formPageHeaders('sha256-abc=', [formTargetOf(uri)]));
  });
}
